from __future__ import annotations

import numpy as np
import pytest

from thresher.embedding.cache import QueryCache
from thresher.embedding.protocol import Matrix


class Clock:
    """A clock that tests set."""

    now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def vector(value: float) -> Matrix:
    """A vector of three."""
    return np.full(3, value, np.float32)


def test_a_vector_serves_until_its_time_is_up() -> None:
    """The time counts from when it was computed, not from its last use."""
    clock = Clock()
    cache = QueryCache(2, 300, clock)
    cache.put("a", vector(1))

    clock.now += 299
    assert cache.get("a") is not None
    clock.now += 1
    assert cache.get("a") is None
    assert len(cache) == 0


def test_the_least_recently_used_goes_first() -> None:
    """Reading counts as use, and the limit is kept."""
    cache = QueryCache(2, 300, Clock())
    cache.put("a", vector(1))
    cache.put("b", vector(2))
    cache.get("a")
    cache.put("c", vector(3))

    assert cache.get("b") is None
    assert cache.get("a") is not None
    assert len(cache) == 2


def test_a_caller_cannot_change_a_cached_vector() -> None:
    """Neither through the vector put in nor through the one returned."""
    cache = QueryCache(2, 300, Clock())
    mine = vector(1)
    cache.put("a", mine)
    mine[0] = 9

    given = cache.get("a")
    assert given is not None
    assert given[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        given[0] = 9


@pytest.mark.parametrize(("size", "seconds"), [(0, 300.0), (5, 0.0)])
def test_a_cache_can_be_switched_off(size: int, seconds: float) -> None:
    """By its size or its time."""
    cache = QueryCache(size, seconds, Clock())
    cache.put("a", vector(1))

    assert cache.get("a") is None
