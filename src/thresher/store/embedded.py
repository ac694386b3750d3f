"""The embedded PostgreSQL, and opening the store: one server per data folder, owned by one process.

Invariant: the holder of an `EmbeddedServer` owns its data folder, and the server does not outlive its owner. The lock
ends with the process that holds it; its file stays and only names the last owner. Every step of the set-up can be
repeated: the next start completes one that was killed half-way. When `open_store` ends, connections are closed and the
server that it started has stopped.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg
from psycopg import AsyncConnection, sql

from thresher.core import Conflict, Settings, StoreError, StoreUnavailable, ThresherError, event
from thresher.store.account import Account, server_account
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
from thresher.store.engine import Database
from thresher.store.postmaster import Postmaster, Progress, clear_leftovers
from thresher.store.private import LOCK_NAME, explained, prepare_folder
from thresher.store.programs import Binaries, usable_binaries
from thresher.store.schema import migrate
from thresher.store.secrets import Passwords, load_passwords, new_passwords, reset_passwords
from thresher.store.sockets import choose_address, remove_address
from thresher.store.upgrade import Upgrade, older_cluster, remove_older

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A byte far behind the content, so that others can still read the owner.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Ownership:
    """An exclusive lock on a data folder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Lock a data folder.

        Raises:
            Conflict: Another process owns it; the message names its process id.
            ConfigurationError: The lock file cannot be written.
        """
        path = folder / LOCK_NAME
        with explained(folder):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _lock(descriptor)
        except OSError:
            owner = _describe(descriptor)
            os.close(descriptor)
            raise Conflict(
                f"The data folder {folder} is in use by {owner}.",
                hint="Attach to that daemon, stop it with `thresher stop`, or set THRESHER_DATA_DIR to another folder.",
            ) from None
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
        return cls(descriptor)

    def release(self) -> None:
        """Unlock the folder; does nothing the second time."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _describe(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        owner = json.loads(os.read(descriptor, 4096))
        here = owner["host"] == platform.node()
        return f"process {owner['pid']}" + ("" if here else f" on {owner['host']}")
    except (ValueError, KeyError, TypeError):
        return "another process"


async def prepare_database(url: Callable[[str, str], str], passwords: Passwords) -> None:
    """Create the roles, the database and pgvector if they do not exist.

    Args:
        url: Returns the address for a role and a database.
        passwords: The roles' passwords.

    Raises:
        StoreError: The server refused.
    """
    try:
        try:
            connection = await _connect(url(ADMIN, DATABASE))
        except psycopg.OperationalError as error:
            if "does not exist" not in str(error):
                raise
            await _create(url(ADMIN, "postgres"), passwords)
            connection = await _connect(url(ADMIN, DATABASE))
        async with connection:
            await _extend(connection)
    except psycopg.Error as error:
        raise StoreError(f"The embedded database could not be set up: {error}") from error


async def _connect(url: str) -> AsyncConnection:
    return await AsyncConnection.connect(url, autocommit=True)


async def _create(url: str, passwords: Passwords) -> None:
    """Create the roles first and the database last: where the database exists, everything does."""
    async with await _connect(url) as connection:
        for role, password in ((OWNER, passwords.owner), (APPLICATION, passwords.application)):
            found = await connection.execute("select 1 from pg_roles where rolname = %s", (role,))
            if await found.fetchone() is None:
                await connection.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
            await connection.execute(
                sql.SQL("alter role {} password {}").format(sql.Identifier(role), sql.Literal(password))
            )
        await connection.execute(
            sql.SQL("create database {} owner {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER))
        )


async def _extend(connection: AsyncConnection) -> None:
    """Create pgvector, or update it after an upgrade of the wheel."""
    found = await connection.execute(
        "select installed_version, default_version from pg_available_extensions where name = 'vector'"
    )
    installed, available = await found.fetchone() or (None, None)
    if installed is None:
        await connection.execute("create extension if not exists vector")
    elif installed != available:
        await connection.execute("alter extension vector update")


_logger = logging.getLogger("thresher.store")


class EmbeddedServer:
    """A running server that this process owns.

    Attributes:
        application_url: For the application role: rows only, under row-level security.
        owner_url: For the owner role: migrations.
        admin_url: For the superuser: creating roles and databases only.
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
        """Lock the data folder and start its server.

        A server that a killed owner left is stopped first, an older cluster is upgraded, and a damaged shutdown is
        recovered from, however long that takes.

        Args:
            settings: `data_dir`, `server_version`, `allow_root` and `server_user` are used.
            options: Further PostgreSQL settings.
            progress: Called with a description of what a slow start is doing.

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
        """The process id of the server; 0 if it does not run."""
        return self._postmaster.pid

    def url(self, role: str, database: str = DATABASE) -> str:
        """Return the address of a database for one of the three roles."""
        words = {
            ADMIN: self._passwords.admin,
            OWNER: self._passwords.owner,
            APPLICATION: self._passwords.application,
        }
        return self._postmaster.address.url(role, words[role], database)

    async def ensure_running(self) -> bool:
        """Restart the server if its process has ended; the addresses stay the same.

        Returns:
            Whether it had to be started.

        Raises:
            StoreUnavailable: It does not start, or this object was stopped.
            ConfigurationError: Its files can no longer be used.
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
        """Keep the server running until cancelled; a failed start is repeated with growing pauses."""
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
        """Stop the server and unlock the data folder; does nothing the second time."""
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
        """Wait until the first start's files are synced to disk; a failure there must not keep the server running."""
        if self._syncing is None:
            return
        try:
            await self._syncing
        except StoreError as error:
            event(_logger, "the new database was not forced to the disk", level=logging.WARNING, error=error.message)


async def _passwords(layout: Layout, cluster: Path, binaries: Binaries, account: Account) -> Passwords:
    """Read the passwords or create them. New ones are stored only after an existing cluster has them."""
    fresh = new_passwords()
    if _lost(layout, cluster):
        event(_logger, "passwords are lost; setting new ones", level=logging.WARNING)
        await reset_passwords(cluster, binaries, account, fresh)
    return load_passwords(layout, fresh)


def _lost(layout: Layout, cluster: Path) -> bool:
    return cluster.exists() and not layout.passwords.exists()


@asynccontextmanager
async def open_store(settings: Settings, *, progress: Progress | None = None) -> AsyncGenerator[Database]:
    """Yield the database of these settings.

    With `THRESHER_DATABASE_URL` it is the one at that address, which `thresher migrate` must have prepared. Without it
    the embedded server is started and migrated, and restarted whenever its process ends.

    Raises:
        ThresherError: See `EmbeddedServer.start` and `Database.open`.
    """
    if settings.database_url is not None:
        async with _open_database(settings.database_url.get_secret_value()) as database:
            yield database
        return
    server = await EmbeddedServer.start(settings, progress=progress)
    supervision = asyncio.create_task(server.supervise())
    try:
        await asyncio.to_thread(migrate, server.owner_url)
        async with _open_database(server.application_url) as database:
            yield database
    finally:
        supervision.cancel()
        with suppress(asyncio.CancelledError):
            await supervision
        await server.stop()


@asynccontextmanager
async def _open_database(url: str) -> AsyncGenerator[Database]:
    database = await Database.open(url)
    try:
        yield database
    finally:
        await database.close()
