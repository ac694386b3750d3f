"""A worker process as the one that started it sees it.

Invariant: it ends when our end of its pipe closes, also when we are killed; `end` waits until it is gone.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from thresher.jobs.relay import LONGEST_LINE, lines_of, relay
from thresher.jobs.start import Start

NICENESS: Final = 10
"""How much lower a worker's priority is than ours; its encoder's process is as much lower again."""
END_SECONDS: Final = 8.0
"""How long a worker may take to put back what it does and end."""
LAST_WORDS_SECONDS: Final = 1.0
"""How long what an ended worker logged last may take to come in."""
_OUT_OF_MEMORY_SCORE: Final = "500"
"""Of 1,000: where memory runs out, Linux ends a worker, whose job goes on later, before anything else of ours."""


class WorkerProcess:
    """A running worker process.

    Attributes:
        worker: Its number in the queue; None until it has told.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.worker: int | None = None

    @classmethod
    async def start(cls, module: str, start: Start, niceness: int = NICENESS) -> WorkerProcess:
        """Start one, niced, and tell it what it must know.

        It gets a process group of its own, so that Ctrl-C in a terminal is ours alone, but stays in our session: Linux
        desktops share processors between sessions first, and a niceness counts only inside one. -P keeps a file in the
        working directory from posing as a module of ours.

        Args:
            module: What it runs.
            start: What it is told.
            niceness: How much lower its priority is than ours.
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
        with suppress(ConnectionError):  # it has ended already: its exit says so
            stdin.write(start.packed())
            await stdin.drain()
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    async def ended(self) -> int:
        """Listen to it until it has ended; returns its exit code."""
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
        """Have it put back what it does and end, within a bounded time."""
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
    with suppress(OSError):  # Linux alone has it
        Path(f"/proc/{pid}/oom_score_adj").write_text(_OUT_OF_MEMORY_SCORE)
