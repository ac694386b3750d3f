"""Another process that calls a guarded tool once with a stored sign-in.

Usage: python -m tests.upstream.oauth.renewing DATABASE_URL SECRET_KEY TENANT_ID SERVER_URL
"""

from __future__ import annotations

import asyncio
import sys

from tests.upstream.oauth.guarded import whoami
from thresher.knowledge.tools import CredentialStore
from thresher.store import Database, SecretBox
from thresher.upstream import ServerConfig


async def main(url: str, key: str, tenant: str, server: str) -> None:
    """Call it, and print who it thinks we are."""
    database = await Database.open(url)
    config = ServerConfig("guarded", "http", url=server, tenant=int(tenant))
    print(await whoami(config, CredentialStore(database, SecretBox(key))))
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
