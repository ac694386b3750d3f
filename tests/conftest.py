"""Fixtures for all tests: one embedded server a test process, a clean database a module, a fresh tenant a test."""

from __future__ import annotations

import gc
import logging
import os
import re
import secrets
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `thresher` does, before anything brings in numpy

from tests.support import Databases
from tests.support.mariadb import MariaServer, mariadb_server
from thresher.core import Settings, Tenant
from thresher.embedding import local
from thresher.embedding.onnx import TextModel
from thresher.embedding.registry import ModelFiles
from thresher.store import Database, EmbeddedServer

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background jobs so, children inherit it, and tests of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Never name a test by bytes: two workers that collect different names (a time stamp, say) run nothing at all."""
    return argname if isinstance(val, bytes) else None


_SERVERS = frozenset({"server", "databases", "mariadb"})
_STARTING = re.compile(
    r"subprocess|multiprocessing|os\.fork|stdio|open_app|sandbox|[Dd]uck[Dd][Bb]|DropIns|EmbeddedServer|tests\.daemon|"
    r"[Ww]orker|nodejs|confined|psutil|playwright"
)
"""What a file of tests, or its support, has to do with if its tests start processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a database, by fixtures, and what starts processes, by what its file names: `make quick`."""
    for item in items:
        if _SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.database)
        if _starts_processes(item.path):
            item.add_marker(pytest.mark.process)


@cache
def _starts_processes(path: Path) -> bool:
    """Whether a file of tests, the fixtures beside it or the support that it imports names what starts a process."""
    root = Path(__file__).parent.parent
    seen, waiting = {Path(__file__)}, {path, path.with_name("conftest.py")}
    while waiting := {one for one in waiting - seen if one.is_file()}:
        texts = [one.read_text(encoding="utf-8") for one in waiting]
        if any(map(_STARTING.search, texts)):
            return True
        seen |= waiting
        names = {name for text in texts for name in re.findall(r"from (tests\.[\w.]+) import", text)}
        waiting = {root / f"{name.replace('.', '/')}.py" for name in names}
    return False


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector, a tenth of a worker's time, need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _shipped_model_read_once() -> Iterator[None]:
    """Each product that a test opens would read the model anew: half a second, and 50 MB that FastAPI's caches keep."""
    read: dict[Path, TextModel] = {}

    def text_model(files: ModelFiles) -> TextModel:
        if not files.digests:  # a test's own
            return TextModel(files)
        if files.model not in read:
            read[files.model] = TextModel(files)
        return read[files.model]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "TextModel", text_model)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> None:
    """The developer's own settings must not reach the tests."""
    for name in [name for name in os.environ if name.startswith("THRESHER_") and name != "THRESHER_BENCH_DATA"]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def _logs_go_where_they_went() -> Iterator[None]:
    """A command that sends the logs elsewhere does so for one test: the next one's `caplog` hears them once."""
    places = (logging.getLogger("thresher"), logging.root)
    before = [(place, list(place.handlers), place.propagate, place.level) for place in places]
    yield
    for place, handlers, propagate, level in before:
        for handler in [one for one in place.handlers if one not in handlers]:
            place.removeHandler(handler)
        for handler in [one for one in handlers if one not in place.handlers]:
            place.addHandler(handler)
        place.propagate, place.level = propagate, level


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A temporary folder that other accounts may pass through (pytest's own is closed to them)."""
    folder = Path(tempfile.mkdtemp(prefix="thr-", dir=_quick_place()))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _quick_place() -> str | None:
    """Memory where there is plenty, for most of a test server's time goes into files; else the short /tmp."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30:
        return str(memory)
    return "/tmp" if os.name == "posix" else None


@pytest.fixture
def data_dir(open_folder: Path) -> Iterator[Path]:
    """A data folder of this test's own, not yet made."""
    folder = open_folder / secrets.token_hex(4)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    """Settings with a data folder of this test's own."""
    return Settings(data_dir=data_dir, allow_root=True)


@pytest.fixture(scope="session")
async def server(open_folder: Path) -> AsyncIterator[EmbeddedServer]:
    """The embedded server that the tests of this process share."""
    settings = Settings(data_dir=open_folder / "server", allow_root=True)
    server = await EmbeddedServer.start(settings, options={"fsync": "off"})
    yield server
    await server.stop()


@pytest.fixture(scope="session")
async def databases(server: EmbeddedServer) -> Databases:
    """Makes clean databases on the shared server."""
    return Databases(server)


@pytest.fixture(scope="session")
async def mariadb(open_folder: Path) -> AsyncIterator[MariaServer]:
    """A MariaDB server that the tests of this process share; skips where its programs cannot be had."""
    async with mariadb_server(open_folder / "mariadb") as server:
        yield server


@pytest.fixture(scope="module")
async def database(databases: Databases) -> AsyncIterator[Database]:
    """A clean, migrated database of this module's own."""
    name = await databases.create()
    database = await databases.open(name)
    yield database
    await database.close()
    await databases.drop(name)


@pytest.fixture
async def tenant(database: Database) -> Tenant:
    """A fresh tenant."""
    return await database.tenant(f"tenant-{secrets.token_hex(6)}")


@pytest.fixture
async def other_tenant(database: Database) -> Tenant:
    """Another fresh tenant."""
    return await database.tenant(f"other-{secrets.token_hex(6)}")
