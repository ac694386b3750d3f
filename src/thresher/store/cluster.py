"""One PostgreSQL cluster on disk: its layout, its creation, and its `postmaster.pid`.

Invariant: a cluster appears under its final name only when it is complete; the remains of a killed attempt are removed.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from thresher.core import event
from thresher.store.account import Account
from thresher.store.private import write_new
from thresher.store.programs import Binaries, run_program

_logger = logging.getLogger("thresher.store")

ADMIN = "thresher_admin"
OWNER = "thresher_owner"
APPLICATION = "thresher_app"
DATABASE = "thresher"
# A process id that no system assigns (Linux ends at 2^22), so that PostgreSQL finds its lock file stale.
_NOBODY = 2**30


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of the embedded server's files in a data folder."""

    root: Path

    @property
    def server(self) -> Path:
        """The folder that belongs to the server's account."""
        return self.root / "postgres"

    @property
    def sockets(self) -> Path:
        """The preferred folder of the socket."""
        return self.root / "run"

    @property
    def work(self) -> Path:
        """The folder, owned by the server's account, in which `pg_upgrade` writes its scripts."""
        return self.root / "upgrade"

    @property
    def copies(self) -> Path:
        """Copies of the programs, for an account that cannot reach the wheel."""
        return self.root / "programs"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.root / "postgres.log"

    @property
    def passwords(self) -> Path:
        """The roles' passwords."""
        return self.root / "postgres.json"

    def cluster(self, major: int) -> Path:
        """Return the cluster's folder for a major version."""
        return self.server / str(major)

    def majors(self) -> list[int]:
        """Return the versions that have a complete cluster, oldest first."""
        return [major for major in (16, 18) if (self.cluster(major) / "PG_VERSION").exists()]


def make_server_folder(layout: Layout, account: Account) -> None:
    """Create the folder of the server's account, closed to all others."""
    if not layout.server.exists():
        layout.server.mkdir(mode=0o700)
        account.give(layout.server)
    layout.server.chmod(0o700)


async def create_cluster(target: Path, binaries: Binaries, account: Account, password: str) -> None:
    """Create a cluster: SCRAM for all roles, UTF-8, locale C, checksums.

    It is not synced to disk here (2 s on a slow disk instead of 0.7 s); `sync_cluster` does that while it serves.

    Raises:
        StoreError: `initdb` failed; the message holds its output.
    """
    started = time.monotonic()
    draft = target.with_name(f"{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    # Beside the server's folder, not in it: only this account may write there, so no link can be planted.
    word = target.parent.with_name(".initdb.word")
    word.unlink(missing_ok=True)
    write_new(word, password.encode(), account)
    try:
        await run_program(initdb(binaries, draft, word), account, target.parent)
    finally:
        word.unlink()
    draft.rename(target)
    event(_logger, "cluster created", major=binaries.major, seconds=round(time.monotonic() - started, 3))


def initdb(binaries: Binaries, folder: Path, word: Path) -> list[str]:
    """Return the command that creates a cluster."""
    return [
        binaries.program("initdb"),
        f"--pgdata={folder}",
        f"--username={ADMIN}",
        f"--pwfile={word}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--data-checksums",
        "--no-sync",
        "--no-instructions",
    ]


async def sync_cluster(cluster: Path, binaries: Binaries, account: Account) -> None:
    """Sync a new cluster to disk; safe while it serves."""
    await run_program([binaries.program("initdb"), "--sync-only", f"--pgdata={cluster}"], account, cluster)


def recorded_pid(cluster: Path) -> int:
    """Return the process id in `postmaster.pid`; 0 if there is none or it cannot be read."""
    try:
        return abs(int((cluster / "postmaster.pid").read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return 0


def disown(cluster: Path) -> None:
    """Write a dead process id into a stale `postmaster.pid`.

    PostgreSQL refuses to start while the id in its lock file belongs to a living process. The file is not removed,
    because its other lines let PostgreSQL notice backends that outlived their postmaster.
    """
    path = cluster / "postmaster.pid"
    try:
        lines = path.read_text().split("\n")
    except OSError:
        return
    if len(lines) < 2:  # empty or truncated
        path.unlink()
        return
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)), "w") as file:
        file.write("\n".join([str(_NOBODY), *lines[1:]]))
