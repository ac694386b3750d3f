"""Reads that one answer makes several times."""

from __future__ import annotations

import asyncio

import pytest

from thresher.store import shared, shared_reads


class _Counter:
    """Counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    async def read(self) -> int:
        await asyncio.sleep(0)
        self.reads += 1
        return self.reads


async def test_inside_a_block_the_same_read_is_made_once() -> None:
    """Also at once and in other tasks; another block reads again, and another key too."""
    counter = _Counter()

    with shared_reads():
        first = await asyncio.gather(*(asyncio.create_task(shared("heads", counter.read)) for _ in range(3)))
        first.append(await shared("heads", counter.read))
        other = await shared("tails", counter.read)
    with shared_reads():
        again = await shared("heads", counter.read)

    assert (first, other, again) == ([1, 1, 1, 1], 2, 3)


async def test_outside_a_block_every_read_is_made() -> None:
    """Nothing is kept."""
    counter = _Counter()

    assert [await shared("heads", counter.read) for _ in range(2)] == [1, 2]


async def test_who_gives_up_does_not_end_the_read_of_others() -> None:
    """And an error reaches everybody who waits."""
    go = asyncio.Event()

    async def failing() -> int:
        await go.wait()
        raise ValueError("gone")

    with shared_reads():
        hasty = asyncio.create_task(shared("heads", failing))
        patient = asyncio.create_task(shared("heads", failing))
        await asyncio.sleep(0)
        hasty.cancel()
        go.set()
        with pytest.raises(ValueError, match="gone"):
            await patient
    assert hasty.cancelled() or (await asyncio.gather(hasty, return_exceptions=True))
