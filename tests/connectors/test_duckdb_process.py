"""The process that reads a DuckDB file: its limits, and that other callers do not notice when it ends."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest
from pydantic import ValidationError

from tests.support import eventually
from thresher.connectors import (
    Caps,
    Column,
    ConnectorOptions,
    ForeignKey,
    Profile,
    Profiles,
    Rows,
    Schema,
    SessionTag,
    Table,
    pool,
    read_address,
)
from thresher.connectors.duckdb import process
from thresher.connectors.duckdb.calls import MODULE, RESULTS
from thresher.connectors.duckdb.engine import DuckdbEngine
from thresher.connectors.pool import PooledConnector
from thresher.core import DatabaseUnavailable, QueryFailed

TAG = SessionTag("test", "thread", 7)
ENDLESS = "select sum(a.range * b.range % 7) from range(1000000) a, range(1000000) b"
LONG = f"select max(length({'||'.join(['x'] * 50)})) from t"
"""2 GB of strings that DuckDB's own limit does not count; no number in it says so."""
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 2,000 long values, and a small table."""
    file = tmp_path_factory.mktemp("duckdb") / "long.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute("set force_compression = 'uncompressed'")
        database.execute("create table t as select repeat('x', 20000) || range as x from range(2000)")
        database.execute("create table small as select range as id from range(100)")
    return file


@asynccontextmanager
async def asked(file: Path, **options: Any) -> AsyncIterator[tuple[PooledConnector, DuckdbEngine]]:
    """A connector with a file, and its engine."""
    chosen = ConnectorOptions(**{"memory_mb": 256, **options})
    engine = DuckdbEngine(file, chosen)
    connector = PooledConnector(read_address(f"duckdb:///{file}"), engine, chosen)
    try:
        yield connector, engine
    finally:
        await connector.close()


async def run(connector: PooledConnector, sql: str = "select count(*) from small") -> Rows:
    """The answer to a statement."""
    return await connector.run(sql, TAG, Caps(seconds=60))


async def begun(engine: DuckdbEngine, connector: PooledConnector, sql: str = ENDLESS) -> asyncio.Task[Rows]:
    """A statement that the process works on."""
    await run(connector)
    child = psutil.Process(engine.pid)
    before = child.cpu_times().user
    asking = asyncio.create_task(run(connector, sql))
    await eventually(lambda: child.cpu_times().user > before + 0.2)
    return asking


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def readers_of(program: str = MODULE) -> list[int]:
    """The processes of this one that run a program."""
    found: list[int] = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if program in child.cmdline():
                found.append(child.pid)
    return found


async def test_a_statement_that_takes_too_much_memory_fails_alone(file: Path) -> None:
    """The error says why; concurrent requests are answered, and this process uses none of the memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with asked(file) as (connector, engine):
        greedy = asyncio.gather(*(run(connector, LONG) for _ in range(2)), return_exceptions=True)
        others = [await run(connector) for _ in range(20)]
        failures = await greedy
        children = [engine.pid, (await run(connector), engine.pid)[1]]

    assert [answer.rows for answer in others] == [((100,),)] * 20
    assert [type(failure) for failure in failures] == [QueryFailed] * 2
    assert all("more memory" in str(failure) and "substr" in str(failure) for failure in failures)
    assert children[1] is not None
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 100 * MEBIBYTE


async def test_statements_beside_those_that_take_too_much_go_on(file: Path) -> None:
    """Where their process takes no more questions, they end in it all the same; there are never more than three."""
    slow = "select sum(a.range * b.range % 7) from range(20000) a, range(20000) b"
    async with asked(file) as (connector, engine):
        asking = await begun(engine, connector, slow)
        failures = [await asyncio.gather(run(connector, LONG), return_exceptions=True) for _ in range(3)]
        processes = readers_of()
        answer = await asking

    assert [type(failure) for (failure,) in failures] == [QueryFailed] * 3
    assert answer.rows[0][0] > 0
    assert len(processes) <= 3


