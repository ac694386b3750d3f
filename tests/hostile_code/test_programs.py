"""Hostile programs, through a real client and a real server: none reads, writes, escapes, or takes what others need.

Each line of programs.jsonl is one program, with what it is about. `{CANARY}` in it is the path of a file that holds a
secret word, `{FOLDER}` a folder that is to stay empty; the environment holds another secret word.
"""

from __future__ import annotations

import asyncio
import json
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastmcp import Client

import thresher
from tests.support.product import opened
from tests.support.waiting import eventually
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database
from thresher.upstream import ServerConfig

NOTES = Path(__file__).parents[1] / "fakes" / "notes_server.py"
PROGRAMS = [json.loads(line) for line in Path(__file__).with_name("programs.jsonl").read_text("utf-8").splitlines()]
KINDS = {"escape": 60, "read": 40, "write": 40, "exhaust": 60}
"""Kinds of programs, and how many of each there are at least."""
CODE_SECONDS = 2.0
TOGETHER = 4
END_SECONDS = 15.0
"""Within which each program ends: its own time, the end of its worker, and a machine that is busy."""
STALL_SECONDS = 2.0
"""The longest time in which the process serves nobody else."""
GROWTH = 400 << 20
"""Bytes by which this process may grow meanwhile; a program may have 128 MiB in a worker."""
ANSWER = 2_000_000
"""Characters of an answer."""


@dataclass
class World:
    """What a program is not to reach.

    Attributes:
        canary: A file with a secret word.
        folder: A folder that is to stay empty.
        notes: The file of the notes.
        words: What no answer may hold: secret words, and paths that no program knows.
    """

    canary: Path
    folder: Path
    notes: Path
    words: list[str] = field(default_factory=list[str])

    def filled(self, code: str) -> str:
        """A program with the paths that it knows."""
        return code.replace("{CANARY}", str(self.canary)).replace("{FOLDER}", str(self.folder))

    def told(self, text: str) -> list[str]:
        """What an answer tells that it should not."""
        unknown = text.replace(str(self.canary), "").replace(str(self.folder), "")
        return [word for word in self.words if word in unknown]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> World:
    """Secrets in a file, beside a folder and in the environment."""
    told, hidden = tmp_path / "told", tmp_path / "hidden"
    told.mkdir()
    hidden.mkdir()
    world = World(told / "canary.txt", told / "folder", hidden / "notes.jsonl")
    words = {place: f"secret-{place}-7b1f" for place in ("file", "name", "environment", "import")}
    world.folder.mkdir()
    world.canary.write_text(words["file"], encoding="utf-8")
    (told / words["name"]).touch()
    (told / "canary.py").write_text(f"print({words['import']!r})", encoding="utf-8")
    world.notes.write_text("".join(json.dumps({"title": f"t{n}", "text": "x" * n}) + "\n" for n in range(3)))
    monkeypatch.setenv("THRESHER_CANARY", words["environment"])
    installed = (Path(thresher.__file__).parent, sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"))
    world.words = [
        *words.values(),
        *(str(path) for path in (*installed, sys.executable, settings.data_dir, hidden, NOTES)),
        "root:x:0:0",
    ]
    return world


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, world: World
) -> AsyncIterator[Services]:
    """Services that offer `run_code`, with a server of notes."""
    on = settings.model_copy(update={"run_code": "on", "code_seconds": CODE_SECONDS})
    async with opened(database, tenant, on, encoder) as services:
        config = ServerConfig("notes", "stdio", command=sys.executable, args=(str(NOTES), str(world.notes)))
        await services.tools.add_server(services.caller, config, trusted=True)
        await services.tools.refresh(services.caller, "notes")
        yield services


@pytest.fixture
async def client(services: Services) -> AsyncIterator[Client[Any]]:
    """One client."""
    async with Client(build_gateway(services)) as client:
        yield client


