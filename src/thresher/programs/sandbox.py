"""Runs Python that a model wrote, in a sandbox: no files, no network, no modules but a few pure ones.

A program is interpreted in a child (`interpreter`), which runs one at a time. It reaches nothing but the functions that
it is handed. JSON lines cross the child's pipes:

- to it: the program {code, names, moment, seed}; answers of calls {call, value} or {call, error: [type, text]};
- from it: {call, name, args, kwargs}; {print}; the outcome {value, error}.

Invariant: a run ends within its limits - steps, memory, calls, output, time - whatever the program does, and nothing of
the program is in this process but JSON of a bounded size. When `Sandbox.run` ends, no call of the run is under way or
begins later, and no process works on it. A run that is stopped from outside cannot go on: no `try` catches that.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import secrets
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from thresher.confinement import command, environment
from thresher.core import ConfigurationError, InvalidInput, UpstreamError

MOST_CODE: Final = 50_000
"""Characters of a program."""
MOST_CALLS: Final = 200
"""Calls of functions in one run."""
_TOGETHER: Final = 8
"""Calls of one run that are under way at once."""
_CHILDREN: Final = 4
"""Programs that run at once in this process; more wait."""
_WAIT_SECONDS: Final = 20.0
"""How long one waits for a child."""
_RUNS: Final = 100
"""Programs that one child runs, one after another."""
_IDLE_SECONDS: Final = 300.0
"""After which a child without work is ended; starting one takes a quarter of a second."""
_LONGEST: Final = 32 << 20
"""Bytes of a line: what a run may hand over, each character escaped."""
_INTERPRETER: Final = Path(__file__).with_name("interpreter.py")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_BROKEN: Final = "The program broke its interpreter, or needed more memory or processor time than it may have."

Function = Callable[..., Awaitable[Any]]


class Stop(Exception):
    """Raised by a function: the run ends here, and the program does not learn of it."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a program can see of when it runs; the same for a run that is repeated.

    Attributes:
        moment: Its clock, which stands still; in UTC.
        seed: Of its random numbers.
    """

    moment: datetime
    seed: str

    @classmethod
    def now(cls) -> Start:
        """The start of a new run."""
        return cls(datetime.now(UTC).replace(microsecond=0), secrets.token_hex(8))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        value: The value of the last expression, as JSON; None if there is none.
        printed: What it printed.
        error: The traceback, if the program failed; empty otherwise.
    """

    value: Any
    printed: str
    error: str = ""


_CLOCK: Final[ContextVar[asyncio.Timeout]] = ContextVar("thresher_clock")


@contextmanager
def clock_stopped() -> Generator[None]:
    """Stop the clock of the run that a function is called in, such as while a person is asked; one at a time."""
    clock = _CLOCK.get()
    until = clock.when()
    if until is None or clock.expired():
        yield
        return
    remaining = until - asyncio.get_running_loop().time()
    clock.reschedule(None)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # the run has ended meanwhile
            clock.reschedule(asyncio.get_running_loop().time() + remaining)


class Sandbox:
    """Runs programs; one per process. Children are started as they are needed, and one is kept for the next program.

    Args:
        seconds: The longest time of one run, calls included.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(_CHILDREN)
        self._children: set[_Child] = set()
        self._idle: _Child | None = None
        self._idle_end: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, code: str, functions: Mapping[str, Function], start: Start) -> Outcome:
        """Run a program to its end.

        Args:
            code: The program; it may await at the top level.
            functions: What it can call, by name. What they raise is an exception of the program; `Stop` ends the run.
            start: Its clock and its random numbers.

        Raises:
            Stop: As a function raised it; the first one, if several did.
            InvalidInput: The program is too long.
            ConfigurationError: The interpreter is not installed.
            UpstreamError: Too many programs run at once, no child can be started, or the sandbox is closed.
        """
        if len(code) > MOST_CODE:
            raise InvalidInput(f"The code has {len(code)} characters; {MOST_CODE} are allowed.", hint="Write less.")
        async with self._child() as child:
            run = _Run(child, functions)
            try:
                async with asyncio.timeout(self._seconds) as clock:
                    _CLOCK.set(clock)
                    return await run.outcome(code, start)
            except TimeoutError:
                return Outcome(None, run.printed, f"TimeoutError: the run took longer than {self._seconds:g} s")
            except ConnectionError:
                if self._closed:
                    raise UpstreamError("The program was ended: the server is closing.") from None
                return Outcome(None, run.printed, _BROKEN)

    async def close(self) -> None:
        """End the children, and with them the runs; none starts afterwards."""
        self._closed = True
        if self._idle_end is not None:
            self._idle_end.cancel()
        await asyncio.gather(*(child.end() for child in tuple(self._children)), *self._ending)

    @asynccontextmanager
    async def _child(self) -> AsyncGenerator[_Child]:
        """A child of one's own; it ends with the run, unless the run came to its own end."""
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise UpstreamError("Too many programs run at once.", hint="Try again in a moment.") from None
        child = None
        try:
            child = self._taken() or await self._started()
            yield child
        finally:
            try:
                if child is not None and not self._kept(child):
                    await self._ended(child)
            finally:
                self._slots.release()

    def _taken(self) -> _Child | None:
        child, self._idle = self._idle, None
        if self._idle_end is not None:
            self._idle_end.cancel()
        if child is not None and not child.is_usable:
            self._end_later(child)
            return None
        return child

    async def _started(self) -> _Child:
        if importlib.util.find_spec("pydantic_monty") is None:
            raise ConfigurationError(
                "Code cannot be run: the package pydantic-monty is not installed.",
                hint="Install Thresher with the extra 'code', or set THRESHER_RUN_CODE=off.",
            )
        try:
            child = _Child(
                await asyncio.create_subprocess_exec(
                    *command(_INTERPRETER), env=environment(), stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
                    limit=_LONGEST, process_group=0,
                )
            )  # fmt: skip
        except OSError:
            raise UpstreamError(
                "The process that runs programs cannot be started.", hint="Try again when the machine has memory."
            ) from None
        self._children.add(child)
        if self._closed:
            await self._ended(child)
            raise UpstreamError("The program was not run: the server is closing.")
        return child

    def _kept(self, child: _Child) -> bool:
        """Keep a child for the next program, if it can serve one and none is kept."""
        if self._closed or self._idle is not None or not child.is_usable:
            return False
        self._idle = child
        self._idle_end = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end_idle)
        return True

    def _end_idle(self) -> None:
        child, self._idle = self._idle, None
        if child is not None:
            self._end_later(child)

    def _end_later(self, child: _Child) -> None:
        task = asyncio.ensure_future(self._ended(child))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _ended(self, child: _Child) -> None:
        try:
            await child.end()
        finally:
            self._children.discard(child)


