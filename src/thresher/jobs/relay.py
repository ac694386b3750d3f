"""Puts what a worker process logs into the log of the process that started it.

Invariant: a line is passed on as the worker masked it; what is no line of ours (a library's own words, a traceback of
the interpreter) is passed on as text, at warning level.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any, Final, cast

from thresher.core import Said, event

_logger = logging.getLogger("thresher.jobs")

LONGEST_LINE: Final = 1 << 20
"""Bytes; what is longer is passed over."""
_OWN: Final = ("at", "level", "logger", "event")


async def lines_of(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    """The lines of a process's output until it ends; those that are too long are left out."""
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
        pid: Which process it is.
    """
    async for line in lines_of(stream):
        told = _decoded(line)
        if told is None:
            event(_logger, "worker says", level=logging.WARNING, worker=pid, text=Said(line.decode("utf-8", "replace")))
            continue
        level = logging.getLevelNamesMapping().get(str(told["level"]).upper(), logging.WARNING)
        fields = {name: value for name, value in told.items() if name not in _OWN} | {"worker": pid}
        logging.getLogger(str(told["logger"])).log(level, "%s", told["event"], extra={"fields": fields})


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict) or not all(name in told for name in _OWN):
        return None
    return cast("dict[str, Any]", told)
