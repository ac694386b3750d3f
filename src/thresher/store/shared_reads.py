"""Reads that one answer makes several times, made once.

Several searches of one answer ask which documents, APIs and databases their caller sees. Inside `shared_reads` the same
read is made once, and all of them get what it found: so they also agree with each other.

Invariant: nothing is kept beyond the block, and nothing is shared between two of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_reads: ContextVar[dict[Hashable, asyncio.Task[Any]] | None] = ContextVar("reads", default=None)


@contextmanager
def shared_reads() -> Generator[None]:
    """Share reads among everything that is awaited inside, in tasks that begin there too."""
    token = _reads.set({})
    try:
        yield
    finally:
        _reads.reset(token)


async def shared(key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
    """Return what a read finds; inside `shared_reads` what it found there before.

    Args:
        key: Equal for reads that find the same.
        read: Reads it.
    """
    if (kept := _reads.get()) is None:
        return await read()
    if key not in kept:
        kept[key] = asyncio.create_task(_awaited(read))
    return await asyncio.shield(kept[key])  # a caller that gives up does not end the read of the others


async def _awaited(read: Callable[[], Awaitable[T]]) -> T:
    return await read()
