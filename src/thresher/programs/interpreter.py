"""Interprets programs: requests on standard input, calls and outcomes on standard output, a JSON object a line.

    python -I …/programs/interpreter.py

`sandbox` starts it and says what the lines hold. The interpreter is Monty, whose worker is a process of its own, new
for each program.

Invariant: what a program hands over leaves as plain JSON, within the room of its run: objects of the program exist here
alone. The process and its worker end with standard input, whatever still runs.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from pydantic_monty import AsyncMonty, MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from thresher.confinement import limit

_STEP_SECONDS: Final = 5.0
"""Processor time of a program, waits for functions not counted."""
_TURN_SECONDS: Final = 2 * _STEP_SECONDS
"""After which a worker that does not answer is killed; and processor time of this process for one program."""
_MEMORY: Final = 128 << 20
"""Bytes of a program."""
_PROCESS_MEMORY: Final = 768 << 20
"""Bytes of this process, and of its worker: what a program hands over takes several times its own memory here."""
_FILES: Final = 64
_SUSPENSIONS: Final = 800
_SLEEP_SECONDS: Final = 10.0
_PARTS: Final = 200_000
_CHARACTERS: Final = 4_000_000
_PRINTED: Final = 200_000
_ERROR: Final = 20_000
"""Characters of a traceback."""
_DEPTH: Final = 200
"""Most levels of a value that is handed over."""
_MOST_BITS: Final = 14_000
"""Of an integer: Python writes no more than 4,300 digits."""
_NOT_AWAITED: Final = "The value is a call that was not awaited: write `await` before it."
_RAISED: Final[Mapping[str, type[Exception]]] = {"TypeError": TypeError, "ValueError": ValueError}
"""What a function of the host may raise in a program; anything else is a RuntimeError."""

Message = dict[str, Any]


class Room:
    """How much a run may still hand over: as arguments of its calls, and as its value."""

    def __init__(self) -> None:
        self._parts, self._characters = _PARTS, _CHARACTERS

    def take(self, characters: int) -> None:
        """Count one value.

        Raises:
            ValueError: There is no room.
        """
        self._parts -= 1
        self._characters -= characters
        if self._parts < 0 or self._characters < 0:
            raise ValueError(f"a run may hand over {_PARTS} values and {_CHARACTERS} characters")

    def plain(self, value: Any, depth: int = 0) -> Any:
        """A value of a program as JSON: keys are texts, tuples and sets are lists, what is no data is its text.

        What stands in several places is counted in each.

        Raises:
            ValueError: It is nested too deeply, too large, or an integer is.
        """
        if depth > _DEPTH:
            raise ValueError(f"a value has more than {_DEPTH} levels")
        self.take(len(value) if isinstance(value, str | bytes) else 0)
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            if value.bit_length() > _MOST_BITS:
                raise ValueError("an integer has too many digits")
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {str(self.plain(key, depth + 1)): self.plain(one, depth + 1) for key, one in items}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.plain(one, depth + 1) for one in cast("Iterable[Any]", value)]
        if isinstance(value, BaseException):
            return f"{type(value).__name__}{self.plain(value.args, depth + 1)}"
        if isinstance(attributes := getattr(value, "attributes", None), Mapping):  # an object of a class of the program
            return self.plain(attributes, depth + 1)
        text = str(value)
        self.take(len(text))
        return text


class _Run:
    """One program: what it hands over, and the calls that wait for an answer.

    Args:
        say: Writes a line.
        numbers: Numbers for its calls, which no other run has.
    """

    def __init__(self, say: Callable[[Message], None], numbers: Iterable[int]) -> None:
        self._say = say
        self._numbers = iter(numbers)
        self._room = Room()
        self._print_room = _PRINTED
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._over = False

    async def feed(self, pool: AsyncMonty, request: Message) -> None:
        """Run the program, and say how it ended."""
        session = pool.checkout(
            script_name="code.py",
            limits={
                "max_feed_duration_secs": _STEP_SECONDS,
                "max_memory": _MEMORY,
                "max_suspensions": _SUSPENSIONS,
                "max_total_sleep_secs": _SLEEP_SECONDS,
            },
            os_policy={
                "datetime": datetime.fromisoformat(request["moment"]),
                "timezone": "utc",
                "random_start": {"seed": request["seed"]},
                "sleep_system_max": _SLEEP_SECONDS,
            },
        )
        functions = {name: self._function(name) for name in request["names"]}
        value, error = None, ""
        try:
            async with session as worker:
                native = await worker.feed_run(
                    request["code"], external_lookup=functions, print_callback=self._print_text
                )
                self._over = True
                value = self._room.plain(native)
                if isinstance(value, str) and value.startswith("<coroutine "):
                    error = _NOT_AWAITED
        except MontyCrashedError:
            error = "The program broke its interpreter."
        except (MontyRuntimeError, MontySyntaxError) as failure:
            error = failure.display()
        except (MontyError, ValueError, MemoryError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        self._over = True
        if len(error) > _ERROR:
            error = (
                f"{error[: _ERROR // 2]}\n… {len(error) - _ERROR} characters are left out …\n{error[-_ERROR // 2 :]}"
            )
        self._say({"value": None if error else value, "error": error})

    def take(self, answer: Message) -> None:
        """Hand an answer to the call that waits for it."""
        future = self._waiting.pop(answer["call"], None)
        if future is None or future.done():
            return
        if "error" in answer:
            kind, text = answer["error"]
            future.set_exception(_RAISED.get(kind, RuntimeError)(text))
        else:
            future.set_result(answer["value"])

    def _function(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._over:
                raise asyncio.CancelledError
            given = [self._room.plain(one) for one in args]
            named = {key: self._room.plain(one) for key, one in kwargs.items()}
            number = next(self._numbers)
            self._waiting[number] = future = asyncio.get_running_loop().create_future()
            self._say({"call": number, "name": name, "args": given, "kwargs": named})
            return await future

        return call

    def _print_text(self, _stream: str, text: str) -> None:
        if not text or self._print_room <= 0:
            return
        shown = text[: self._print_room]
        self._print_room -= len(text)
        if self._print_room < 0:
            shown += f"\n... more than {_PRINTED} characters were printed; the rest is left out\n"
        self._say({"print": shown})


async def _serve() -> None:
    """Run programs, one at a time, until standard input ends."""
    loop, requests, numbers = asyncio.get_running_loop(), asyncio.Queue[Message](), itertools.count()
    run: _Run | None = None

    def take(message: Message) -> None:
        if "code" in message:
            requests.put_nowait(message)
        elif run is not None:
            run.take(message)

    def read() -> None:
        try:
            for line in sys.stdin.buffer:
                loop.call_soon_threadsafe(take, json.loads(line))
        finally:
            _end()

    threading.Thread(target=read, daemon=True).start()
    async with AsyncMonty(
        min_processes=0, max_processes=1, request_timeout=_TURN_SECONDS, max_checkouts_per_worker=1
    ) as pool:
        while True:
            request = await requests.get()
            limit(seconds=math.ceil(time.process_time() + _TURN_SECONDS))
            run = _Run(_say, numbers)
            await run.feed(pool, request)


def _say(message: Message) -> None:
    sys.stdout.buffer.write(json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n")
    sys.stdout.buffer.flush()


def _end() -> None:
    """End this process and its worker at once."""
    with suppress(AttributeError, OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Serve; anything unforeseen ends the process, and with it the run."""
    logging.disable(logging.CRITICAL)
    limit(memory=_PROCESS_MEMORY, files=_FILES)
    with suppress(OSError):  # if memory still runs out, the kernel ends this process and not the server
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        asyncio.run(_serve())
    finally:
        _end()


if __name__ == "__main__":
    main()
