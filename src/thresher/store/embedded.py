"""The embedded PostgreSQL: one server per data folder, started and stopped by the one process that owns it.

Invariant: whoever holds an `EmbeddedServer` owns its data folder; the server lives no longer than its owner.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Self

from thresher.core import Settings, StoreUnavailable, event
from thresher.store.account import Account, server_account
from thresher.store.binaries import Binaries, usable_binaries
from thresher.store.bootstrap import prepare_database
from thresher.store.cluster import (
    ADMIN,
    APPLICATION,
    DATABASE,
    OWNER,
    Layout,
    Passwords,
    create_cluster,
    load_passwords,
    make_server_folder,
    sync_cluster,
)
from thresher.store.ownership import Ownership
from thresher.store.postmaster import Postmaster, Progress, clear_leftovers
from thresher.store.private import prepare_folder
from thresher.store.sockets import choose_address, remove_address

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
            return await cls._start_owned(layout, ownership, account, settings.server_version, options or {}, progress)
        except BaseException:
            ownership.release()
            raise

    @classmethod
    async def _start_owned(
        cls,
        layout: Layout,
        ownership: Ownership,
        account: Account,
        major: int,
        options: Mapping[str, str],
        progress: Progress | None,
    ) -> Self:
        started = time.monotonic()
        make_server_folder(layout, account)
        passwords = load_passwords(layout)
        binaries = usable_binaries(major, account, layout.copies)
        cluster = layout.cluster(major)
        fresh = not layout.majors()
        if fresh:
            await create_cluster(cluster, binaries, account, passwords.admin)
        await clear_leftovers(cluster)
        postmaster = Postmaster(cluster, binaries, account, choose_address(layout, account), layout.log, options)
        server = cls(layout, ownership, postmaster, passwords)
        await server._first_start(progress)
        if fresh:
            server._syncing = asyncio.create_task(sync_cluster(cluster, binaries, account))
        event(
            _logger, "database started", pid=postmaster.pid, fresh=fresh, seconds=round(time.monotonic() - started, 3)
        )
        return server

    async def _first_start(self, progress: Progress | None) -> None:
        try:
            await self._postmaster.start(self.admin_url, progress)
            await prepare_database(self.url, self._passwords)
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
        """
        async with self._starting:
            if self._stopped:
                raise StoreUnavailable("The embedded database was stopped.")
            if self._postmaster.running:
                return False
            event(_logger, "database process has ended; starting it again", level=logging.WARNING)
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
            except StoreUnavailable as error:
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
                if self._syncing is not None:
                    await self._syncing
                await self._postmaster.stop()
                remove_address(self._layout, self._postmaster.address)
            finally:
                self._ownership.release()
