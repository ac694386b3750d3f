"""Moves a cluster to a newer major version of PostgreSQL.

Invariant: the old cluster is copied and not changed until the new one has answered; the new one appears under its name
in one step. A move that was killed starts over.
"""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from thresher.core import ConfigurationError, event
from thresher.store.account import Account
from thresher.store.cluster import ADMIN, DATABASE, Layout, create_cluster
from thresher.store.postmaster import Postmaster, Progress, clear_leftovers
from thresher.store.programs import Binaries, run_program
from thresher.store.secrets import Passwords
from thresher.store.sockets import ServerAddress

_logger = logging.getLogger("thresher.store")


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A move from an older cluster to a newer one.

    Attributes:
        layout: The layout of the data folder.
        old: The programs that wrote the data.
        new: The programs that will serve it.
        account: The account that runs them.
        address: Where the servers listen meanwhile.
    """

    layout: Layout
    old: Binaries
    new: Binaries
    account: Account
    address: ServerAddress

    async def run(self, passwords: Passwords, progress: Progress | None) -> None:
        """Move the data; afterwards both clusters exist, and the new one is complete.

        Raises:
            StoreError: A program failed; the old cluster is unharmed.
        """
        started = time.monotonic()
        if progress is not None:
            progress(f"Moving the database from PostgreSQL {self.old.major} to {self.new.major}")
        source, draft = self.layout.cluster(self.old.major), self._draft()
        await clear_leftovers(draft)
        await self._settle(source, self.address.url(ADMIN, passwords.admin, DATABASE), progress)
        shutil.rmtree(draft, ignore_errors=True)
        await create_cluster(draft, self.new, self.account, passwords.admin)
        await run_program(self._command(source, draft), self.account, self._work(), PGPASSWORD=passwords.admin)
        shutil.rmtree(self._work(), ignore_errors=True)
        draft.rename(self.layout.cluster(self.new.major))
        event(_logger, "database moved", major=self.new.major, seconds=round(time.monotonic() - started, 3))

    async def _settle(self, source: Path, check_url: str, progress: Progress | None) -> None:
        """Shut the old cluster down cleanly: `pg_upgrade` refuses any other."""
        await clear_leftovers(source)
        postmaster = Postmaster(source, self.old, self.account, self.address, self.layout.log)
        try:
            await postmaster.start(check_url, progress)
        finally:
            await postmaster.stop()

    def _command(self, source: Path, draft: Path) -> list[str]:
        return [
            self.new.program("pg_upgrade"),
            f"--old-bindir={self.old.folder}",
            f"--new-bindir={self.new.folder}",
            f"--old-datadir={source}",
            f"--new-datadir={draft}",
            f"--username={ADMIN}",
            f"--socketdir={self.address.host}",
            "--copy",
        ]

    def _draft(self) -> Path:
        return self.layout.server / f"{self.new.major}.upgrade"

    def _work(self) -> Path:
        """Return the working folder of `pg_upgrade`, which writes scripts there."""
        folder = self.layout.work
        if not folder.exists():
            folder.mkdir(mode=0o700)
            self.account.give(folder)
        return folder


def older_cluster(layout: Layout, major: int) -> int | None:
    """Return the version to move from; None if the wanted cluster exists, or none at all.

    Raises:
        ConfigurationError: The data was written by a newer version than the wanted one.
    """
    majors = layout.majors()
    if majors and majors[-1] > major:
        raise ConfigurationError(
            f"The data in {layout.root} was written by PostgreSQL {majors[-1]}, which {major} cannot read.",
            hint=f"Set THRESHER_SERVER_VERSION={majors[-1]}, or choose another THRESHER_DATA_DIR.",
        )
    return majors[-1] if majors and majors[-1] < major else None


def remove_older(layout: Layout, major: int) -> None:
    """Remove the clusters that are older than the one in use."""
    for older in layout.majors():
        if older < major:
            shutil.rmtree(layout.cluster(older))
            event(_logger, "old cluster removed", major=older)
