"""Waiting for a condition, with a deadline in place of a sleep."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(condition: Callable[[], T | Awaitable[T]], *, seconds: float = 20.0) -> T:
    """Return the condition's first true value; fail when it stays false until the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, f"not true within {seconds} s: {inspect.getsource(condition).strip()}"
        await asyncio.sleep(0.02)
