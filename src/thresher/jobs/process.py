"""A worker process as seen by its parent, and its log.

Invariant: a worker ends when the parent's end of its pipe closes, even if the parent is killed; `end` waits until it is
gone. A log line is passed on as the worker masked it; output that is not a log line (of a library, or a traceback) is
passed on as text, as a warning.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from thresher.core import CallerText, event
from thresher.jobs.handshake import WorkerStart

NICENESS: Final = 10
"""How much lower a worker's priority is than the parent's; its encoder's process is lower by the same amount again."""
END_SECONDS: Final = 8.0
"""Time limit for a worker to put back its job and end."""
LAST_WORDS_SECONDS: Final = 1.0
"""Time limit for the last log lines of an ended worker."""
_OUT_OF_MEMORY_SCORE: Final = "500"
"""Of 1,000: when memory runs out, Linux kills a worker, whose job continues later, before our other processes."""


class WorkerProcess:
    """A running worker process.

    Attributes:
        worker: Its number in the queue; None until it is registered.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.worker: int | None = None

    @classmethod
    async def start(cls, module: str, start: WorkerStart, niceness: int = NICENESS) -> WorkerProcess:
        """Start a worker with lower priority, and send it its settings.

        It gets a process group of its own, so that Ctrl-C in a terminal reaches the parent alone, but stays in the
        parent's
        session: Linux desktops share processors between sessions first, and a niceness counts only inside one. -P
        prevents a file in the working directory from being imported as one of our modules.

        Args:
            module: The module that the process runs.
            start: The message that it receives.
            niceness: How much lower its priority is than the parent's.
        """
        lower = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", module),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LONGEST_LINE,
            process_group=0,
            creationflags=lower,
        )
        _lower(process.pid, niceness)
        stdin = cast("asyncio.StreamWriter", process.stdin)
        with suppress(ConnectionError):  # it has ended already, which its exit code shows
            stdin.write(start.packed())
            await stdin.drain()
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def ended(self) -> int:
        """Read its output until it has ended; return its exit code."""
        relaying = asyncio.create_task(relay(cast("asyncio.StreamReader", self._process.stderr), self.pid))
        async for line in lines_of(cast("asyncio.StreamReader", self._process.stdout)):
            if line.strip().isdigit():
                self.worker = int(line)
        code = await self._process.wait()
        with suppress(TimeoutError):  # a child of its own may hold its standard error open
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await relaying
        return code

    async def end(self) -> None:
        """Have it put back its job and end, within a time limit."""
        cast("asyncio.StreamWriter", self._process.stdin).close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


def _lower(pid: int, niceness: int) -> None:
    if sys.platform == "win32":
        return
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, min(19, os.getpriority(os.PRIO_PROCESS, 0) + niceness))
    with suppress(OSError):  # only Linux has it
        Path(f"/proc/{pid}/oom_score_adj").write_text(_OUT_OF_MEMORY_SCORE)


_logger = logging.getLogger("thresher.jobs")

LONGEST_LINE: Final = 1 << 20
"""Bytes; longer lines are dropped."""
_OWN: Final = ("at", "level", "logger", "event")


async def lines_of(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    """The lines of a process's output until it ends; lines that are too long are left out."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # longer than the reader's limit, and dropped by it
            continue
        if not line:
            return
        yield line


async def relay(stream: asyncio.StreamReader, pid: int) -> None:
    """Log what a worker logs until it ends.

    Args:
        stream: Its standard error.
        pid: Its process id.
    """
    async for line in lines_of(stream):
        record = _decoded(line)
        if record is None:
            event(
                _logger,
                "worker says",
                level=logging.WARNING,
                worker=pid,
                text=CallerText(line.decode("utf-8", "replace")),
            )
            continue
        level = logging.getLevelNamesMapping().get(str(record["level"]).upper(), logging.WARNING)
        fields = {name: value for name, value in record.items() if name not in _OWN} | {"worker": pid}
        logging.getLogger(str(record["logger"])).log(level, "%s", record["event"], extra={"fields": fields})


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not all(name in record for name in _OWN):
        return None
    return cast("dict[str, Any]", record)
