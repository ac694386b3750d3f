"""A real MariaDB for tests: Debian's own packages, unpacked into a cache and started in a folder of this run.

Where they cannot be had (no Debian, no network and nothing cached) the tests that need it are skipped, and say so.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import platformdirs
import pymysql
import pytest

from thresher.core import Settings
from thresher.store.account import Account, server_account

_PACKAGES = ("mariadb-server-core", "mariadb-client-core", "libaio1", "liburing2", "libnuma1")
_SCHEMA_TOOL = "usr/bin/mariadb-install-db"
_STARTS = 3
_OPTIONS = (
    "--bind-address=127.0.0.1",
    "--skip-log-bin",
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=0",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--performance-schema=on",
    "--performance-schema-max-table-instances=500",
    "--performance-schema-events-statements-history-long-size=100",
    "--local-infile=on",
    "--secure-file-priv=",
    "--skip-name-resolve",
    "--max-connections=50",
)


@dataclass(frozen=True, slots=True)
class MariaServer:
    """A running server: as careless as one can be, so that nothing but Thresher stands in a statement's way.

    Attributes:
        folder: Its data.
        port: On loopback.
        pid: Its process.
    """

    folder: Path
    port: int
    pid: int
    password: str

    def url(self, user: str = "root", password: str | None = None, database: str = "") -> str:
        """An address as a person would write it."""
        word = self.password if password is None else password
        return f"mariadb://{user}:{quote(word, safe='')}@127.0.0.1:{self.port}/{database}"

    async def admin(self, *statements: str, database: str = "") -> list[tuple[Any, ...]]:
        """Run statements as root; returns the rows of the last one."""
        return await asyncio.to_thread(self._admin, statements, database)

    def _admin(self, statements: tuple[str, ...], database: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def connect(self, database: str = "") -> Any:
        """A connection of the driver's own, as root."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user="root",
            password=self.password,
            database=database or None,
            autocommit=True,
            charset="utf8mb4",
        )


@asynccontextmanager
async def mariadb_server(folder: Path) -> AsyncIterator[MariaServer]:
    """Run a server in a new folder; skips the test that asks for it where its programs cannot be had."""
    programs = await asyncio.to_thread(_programs)
    account = server_account(Settings(allow_root=True))
    folder.mkdir(mode=0o700)
    account.give(folder)
    await asyncio.to_thread(_create, programs, folder, account)
    process, port = await _start(programs, folder, account)
    try:
        server = MariaServer(folder / "data", port, process.pid, secrets.token_urlsafe(12))
        await asyncio.to_thread(_set_password, folder / "socket", server.password)
        yield server
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _cache() -> Path:
    """Where unpacked programs are kept; root's must be readable by the account that the server runs under."""
    return Path("/var/cache/thresher-tests") if os.geteuid() == 0 else platformdirs.user_cache_path("thresher-tests")


def _programs() -> Path:
    place = _cache() / "mariadb"
    if (place / _SCHEMA_TOOL).exists():
        return place
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        pytest.skip("MariaDB is not tested: its packages are Debian's, and this system has no apt-get.")
    place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        unpacked = _unpack(Path(made))
        unpacked.chmod(0o755)
        try:
            unpacked.rename(place)
        except OSError:  # another process of this run was faster
            assert (place / _SCHEMA_TOOL).exists()
    return place


def _unpack(folder: Path) -> Path:
    fetched = subprocess.run(["apt-get", "download", *_PACKAGES], cwd=folder, capture_output=True, text=True)
    files = list(folder.glob("*.deb"))
    if fetched.returncode or len(files) < len(_PACKAGES):
        pytest.skip(f"MariaDB is not tested: apt-get download failed: {fetched.stderr.strip()[-300:]}")
    for file in files:
        subprocess.run(["dpkg", "-x", file, folder / "root"], check=True)
    return folder / "root"


def _environment(programs: Path) -> dict[str, str]:
    libraries = [str(path) for path in (*programs.glob("usr/lib/*-linux-gnu"), *programs.glob("lib/*-linux-gnu"))]
    return {"LD_LIBRARY_PATH": ":".join(libraries), "PATH": os.environ.get("PATH", "/usr/bin:/bin")}


def _create(programs: Path, folder: Path, account: Account) -> None:
    made = subprocess.run(
        [
            "/bin/sh",
            programs / _SCHEMA_TOOL,
            "--no-defaults",
            f"--basedir={programs / 'usr'}",
            f"--datadir={folder / 'data'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        env=_environment(programs),
        cwd=folder,
        capture_output=True,
        text=True,
        **account.options(),
    )
    assert made.returncode == 0, made.stdout + made.stderr


async def _start(programs: Path, folder: Path, account: Account) -> tuple[subprocess.Popen[bytes], int]:
    """Start it on a free port; another program may take the port in between, so again."""
    for _ in range(_STARTS):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port: int = probe.getsockname()[1]
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [
                    programs / "usr/sbin/mariadbd",
                    "--no-defaults",
                    f"--basedir={programs / 'usr'}",
                    f"--datadir={folder / 'data'}",
                    f"--socket={folder / 'socket'}",
                    f"--pid-file={folder / 'pid'}",
                    f"--port={port}",
                    *_OPTIONS,
                ],
                env=_environment(programs),
                cwd=folder,
                stdout=log,
                stderr=log,
                **account.options(),
            )
        if await _answers(process, port):
            return process, port
    raise AssertionError((folder / "log").read_text(errors="replace")[-3000:])


async def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    while process.poll() is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return True
    return False


def _set_password(path: Path, password: str) -> None:
    connection = pymysql.connect(unix_socket=str(path), user="root", autocommit=True)
    with connection, connection.cursor() as cursor:
        cursor.execute("delete from mysql.global_priv where user = ''")
        cursor.execute("flush privileges")
        cursor.execute("create or replace user 'root'@'127.0.0.1' identified by %s", (password,))
        cursor.execute("grant all privileges on *.* to 'root'@'127.0.0.1' with grant option")