class _Child:
    """A process that interprets programs.

    Args:
        process: The process, the first of a group of its own.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._requests = cast("asyncio.StreamWriter", process.stdin)
        self._answers = cast("asyncio.StreamReader", process.stdout)
        self._runs = 0
        self._busy = self._ended = False

    @property
    def is_usable(self) -> bool:
        """Whether it can run a program: it lives, has ended its last one by itself, and has not run too many."""
        alive = self._process.returncode is None and not self._answers.at_eof()
        return alive and not self._busy and not self._ended and self._runs < _RUNS

    async def begin(self, request: Mapping[str, Any]) -> None:
        """Send a program."""
        self._busy = True
        self._runs += 1
        await self.send(request)

    def done(self) -> None:
        """Note that the program has ended by itself."""
        self._busy = False

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write a line.

        Raises:
            ValueError: It is too long.
            ConnectionError: The process has ended.
        """
        line = json.dumps(message, ensure_ascii=False).encode(errors="replace")
        if len(line) > _LONGEST:
            raise ValueError(f"{len(line)} bytes are too much for a program")
        self._requests.write(line + b"\n")
        await self._requests.drain()

    async def receive(self) -> dict[str, Any]:
        """The next line.

        Raises:
            ConnectionError: The process has ended, or wrote no line that could be one.
        """
        try:
            message: Any = json.loads(await self._answers.readline())
        except (ValueError, RecursionError):
            raise ConnectionError from None
        if not isinstance(message, dict):
            raise ConnectionError
        return cast("dict[str, Any]", message)

    async def end(self) -> None:
        """Kill it, with the worker that it has started; may be called more than once."""
        if not self._ended:
            self._ended = True
            with suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:  # Windows: the worker ends with its pipes
                    self._process.kill()
            self._requests.close()
        await self._process.wait()
        with suppress(ValueError, RuntimeError):  # RuntimeError: the run still reads, up to the end
            while await self._answers.read(1 << 16):
                pass


class _Run:
    """One run: its calls, and what it printed.

    Args:
        child: Interprets it.
        functions: What it can call, by name.
    """

    def __init__(self, child: _Child, functions: Mapping[str, Function]) -> None:
        self._child = child
        self._functions = functions
        self._slots = asyncio.Semaphore(_TOGETHER)
        self._printed: list[str] = []

    @property
    def printed(self) -> str:
        """What it printed."""
        return "".join(self._printed)

    async def outcome(self, code: str, start: Start) -> Outcome:
        """Run the program; calls that are under way when it ends are cancelled, and awaited.

        Raises:
            Stop: A function raised it.
            ConnectionError: The child has ended.
        """
        names = sorted(names_in(code) & self._functions.keys())
        request = {"code": code, "names": names, "moment": start.moment.isoformat(), "seed": start.seed}
        try:
            async with asyncio.TaskGroup() as group:
                calls: list[asyncio.Task[None]] = []
                try:
                    await self._child.begin(request)
                    outcome = await self._served(group, calls)
                finally:
                    for call in calls:
                        call.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        self._child.done()
        return outcome

    async def _served(self, group: asyncio.TaskGroup, calls: list[asyncio.Task[None]]) -> Outcome:
        while True:
            match await self._child.receive():
                case {"call": int(number), "name": str(name), "args": list(), "kwargs": dict()} as call:
                    if len(calls) < MOST_CALLS and name in self._functions:
                        calls.append(group.create_task(self._call(number, name, call["args"], call["kwargs"])))
                    else:
                        await self._child.send(_failed(number, f"a run may make {MOST_CALLS} calls"))
                case {"print": str(text)}:
                    self._printed.append(text)
                case {"value": value, "error": str(error)}:
                    return Outcome(value, self.printed, error)
                case _:
                    raise ConnectionError

    async def _call(self, number: int, name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        async with self._slots:
            try:
                answer = {"call": number, "value": await self._functions[name](*args, **kwargs)}
            except (Stop, asyncio.CancelledError):
                raise
            except Exception as error:  # noqa: BLE001 - the program may catch it
                answer = _failed(number, str(error), type(error).__name__)
        try:
            await self._child.send(answer)
        except (TypeError, ValueError, RecursionError) as error:
            await self._child.send(_failed(number, f"{name}: {error}"))


def _failed(number: int, text: str, kind: str = "RuntimeError") -> dict[str, Any]:
    return {"call": number, "error": [kind, text]}


def names_in(code: str) -> frozenset[str]:
    """The identifiers that stand in a program, in texts and comments too."""
    return frozenset(match[0] for match in _IDENTIFIER.finditer(code))