async def test_the_process_never_has_more_than_its_limit(file: Path) -> None:
    """At its highest it has what the limit of DuckDB allows, and as much again and the libraries."""
    peaks: list[int] = []
    async with asked(file) as (connector, engine):
        await run(connector)
        child = psutil.Process(engine.pid)
        asking = asyncio.create_task(run(connector, LONG))
        while not asking.done():
            with suppress(psutil.Error):
                peaks.append(child.memory_info().rss)
            await asyncio.wait((asking,), timeout=0.005)

    assert isinstance(asking.exception(), QueryFailed)
    assert max(peaks) < (3 * 256 + 200) * MEBIBYTE


async def test_a_killed_process_ends_its_statement_and_is_replaced(file: Path) -> None:
    """The statement's error says what happened; the next request has a new process."""
    async with asked(file) as (connector, engine):
        asking = await begun(engine, connector)
        old = engine.pid
        assert old is not None
        os.kill(old, signal.SIGKILL)
        with pytest.raises(QueryFailed, match="SIGKILL"):
            await asking
        answer = await run(connector)

        assert answer.rows == ((100,),)
        assert engine.pid not in (None, old)


async def test_a_process_that_is_killed_under_several_statements_costs_none_of_them(file: Path) -> None:
    """The cause is unknown, so each statement is retried in a process of its own."""
    slow = "select sum(a.range * b.range % 7) from range(20000) a, range(20000) b"
    async with asked(file) as (connector, engine):
        asking = [await begun(engine, connector, slow), asyncio.create_task(run(connector, slow))]
        await asyncio.wait(asking, timeout=0.1)
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGABRT)
        answers = await asyncio.gather(*asking)

    assert answers[0].rows == answers[1].rows


async def test_sessions_at_once_share_a_process(file: Path) -> None:
    """A slow statement does not delay others."""
    async with asked(file, sessions=2) as (connector, engine):
        asking = await begun(engine, connector)
        first = engine.pid
        answer = await run(connector)

        assert answer.rows == ((100,),)
        assert engine.pid == first
        assert not asking.done()
        asking.cancel()
        await asyncio.wait((asking,))


async def test_a_process_that_does_not_heed_a_cancel_is_killed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is free again, and the next question has another process."""
    monkeypatch.setattr(pool, "_STOPPING", 0.2)
    async with asked(file, sessions=1) as (connector, engine):
        asking = await begun(engine, connector)
        old = engine.pid
        assert old is not None
        os.kill(old, signal.SIGSTOP)
        asking.cancel()
        await asyncio.wait((asking,))
        answer = await run(connector)

        assert answer.rows == ((100,),)
        await eventually(lambda: is_gone(old))


async def test_a_cancelled_statement_leaves_the_process_to_others(file: Path) -> None:
    """It is interrupted, and the process goes on."""
    async with asked(file) as (connector, engine):
        asking = await begun(engine, connector)
        old = engine.pid
        asking.cancel()
        await asyncio.wait((asking,))
        await run(connector)

        assert engine.pid == old


async def test_the_process_ends_with_its_connector(file: Path) -> None:
    """Whatever runs in it; no question brings it back."""
    async with asked(file) as (connector, engine):
        asking = await begun(engine, connector)
        pid = engine.pid
        assert pid is not None
        await connector.close()
        await asyncio.wait((asking,))

        await eventually(lambda: is_gone(pid))
        with pytest.raises(DatabaseUnavailable):
            await run(connector)


async def test_the_process_ends_when_nobody_asks(file: Path) -> None:
    """The next question starts another."""
    async with asked(file, idle_seconds=0.2) as (connector, engine):
        await run(connector)
        pid = engine.pid
        assert pid is not None
        await eventually(lambda: is_gone(pid))
        answer = await run(connector)

    assert answer.rows == ((100,),)


_PARENT = """
import asyncio, sys
from pathlib import Path
from thresher.connectors import Caps, ConnectorOptions, SessionTag
from thresher.connectors.duckdb.engine import DuckdbEngine

