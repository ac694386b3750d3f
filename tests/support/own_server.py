"""A process that owns an embedded server until it is killed.

`python -m tests.support.own_server FOLDER [VERSION [UID]]` prints one line of JSON (its own pid, the server's, the
address of the application role), or the error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import alembic.command  # noqa: F401 - a migration loads it when it runs: too late for a user who cannot reach it

from thresher.core import Settings, ThresherError
from thresher.store import EmbeddedServer, migrate


async def main(folder: str, version: str = "18", user: str = "") -> None:
    """Start the server, say so, and wait; given a user, become that one first (for good)."""
    if user:  # only now, since the interpreter itself may lie where that user cannot go
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    settings = Settings(data_dir=Path(folder), allow_root=True, server_version=int(version))  # type: ignore[arg-type]
    try:
        server = await EmbeddedServer.start(settings, options={"fsync": "off"})
    except ThresherError as error:
        print(json.dumps({"error": error.code, "message": str(error)}), flush=True)
        return
    migrate(server.owner_url)
    print(json.dumps({"pid": os.getpid(), "server": server.pid, "url": server.application_url}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
