"""A process that is killed in the middle of a statement: `python -m tests.audit.dying FOLDER TENANT`.

It reads the database's address and the secret key from standard input, notes a decision, says so and waits for ever.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.audit.conftest import attempt
from thresher.audit import AuditLog
from thresher.core import Caller
from thresher.store import Database, SecretBox


async def main(folder: str, tenant: str) -> None:
    """Decide, and never end."""
    address, key = sys.stdin.readline().strip(), sys.stdin.readline().strip()
    database = await Database.open(address)
    caller = Caller(await database.tenant(tenant))
    decision = await AuditLog(database, SecretBox(key), Path(folder)).decide(caller, attempt("select slowly"))
    print(decision, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
