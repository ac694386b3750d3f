"""What one turn of a conversation passes through: files and functions of Thresher, statements and round trips.

The product has two documents, a database and LiveMCPBench's catalogue. The model is a process of its own and answers at
once, or first searches documents. What is counted is the turn of a thread that has had one before, so that nothing is
read for the first time. Functions are counted by their code, on the event loop's thread. A trip to the database is a
transaction, or a pipeline of statements on a connection of its own; the log rows that are written behind the answer are
counted where they fall into the turn.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from uuid import UUID, uuid4

import psycopg
from fastmcp import Client

import thresher
from benchmarks import data, machine, product
from benchmarks.chat_model import serving_model
from thresher.agent import ChatCall
from thresher.app import App
from thresher.gateway import build_gateway
from thresher.knowledge.documents import origin_of
from thresher.llm import Message
from thresher.store import Database

SOURCE = str(Path(thresher.__file__).parent)
ROUNDS = 30
SETTLED = 0.5
"""Seconds in which the log rows of earlier turns are written."""
QUESTION = "How many weeks of paid leave do parents have, and how many customers are there?"
LEAVE = (
    "# Leave\n\nParents have sixteen weeks of paid leave after a child is born. They ask for it eight weeks before.\n"
)
KILN = "# Kilns\n\nA kiln is heated to eleven hundred degrees. It cools for a whole day before anybody opens it.\n"
SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total NUMERIC);
"""
BEFORE: dict[str, Any] = {
    "turn": {"files": 149, "functions": 579, "calls": 3814, "trips": 34, "statements": 100},
    "turn_that_searches": {"files": 173, "functions": 719, "calls": 6506, "trips": 47, "statements": 140},
    "find_tools": {"files": 51, "functions": 177, "calls": 426, "trips": 1, "statements": 3},
    "find_tools_service": {"files": 40, "functions": 140, "calls": 338, "trips": 1, "statements": 3},
}
"""The figures before tools were run below the faces (e1d4cbc), when a turn spoke MCP to its own process."""


@dataclass
class Trace:
    """What work has passed through.

    Attributes:
        code: The functions of Thresher that were called.
        calls: How often any was.
        trips: Transactions and pipelines, each on a connection that is taken for it.
        statements: Statements that were sent.
    """

    code: set[CodeType] = field(default_factory=set)
    calls: int = 0
    trips: int = 0
    statements: int = 0

    def figures(self) -> dict[str, int]:
        """The counts."""
        files = {code.co_filename for code in self.code}
        return {"files": len(files), "functions": len(self.code), "calls": self.calls} | {
            "trips": self.trips,
            "statements": self.statements,
        }


@contextmanager
def traced() -> Generator[Trace]:
    """Take down what happens inside the block."""
    trace = Trace()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE) and frame.f_code.co_name[0] != "<":
            trace.code.add(frame.f_code)
            trace.calls += 1

    with _database_watched(trace):
        sys.setprofile(note)
        try:
            yield trace
        finally:
            sys.setprofile(None)


@contextmanager
def _database_watched(trace: Trace) -> Generator[None]:
    execute, once, begin = psycopg.AsyncCursor.execute, Database._once, Database._begin

    async def executed(self: Any, *args: Any, **more: Any) -> Any:
        trace.statements += 1
        return await execute(self, *args, **more)

    async def sent(self: Database, *args: Any) -> Any:
        trace.trips += 1
        return await once(self, *args)

    async def begun(self: Database, *args: Any) -> Any:
        trace.trips += 1
        return await begin(self, *args)

    psycopg.AsyncCursor.execute = executed  # type: ignore[method-assign] - watched for a moment
    Database._once, Database._begin = sent, begun  # type: ignore[method-assign] - as above
    try:
        yield
    finally:
        psycopg.AsyncCursor.execute = execute  # type: ignore[method-assign] - as above
        Database._once, Database._begin = once, begin  # type: ignore[method-assign] - as above


@asynccontextmanager
async def opened(**settings: object) -> AsyncGenerator[App]:
    """The product with something to ask of each kind."""
    pool = data.livemcpbench()
    with tempfile.TemporaryDirectory(prefix="thresher-turn-") as place:
        folder, shop = Path(place) / "handbook", Path(place) / "shop.sqlite"
        folder.mkdir()
        (folder / "leave.md").write_text(LEAVE, encoding="utf-8")
        (folder / "kiln.md").write_text(KILN, encoding="utf-8")
        with sqlite3.connect(shop) as connection:
            connection.executescript(SHOP)
        connection.close()
        async with product.opened(workers=0, **settings) as app:
            services = app.services
            await services.documents.index_here(services.caller, "handbook", origin_of(str(folder)))
            await services.databases.add_connection(services.caller, "shop", f"sqlite:///{shop}")
            await services.databases.refresh_schema(services.caller, "shop")
            await services.tools.import_tools(services.caller, pool.tools, pool.descriptions)
            yield app


async def speak(app: App, thread: UUID) -> None:
    """One turn."""
    call = ChatCall((Message("user", QUESTION),), thread)
    async for _ in app.conversations.talk(app.services.caller, call):
        pass


async def measured(work: Callable[[], Awaitable[object]]) -> dict[str, Any]:
    """What some work passes through when nothing is new, and how long it takes when nothing is counted."""
    await work()
    await work()
    await asyncio.sleep(SETTLED)
    await work()  # so that what is fresh for a moment is fresh
    with traced() as trace:
        await work()
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await work()
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    p95 = times[int(len(times) * 0.95)]
    return trace.figures() | {"ms_p50": round(statistics.median(times), 1), "ms_p95": round(p95, 1)}


async def turns(url: str) -> dict[str, Any]:
    """The figures of a turn with this model."""
    async with opened(llm_url=url, llm_model="fake") as app:
        thread = uuid4()
        return await measured(lambda: speak(app, thread))


async def searches() -> dict[str, Any]:
    """The figures of `find_tools`: as an MCP client calls it, and as the service alone."""
    async with opened() as app:
        services = app.services
        gateway = build_gateway(services)
        async with Client(gateway) as client:
            asked = {"message": QUESTION}
            over = await measured(lambda: client.call_tool_mcp("find_tools", asked))
        alone = await measured(lambda: services.tools.find_tools(services.caller, message=QUESTION))
    return {"find_tools": over, "find_tools_service": alone}


def _script(folder: Path) -> Path:
    path = folder / "scripts.jsonl"
    turn = {"user": QUESTION, "calls": ["search_documents"]}
    path.write_text(json.dumps({"name": "turn", "settings": {}, "turns": [turn]}), encoding="utf-8")
    return path


async def run() -> dict[str, Any]:
    """Measure and save."""
    with tempfile.TemporaryDirectory(prefix="thresher-scripts-") as place:
        async with serving_model("--text", "Sixteen weeks [1].") as plain:
            figures = {"turn": await turns(plain)}
        async with serving_model("--scripts", str(_script(Path(place)))) as searching:
            figures["turn_that_searches"] = await turns(searching)
    figures |= await searches()
    print(json.dumps(figures), flush=True)
    machine.save("turn", {"now": figures, "before": BEFORE})
    return figures
