"""The embedded PostgreSQL: one server per data folder, started and stopped by the one process that owns it.

Invariant: whoever holds an `EmbeddedServer` owns its data folder; the server lives no longer than its owner.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from thresher.core import Settings, StoreError, StoreUnavailable, ThresherError, event
from thresher.store.account import Account, server_account
from thresher.store.binaries import Binaries, usable_binaries
from thresher.store.bootstrap import prepare_database
from thresher.store.cluster import (
    ADMIN,
    APPLICATION,
    DATABASE,
    OWNER,
    Layout,
    create_cluster,
    make_server_folder,
    sync_cluster,
)
from thresher.store.ownership import Ownership
from thresher.store.passwords import Passwords, load_passwords, new_passwords, reset_passwords
from thresher.store.postmaster import Postmaster, Progress, clear_leftovers
from thresher.store.private import explained, prepare_folder
from thresher.store.sockets import choose_address, remove_address
from thresher.store.upgrade import Upgrade, older_cluster, remove_older

_logger = logging.getLogger("thresher.store")


class EmbeddedServer:
    """A running server that this process owns.

    Attributes:
        application_url: For the application role: rows only, under row-level security.
        owner_url: For the owner role: migrations.
        admin_url: For the superuser: creating roles and databases, nothing else.
    """

    def __init__(self, layout: Layout, ownership: Ownership, postmaster: Postmaster, passwords: Passwords) -> None:
        self._layout = layout
        self._ownership = ownership
        self._postmaster = postmaster
        self._passwords = passwords
        self._starting = asyncio.Lock()
        self._stopped = False
        self._syncing: asyncio.Task[None] | None = None
        self.application_url = self.url(APPLICATION)
        self.owner_url = self.url(OWNER)
        self.admin_url = self.url(ADMIN)

    @classmethod
    async def start(
        cls, settings: Settings, *, options: Mapping[str, str] | None = None, progress: Progress | None = None
    ) -> Self:
        """Become the owner of the data folder and start its server.

        A server that a killed owner left is stopped first; a cluster of an older version is upgraded; a damaged
        shutdown is recovered from, however long that takes.

        Args:
            settings: `data_dir`, `server_version`, `allow_root` and `server_user` are used.
            options: Further PostgreSQL settings.
            progress: Told in words what a slow start is doing.

        Raises:
            Conflict: Another process owns the data folder.
            ConfigurationError: The folder, the account or the programs cannot be used.
            StoreUnavailable: The server does not start.
        """
        account = server_account(settings)
        layout = Layout(prepare_folder(settings.data_dir, account))
        ownership = Ownership.take(layout.root)
        try:
            with explained(layout.root):
                return await cls._start_owned(layout, ownership, account, settings, options or {}, progress)
        except BaseException:
            ownership.release()
            raise

    @classmethod
    async def _start_owned(
        cls,
        layout: Layout,
        ownership: Ownership,
        account: Account,
        settings: Settings,
        options: Mapping[str, str],
        progress: Progress | None,
    ) -> Self:
        started, major = time.monotonic(), settings.server_version
        make_server_folder(layout, account)
        older, fresh = older_cluster(layout, major), not layout.majors()
        await clear_leftovers(layout.cluster(older or major))
        for folder in (layout.server, layout.sockets, layout.work):
            account.take_over(folder)
        binaries = usable_binaries(major, account, layout.copies)
        previous = usable_binaries(older, account, layout.copies) if older else binaries
        passwords = await _passwords(layout, layout.cluster(older or major), previous, account)
        address = choose_address(layout, account)
        if fresh:
            await create_cluster(layout.cluster(major), binaries, account, passwords.admin)
        elif older:
            await Upgrade(layout, previous, binaries, account, address).run(passwords, progress)
        postmaster = Postmaster(layout.cluster(major), binaries, account, address, layout.log, options)
        server = cls(layout, ownership, postmaster, passwords)
        await server._first_start(progress)
        if fresh and (options.get("fsync") != "off"):
            server._syncing = asyncio.create_task(sync_cluster(layout.cluster(major), binaries, account))
        event(_logger, "database started", pid=server.pid, fresh=fresh, seconds=round(time.monotonic() - started, 3))
        return server

    async def _first_start(self, progress: Progress | None) -> None:
        try:
            await self._postmaster.start(self.admin_url, progress)
            await prepare_database(self.url, self._passwords)
            remove_older(self._layout, self.binaries.major)
        except BaseException:
            await self._postmaster.stop()
            raise

    @property
    def binaries(self) -> Binaries:
        """The programs that run the server."""
        return self._postmaster.binaries

    @property
    def pid(self) -> int:
        """The process number of the server; 0 when it does not run."""
        return self._postmaster.pid

    def url(self, role: str, database: str = DATABASE) -> str:
        """The address of a database for one of the three roles."""
        words = {
            ADMIN: self._passwords.admin,
            OWNER: self._passwords.owner,
            APPLICATION: self._passwords.application,
        }
        return self._postmaster.address.url(role, words[role], database)

    async def ensure_running(self) -> bool:
        """Start the server again if its process has ended; the addresses stay the same.

        Returns:
            Whether it had to be started.

        Raises:
            StoreUnavailable: It does not start, or this object was stopped.
            ConfigurationError: Its files cannot be used any more.
        """
        async with self._starting:
            if self._stopped:
                raise StoreUnavailable("The embedded database was stopped.")
            if self._postmaster.running:
                return False
            event(_logger, "database process has ended; starting it again", level=logging.WARNING)
            with explained(self._layout.root):
                await clear_leftovers(self._postmaster.cluster)
                await self._postmaster.start(self.admin_url)
            return True

    async def supervise(self) -> None:
        """Keep the server running until cancelled; a start that fails is tried again, with growing pauses."""
        pause = 0.1
        while not self._stopped:
            await self._postmaster.exited()
            try:
                await self.ensure_running()
                pause = 0.1
            except ThresherError as error:
                event(_logger, "database does not start", level=logging.ERROR, error=error.message)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 30.0)

    async def stop(self) -> None:
        """Shut the server down and let the data folder go; does nothing the second time."""
        async with self._starting:
            if self._stopped:
                return
            self._stopped = True
            try:
                await self._synced()
                await self._postmaster.stop()
                remove_address(self._layout, self._postmaster.address)
            finally:
                self._ownership.release()

    async def _synced(self) -> None:
        """Wait for the first start's files to reach the disk; a failure there must not keep the server running."""
        if self._syncing is None:
            return
        try:
            await self._syncing
        except StoreError as error:
            event(_logger, "the new database was not forced to the disk", level=logging.WARNING, error=error.message)


async def _passwords(layout: Layout, cluster: Path, binaries: Binaries, account: Account) -> Passwords:
    """Read the passwords, or make them: they are stored only when the cluster, if there is one, knows them."""
    fresh = new_passwords()
    if _lost(layout, cluster):
        event(_logger, "passwords are lost; setting new ones", level=logging.WARNING)
        await reset_passwords(cluster, binaries, account, fresh)
    return load_passwords(layout, fresh)


def _lost(layout: Layout, cluster: Path) -> bool:
    return cluster.exists() and not layout.passwords.exists()
