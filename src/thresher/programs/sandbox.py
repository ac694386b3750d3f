"""Runs Python that a model wrote, in a sandbox: no files, no network, no modules but a few pure ones.

The interpreter is Monty, in worker processes of its own: a program that crashes its worker ends only itself. A program
reaches nothing but the functions that it is handed.

Invariant: a run ends within its limits - steps, memory, calls, output, time - whatever the program does; a run that is
stopped from outside cannot go on, and no `try` of the program catches that.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from thresher.core import ConfigurationError, InvalidInput, UpstreamError

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty

logger = logging.getLogger("thresher.programs")

MOST_CODE: Final = 50_000
"""Characters of a program."""
MOST_CALLS: Final = 200
"""Calls of functions in one run."""
_TOGETHER = 8
"""Calls of one run that are under way at once."""
_WORKERS = 4
"""Programs that run at once in this process; more wait."""
_WAIT_SECONDS = 20.0
"""How long one waits for a worker."""
_CLOSE_SECONDS = 3.0
_STEP_SECONDS = 5.0
"""Processor time of a run, waits for functions not counted."""
_MEMORY = 128 << 20
_PRINTED = 1_000_000
"""Characters that a program may print."""
_SLEEP_SECONDS = 10.0
_DEPTH = 200
"""Most levels of a value that is given or returned."""
_MOST_BITS = 14_000
"""Of an integer: Python writes no more than 4,300 digits."""
_NOT_AWAITED = "The value is a call that was not awaited: write `await` before it."
_IDENTIFIER = re.compile(r"[^\W\d]\w*")

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


class Sandbox:
    """Runs programs; one per process. Its workers are started by the first program.

    Args:
        seconds: The longest time of one run, calls included.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pool: AsyncMonty | None = None
        self._opening = asyncio.Lock()

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
            UpstreamError: Too many programs run at once, or the worker broke.
        """
        if len(code) > MOST_CODE:
            raise InvalidInput(f"The code has {len(code)} characters; {MOST_CODE} are allowed.", hint="Write less.")
        run = _Run(functions)
        work = asyncio.ensure_future(self._feed(await self._workers(), code, run, start))
        stopped = asyncio.ensure_future(run.stopped.wait())
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return Outcome(None, run.text, f"TimeoutError: the run took longer than {self._seconds:g} s")
        finally:
            stopped.cancel()
            if not work.done():
                await _ended(work)
            run.over.set()
        if run.stop is not None:
            with suppress(BaseException):
                work.exception()
            raise run.stop
        return work.result()

    async def close(self) -> None:
        """End the workers."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def _workers(self) -> AsyncMonty:
        try:
            from pydantic_monty import AsyncMonty  # noqa: PLC0415 - an extra, and needed by few
        except ImportError:
            raise ConfigurationError(
                "Code cannot be run: the package pydantic-monty is not installed.",
                hint="Install Thresher with the extra 'code', or set THRESHER_RUN_CODE=off.",
            ) from None
        async with self._opening:
            if self._pool is None:
                pool = AsyncMonty(
                    max_processes=_WORKERS,
                    checkout_timeout=_WAIT_SECONDS,
                    request_timeout=self._seconds + _STEP_SECONDS,
                    max_checkouts_per_worker=100,
                )
                self._pool = await pool.__aenter__()
            return self._pool

    async def _feed(self, pool: AsyncMonty, code: str, run: _Run, start: Start) -> Outcome:
        from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError  # noqa: PLC0415 - as above

        session = pool.checkout(
            script_name="code.py",
            limits={
                "max_feed_duration_secs": _STEP_SECONDS,
                "max_memory": _MEMORY,
                "max_suspensions": 4 * MOST_CALLS,
                "max_total_sleep_secs": _SLEEP_SECONDS,
            },
            os_policy={
                "datetime": start.moment,
                "timezone": "utc",
                "random_start": {"seed": start.seed},
                "sleep_system_max": _SLEEP_SECONDS,
            },
        )
        try:
            async with session as worker:
                value = await worker.feed_run(code, external_lookup=run.lookup(code), print_callback=run.print_text)
                plain = plain_value(value)
                return Outcome(plain, run.text, _NOT_AWAITED if str(plain).startswith("<coroutine ") else "")
        except TimeoutError:
            raise UpstreamError("Too many programs run at once.", hint="Try again in a moment.") from None
        except MontyCrashedError:
            return Outcome(None, run.text, "The program broke its interpreter.")
        except (MontyRuntimeError, MontySyntaxError) as error:
            return Outcome(None, run.text, error.display())
        except MontyError as error:
            return Outcome(None, run.text, f"{type(error).__name__}: {error}")
        except ValueError as error:  # a value that is no data
            return Outcome(None, run.text, f"ValueError: {error}")


class _Run:
    """One run: its calls, what it printed, and what stopped it."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._slots = asyncio.Semaphore(_TOGETHER)
        self._calls = 0
        self._printed: list[str] = []
        self._size = 0
        self.stop: BaseException | None = None
        self.stopped = asyncio.Event()
        self.over = asyncio.Event()

    @property
    def text(self) -> str:
        """What it printed."""
        return "".join(self._printed)

    def lookup(self, code: str) -> dict[str, Function]:
        """The functions whose names stand in the code."""
        names = names_in(code)
        return {name: self._bounded(function) for name, function in self._functions.items() if name in names}

    def print_text(self, _stream: str, text: str) -> None:
        """Keep what is printed, as far as there is room."""
        room = _PRINTED - self._size
        if room > 0:
            self._printed.append(text[:room])
            self._size += len(text)
            if self._size > _PRINTED:
                self._printed.append(f"\n... more than {_PRINTED} characters were printed; the rest is left out\n")

    def _bounded(self, function: Function) -> Function:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if self._calls > MOST_CALLS:
                raise RuntimeError(f"a run may make {MOST_CALLS} calls")
            async with self._slots:
                if self.stop is None:
                    try:
                        return await function(*map(plain_value, args), **{k: plain_value(v) for k, v in kwargs.items()})
                    except Stop as stop:
                        self.stop = self.stop or stop
                        self.stopped.set()
            await self.over.wait()  # the run ends; nothing is returned to it
            raise asyncio.CancelledError

        return call


async def _ended(work: asyncio.Task[Any]) -> None:
    """Cancel a run, and wait a bounded time for its worker to end."""
    work.cancel()
    done, _ = await asyncio.wait({work}, timeout=_CLOSE_SECONDS)
    if not done:
        logger.warning("the worker of a program did not end in time")


def names_in(code: str) -> frozenset[str]:
    """The identifiers that stand in a program, in texts and comments too."""
    return frozenset(match[0] for match in _IDENTIFIER.finditer(code))


def plain_value(value: Any, depth: int = 0) -> Any:
    """A value of a program as JSON: keys are texts, tuples and sets are lists, what is no data is its text.

    Raises:
        ValueError: It is nested too deeply, or an integer is too large.
    """
    if depth > _DEPTH:
        raise ValueError(f"a value has more than {_DEPTH} levels")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise ValueError("an integer has too many digits")
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(key): plain_value(one, depth + 1) for key, one in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(one, depth + 1) for one in cast("Iterable[Any]", value)]
    if isinstance(attributes := getattr(value, "attributes", None), Mapping):  # an object of a class of the program
        return plain_value(attributes, depth + 1)
    return str(value)
