"""The sandbox by itself: its children, and what ends with a run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from tests.support.waiting import eventually
from thresher.core import ConfigurationError, UpstreamError
from thresher.programs import Outcome, Sandbox, Start, Stop

SECONDS = 20.0
MOST_CALLS = 200


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """One sandbox; no process outlives it."""
    sandbox = Sandbox(SECONDS)
    yield sandbox
    await sandbox.close()
    await eventually(lambda: not interpreters())


def interpreters(of: psutil.Process | None = None) -> list[psutil.Process]:
    """The processes that interpret programs, without their workers."""
    found: list[psutil.Process] = []
    for child in (of or psutil.Process()).children():
        with suppress(psutil.Error):
            if any(part.endswith("interpreter.py") for part in child.cmdline()):
                found.append(child)
    return found


def workers(interpreter: psutil.Process) -> list[psutil.Process]:
    """The workers of one of them."""
    return [child for child in interpreter.children() if child.name().startswith("monty")]


async def run(sandbox: Sandbox, code: str, **functions: Any) -> Outcome:
    """Run a program."""
    return await sandbox.run(code, functions, Start.now())


async def echo(*args: Any, **kwargs: Any) -> Any:
    """What a program hands over, as it arrives."""
    return [list(args), kwargs]


class Waiting:
    """A function that does not return; `begun` is set when it is called, `ended` counts the calls that ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = 0

    async def __call__(self) -> None:
        """Wait for ever."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def test_values_cross_as_plain_json(sandbox: Sandbox) -> None:
    """There and back; what is no data is its text, and what JSON cannot hold is replaced."""
    code = "[await echo(1, 'ä', a={'x': (1, 2), 2: {3}, (4,): b'5'}), 1e999, range(3), ..., ValueError('no')]"
    outcome = await run(sandbox, code, echo=echo)
    assert outcome.error == ""
    assert outcome.value == [
        [[1, "ä"], {"a": {"x": [1, 2], "2": [3], "[4]": "b'5'"}}], None, "range(0, 3)", "Ellipsis", "ValueError['no']",
    ]  # fmt: skip

    async def odd() -> Any:
        return "\ud800"

    async def not_json() -> Any:
        return object()

    assert (await run(sandbox, "await odd()", odd=odd)).value == "?"
    assert "not_json: Object of type object" in (await run(sandbox, "await not_json()", not_json=not_json)).error


async def test_errors_of_functions_are_exceptions_of_the_program(sandbox: Sandbox) -> None:
    """Two kinds keep their names; the rest are runtime errors."""

    async def typed() -> None:
        raise TypeError("typed() takes 0 arguments")

    async def other() -> None:
        raise LookupError("not there")

    code = "told = []\nfor f in (typed, other):\n  try: await f()\n  except Exception as e: told.append(repr(e))\ntold"
    assert (await run(sandbox, code, typed=typed, other=other)).value == [
        "TypeError('typed() takes 0 arguments')", "RuntimeError('not there')",
    ]  # fmt: skip


async def test_a_child_serves_the_next_program(sandbox: Sandbox) -> None:
    """One child is kept, and nothing of a program is left to the next."""
    assert (await run(sandbox, "x = 1\nx")).value == 1
    (first,) = interpreters()
    assert "NameError" in (await run(sandbox, "x")).error
    assert interpreters() == [first]


@pytest.mark.parametrize("which", ["interpreter", "worker"])
async def test_a_child_that_dies_in_the_middle_ends_its_run_alone(sandbox: Sandbox, which: str) -> None:
    """Other calls of the run end, too; the next run works."""
    waiting = Waiting()

    async def die() -> None:
        await waiting.begun.wait()
        (process,) = interpreters()
        for one in workers(process) if which == "worker" else [process]:
            one.kill()

    code = "import asyncio\nprint('before')\nawait asyncio.gather(waiting(), die())"
    outcome = await run(sandbox, code, waiting=waiting, die=die)
    assert (outcome.value, outcome.printed) == (None, "before\n")
    assert outcome.error.startswith("The program broke its interpreter")
    assert waiting.ended == 1
    assert (await run(sandbox, "2")).value == 2


async def test_a_kept_child_that_died_is_replaced(sandbox: Sandbox) -> None:
    """Only a program that begins before the death is noticed fails."""
    await run(sandbox, "1")
    (kept,) = interpreters()
    kept.kill()

    async def works() -> bool:
        return (await run(sandbox, "2")).value == 2

    await eventually(works)
    assert kept not in interpreters()


async def test_twelve_programs_at_once(sandbox: Sandbox) -> None:
    """A few run, the others wait; each gets its own answer, and one child is left."""
    most = 0

    async def noted(number: int) -> int:
        nonlocal most
        most = max(most, len(interpreters()))
        return number

    outcomes = await asyncio.gather(*[run(sandbox, f"print({n})\nawait noted({n})", noted=noted) for n in range(12)])
    assert outcomes == [Outcome(n, f"{n}\n") for n in range(12)]
    assert most <= 4
    assert len(interpreters()) == 1


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="loop"),
        pytest.param("t = (1,)\nfor _ in range(40): t = (t, t)\n{t}", id="hash of shared structure"),
        pytest.param("{(2**61 - 1) * k for k in range(100000)}", id="collisions"),
        pytest.param("await waiting()", id="call"),
    ],
)
async def test_a_run_ends_in_time(code: str) -> None:
    """Whatever its process is busy with; this one serves others meanwhile."""
    sandbox, waiting, stalls = Sandbox(1.0), Waiting(), [0.0]

    async def heart() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.02)
            stalls.append(time.monotonic() - before)

    beats = asyncio.create_task(heart())
    outcome = await run(sandbox, code, waiting=waiting)
    beats.cancel()
    assert outcome.error == "TimeoutError: the run took longer than 1 s"
    assert max(stalls) < 0.9
    assert not interpreters()
    assert waiting.ended == waiting.begun.is_set()
    await sandbox.close()


async def test_close_ends_a_run(sandbox: Sandbox) -> None:
    """With its calls; nothing runs afterwards."""
    waiting = Waiting()
    runs = [
        asyncio.create_task(run(sandbox, code, waiting=waiting)) for code in ("await waiting()", "while True: pass")
    ]
    await waiting.begun.wait()
    await sandbox.close()
    for one in runs:
        with pytest.raises(UpstreamError, match="the server is closing"):
            await one
    assert waiting.ended == 1
    assert not interpreters()
    with pytest.raises(UpstreamError, match="the server is closing"):
        await run(sandbox, "1")
    await sandbox.close()


async def test_cancellation_ends_a_run(sandbox: Sandbox) -> None:
    """Its process and its calls end with it."""
    waiting = Waiting()
    work = asyncio.create_task(run(sandbox, "await waiting()", waiting=waiting))
    await waiting.begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert waiting.ended == 1
    assert not interpreters()


async def test_a_stop_ends_a_run_and_its_calls(sandbox: Sandbox) -> None:
    """The program does not learn of it, and none of its calls goes on or begins."""
    waiting, made = Waiting(), list[str]()

    async def stop() -> None:
        await waiting.begun.wait()
        raise Stop("here")

    async def later() -> None:
        made.append("later")

    code = "import asyncio\ntry:\n    await asyncio.gather(waiting(), stop())\nexcept BaseException:\n    await later()"
    with pytest.raises(Stop, match="here"):
        await run(sandbox, code, waiting=waiting, stop=stop, later=later)
    assert (waiting.ended, made) == (1, [])
    assert not interpreters()


async def test_calls_that_nobody_awaits_end_with_the_run(sandbox: Sandbox) -> None:
    """Those that wait for others, too."""
    waiting = Waiting()
    code = "first = begun()\ncalls = [waiting() for _ in range(40)]\nawait first\n'end'"
    outcome = await run(sandbox, code, waiting=waiting, begun=waiting.begun.wait)
    assert outcome == Outcome("end", "")
    assert 1 <= waiting.ended <= 8


async def test_a_run_makes_so_many_calls(sandbox: Sandbox) -> None:
    """The next one fails."""
    assert (await run(sandbox, f"for _ in range({MOST_CALLS}): await echo()\n1", echo=echo)).value == 1
    assert (
        f"may make {MOST_CALLS} calls"
        in (await run(sandbox, f"for _ in range({MOST_CALLS} + 1): await echo()", echo=echo)).error
    )


async def test_what_a_run_hands_over_is_bounded(sandbox: Sandbox) -> None:
    """As a value, in one argument or in many, counted wherever it stands; so are prints, errors and answers."""
    shared = "x = ['x']\nfor _ in range(40): x = [x, x]\n"
    for code in (
        f"{shared}x", f"{shared}await echo(x)", "'x' * 5_000_000", "{'x' * 5_000_000: 1}",
        "for n in range(100): await echo(str(n) * 100_000)", "list(range(300_000))",
    ):  # fmt: skip
        assert "a run may hand over" in (await run(sandbox, code, echo=echo)).error, code

    printed = await run(sandbox, "for _ in range(100): print('x' * 10_000)")
    assert printed.error == ""
    assert len(printed.printed) < 201_000
    assert "characters were printed" in printed.printed
    error = (await run(sandbox, "raise ValueError('x' * 1_000_000)")).error
    assert len(error) < 21_000
    assert "ValueError" in error

    async def large() -> str:
        return "x" * (40 << 20)

    assert "bytes are too much for a program" in (await run(sandbox, "await large()", large=large)).error


async def test_the_extra_that_is_missing_is_named(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started."""
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    with pytest.raises(ConfigurationError, match="pydantic-monty is not installed") as raised:
        await run(sandbox, "1")
    assert "extra 'code'" in str(raised.value.hint)
    assert not interpreters()


async def test_the_child_of_a_process_that_dies_ends(sandbox: Sandbox) -> None:
    """And its worker, whatever the program does."""
    program = (
        "import asyncio\nfrom thresher.programs import Sandbox, Start\n"
        "async def begun(): print('begun', flush=True)\n"
        "code = 'await begun()\\nwhile True: pass'\n"
        "asyncio.run(Sandbox(600).run(code, {'begun': begun}, Start.now()))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert await asyncio.to_thread(parent.stdout.readline) == "begun\n"
        left = interpreters(psutil.Process(parent.pid))
        left += workers(left[0])
        assert len(left) == 2
        parent.kill()
    await eventually(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in left))