engine = DuckdbEngine(Path(sys.argv[1]), ConnectorOptions())
engine.open().health()
print(engine.pid, flush=True)
engine.open().run(sys.argv[2], SessionTag("", "", 1), Caps(seconds=60))
"""


async def test_the_process_ends_when_its_parent_is_killed(file: Path) -> None:
    """In the middle of a statement, too."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(file), ENDLESS, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    await eventually(lambda: child.cpu_times().user > 1)
    parent.kill()
    await parent.wait()

    await eventually(lambda: is_gone(child.pid))


async def test_a_writer_gets_in_as_soon_as_an_answer_is_there(tmp_path: Path) -> None:
    """And the next question reads what was written."""
    file = tmp_path / "own.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute("create table small (id integer)")
    counts: list[Any] = []
    async with asked(file) as (connector, _):
        for _ in range(10):
            with duckdb.connect(str(file)) as database:
                database.execute("insert into small values (1)")
            counts.append((await run(connector)).rows[0][0])

    assert counts == list(range(1, 11))


async def test_the_process_inherits_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours, and no open file; as in every program that runs apart."""
    monkeypatch.setenv("THRESHER_KEY", "correct-horse")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    async with asked(file) as (connector, engine):
        await run(connector)
        child = psutil.Process(engine.pid)
        variables, descriptors = child.environ(), child.num_fds()
    os.close(reading)
    os.close(writing)

    assert "correct-horse" not in str(variables)
    assert set(variables) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX"}
    assert descriptors <= 4


def test_records_cross_unchanged() -> None:
    """Schemas, samples and rows are what they were."""
    columns = (Column("id", "INTEGER", "integer", nullable=False), Column("n", "VARCHAR", "text", True, "1", "c", 3))
    key = ForeignKey("k", ("id",), "main", "other", ("id",))
    schema = Schema("duckdb", "2", "main", (Table("main", "t", "view", columns, ("id",), (("n",),), (key,), "c", 3),))
    rows = Rows((), ((1, "ü\u2028", None, 1.5, {"a": ["P1D"]}),), "rows", 1, more=True, ms=1.5)
    profiles = Profiles({("main", "t", "a,b"): Profile(3, 1, 2, "a", 2.5, frozenset({"a"}), True)}, {("main", "t"): 3})
    records = {"reflect": schema, "run": rows, "profiles": profiles}

    crossed = {name: RESULTS[name].validate_json(RESULTS[name].dump_json(one)) for name, one in records.items()}

    assert crossed["reflect"] == schema
    assert crossed["profiles"] == profiles
    assert crossed["run"].rows == ((1, "ü\u2028", None, 1.5, {"a": ["P1D"]}),)


@pytest.mark.parametrize(
    "line", [b'[{"__reduce__": "os.system"}]', b"5", b"null", b"[[5], [5]]", b"[" * 5_000, b"\xff"]
)
@pytest.mark.parametrize("name", sorted(RESULTS))
def test_what_is_not_the_record_is_refused(name: str, line: bytes) -> None:
    """A process that was taken over can send what it likes, and gets no further."""
    with pytest.raises(ValidationError):
        RESULTS[name].validate_json(line)


_TAKEN_OVER = """
import sys

for _ in range(2):
    sys.stdin.readline()
sys.stdout.write({answer})
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "answer",
    ["'9 done {}\\n'", "'nonsense\\n'", "'1 done {\"columns\": 5}\\n'", "'1 failed []\\n'", "'x' * 70_000_000"],
)
async def test_a_process_that_answers_nonsense_is_ended(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """An endless line, too, is read up to its limit."""
    (tmp_path / "__main__.py").write_text(_TAKEN_OVER.format(answer=answer))
    monkeypatch.setattr(process, "MODULE", tmp_path)
    async with asked(file) as (connector, _):
        with pytest.raises(QueryFailed, match="process"):
            await run(connector)

        await eventually(lambda: not readers_of(str(tmp_path)))
