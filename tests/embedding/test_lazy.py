from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from thresher.core import EncoderError
from thresher.embedding.lazy import RETRY_SECONDS, Lazy


def test_many_threads_load_once() -> None:
    """All get the same value."""
    loads: list[int] = []
    gate = threading.Barrier(8)

    def load() -> object:
        loads.append(1)
        return object()

    lazy = Lazy(load)

    def get(_: int) -> object:
        gate.wait(10)
        return lazy.get()

    with ThreadPoolExecutor(8) as pool:
        values = set(pool.map(get, range(8)))

    assert len(values) == len(loads) == 1
    assert lazy.loaded


def test_a_failure_is_remembered_for_a_while_and_then_tried_again() -> None:
    """A broken model does not cost each search its loading, and a repaired one is used again."""
    now = [0.0]
    loads: list[int] = []

    def load() -> str:
        loads.append(1)
        if len(loads) == 1:
            raise EncoderError("broken", hint="mend it")
        return "value"

    lazy = Lazy(load, lambda: now[0])
    for _ in range(3):
        with pytest.raises(EncoderError, match="broken mend it"):
            lazy.get()
    assert len(loads) == 1
    assert not lazy.loaded

    now[0] = RETRY_SECONDS
    assert lazy.get() == "value"