async def call(client: Client[Any], name: str, arguments: dict[str, Any]) -> tuple[bool, str, str]:
    """Whether a call failed, what it answered, and the run that waits."""
    result = await client.call_tool_mcp(name, arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    return bool(result.is_error), text, str((result.meta or {}).get("thresher/run", ""))


async def run(client: Client[Any], code: str) -> tuple[bool, str, str]:
    """The same, of a program."""
    return await call(client, "run_code", {"code": code})


def workers() -> list[psutil.Process]:
    """The processes that run programs."""
    found: list[psutil.Process] = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            runs = child.name().startswith("monty") or any(part.endswith("interpreter.py") for part in child.cmdline())
            if runs and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


@contextmanager
def largest() -> Generator[list[int]]:
    """Watch the memory of this process, from a thread of its own: by how many bytes it has grown at most."""
    process, over = psutil.Process(), threading.Event()
    before = process.memory_info().rss
    growth = [0]

    def watch() -> None:
        while not over.wait(0.02):
            growth[0] = max(growth[0], process.memory_info().rss - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield growth
    finally:
        over.set()
        thread.join()


async def longest_stall(stalls: list[float]) -> None:
    """Note for how long nobody else is served; ends when it is cancelled."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(0.05)
        stalls.append(time.monotonic() - before)


def test_there_are_enough_programs_of_each_kind() -> None:
    """At least 200, each with a name of its own."""
    kinds = Counter(program["kind"] for program in PROGRAMS)
    assert all(kinds[kind] >= count for kind, count in KINDS.items())
    assert len({program["name"] for program in PROGRAMS}) == len(PROGRAMS) == sum(kinds.values())
    assert len({program["code"] for program in PROGRAMS}) == len(PROGRAMS)


async def test_no_program_reads_writes_escapes_or_exhausts(
    client: Client[Any], world: World, services: Services
) -> None:
    """All of them, a few at a time; then a harmless one still works."""
    before = world.notes.read_text()
    assert (await run(client, "len(await notes_list_notes())"))[:2] == (False, "3")
    assert workers()
    slots, faults, stalls = asyncio.Semaphore(TOGETHER), dict[str, list[str]](), list[float]()

    async def try_one(program: dict[str, str]) -> None:
        async with slots:
            started = time.monotonic()
            failed, text, waiting = await run(client, world.filled(program["code"]))
            taken = time.monotonic() - started
        found = [f"told {word}" for word in world.told(text)]
        if taken > END_SECONDS:
            found.append(f"took {taken:.1f} s")
        if len(text) > ANSWER:
            found.append(f"answered {len(text)} characters")
        if waiting and (program["kind"] != "write" or failed):
            found.append("waits for a decision")
        if found:
            faults[program["name"]] = found

    heart = asyncio.create_task(longest_stall(stalls))
    with largest() as growth:
        await asyncio.gather(*map(try_one, PROGRAMS))
    heart.cancel()

    assert faults == {}
    assert world.notes.read_text() == before
    assert list(world.folder.iterdir()) == []
    assert world.canary.read_text() == "secret-file-7b1f"
    assert growth[0] < GROWTH
    assert max(stalls) < STALL_SECONDS
    assert (await run(client, "[n['title'] for n in await notes_list_notes()]"))[:2] == (
        False, '["t0","t1","t2"]',
    )  # fmt: skip

    running = workers()
    await services.calling.close()
    await eventually(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in running))


WRITES = "for title in ('a', 'b'):\n    await notes_add_note(title=title)\n'end'"


def titles(world: World) -> list[str]:
    """What has been added to the notes."""
    return [json.loads(line)["title"] for line in world.notes.read_text().splitlines()[3:]]


async def test_one_decision_allows_one_call(client: Client[Any], world: World) -> None:
    """Two who use it at once, those who send other arguments, and those who use it again get nothing."""
    _, _, waits = await run(client, WRITES)
    for name, arguments in (
        ("notes_add_note", {"title": "b"}),
        ("notes_add_note", {"title": "a", "text": ""}),
        ("notes_add_note", {}),
        ("notes_read_note", {"number": 0}),
        ("call_tool_write", {"name": "notes_add_note", "arguments": {"title": "a"}}),
    ):
        failed, _, waiting = await call(client, "run_code_write", {"run": waits, "name": name, "arguments": arguments})
        assert (failed, waiting, titles(world)) == (True, "", [])

    allowed = {"run": waits, "name": "notes_add_note", "arguments": {"title": "a"}}
    twice = await asyncio.gather(*[call(client, "run_code_write", allowed) for _ in range(4)])
    assert titles(world) == ["a"]
    assert sorted(failed for failed, _, _ in twice) == [False, True, True, True]
    assert (await call(client, "run_code_write", allowed))[0]
    assert titles(world) == ["a"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "import asyncio\nawait asyncio.gather(*[notes_add_note(title='a') for _ in range(5)])",
            id="gather",
        ),
        pytest.param(
            "try:\n    await notes_add_note(title='a')\nfinally:\n    await notes_add_note(title='a')", id="finally"
        ),
        pytest.param(
            "while True:\n    try:\n        await notes_add_note(title='a')\n    except BaseException:\n        pass",
            id="endless",
        ),
        pytest.param(
            "c = [notes_add_note(title='a') for _ in range(9)]\nawait notes_slow_count()\n1 / 0", id="left behind"
        ),
        pytest.param("[await call_tool('notes_add_note', {'title': t}) for t in ('a', 'a', 'b')]", id="comprehension"),
    ],
)
async def test_a_decision_is_used_once_by_a_program_that_wants_more(
    client: Client[Any], world: World, code: str
) -> None:
    """The same call, made again, waits again."""
    _, _, waits = await run(client, code)
    allowed = {"run": waits, "name": "notes_add_note", "arguments": {"title": "a"}}
    failed, text, again = await call(client, "run_code_write", allowed)
    assert titles(world) == ["a"]
    assert 'Already run in it: notes_add_note({"title":"a"})' in text
    assert again or failed


async def test_no_call_is_made_after_the_run_has_ended(
    client: Client[Any], services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that nobody awaits end with the run: those that wait for others, and those under way."""
    made: list[str] = []
    resolve = services.tools.resolve

    async def noted(*args: Any, **more: Any) -> Any:
        made.append(args[1])
        return await resolve(*args, **more)

    monkeypatch.setattr(services.tools, "resolve", noted)
    few = "[await notes_slow_count() for _ in range(3)]"
    await run(client, few)
    own = len(made)
    answer = await run(client, "c = [notes_slow_count() for _ in range(40)]\n'end'")
    assert answer[:2] == (False, "end")
    ended = len(made)
    await run(client, few)
    assert len(made) == ended + own
