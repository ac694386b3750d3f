"""A bounded memory of query vectors: least recently used go first, and none outlives its time.

Invariant: never more than `size` vectors; a vector given out is read-only, so no caller can change another's.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from thresher.embedding.protocol import Matrix


class QueryCache:
    """LRU cache with a time to live; safe between threads.

    Args:
        size: Vectors kept; 0 keeps none.
        seconds: How long a vector serves after it was computed; 0 keeps none.
        clock: Seconds that never go backwards.
    """

    def __init__(self, size: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size if seconds > 0 else 0
        self._seconds = seconds
        self._clock = clock
        self._entries: OrderedDict[str, tuple[float, Matrix]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, text: str) -> Matrix | None:
        """The text's vector, shape (dimension,), or None."""
        with self._lock:
            entry = self._entries.get(text)
            if entry is None:
                return None
            if self._clock() >= entry[0]:
                del self._entries[text]
                return None
            self._entries.move_to_end(text)
            return entry[1]

    def put(self, text: str, vector: Matrix) -> None:
        """Remember a copy of the vector."""
        if self._size == 0:
            return
        kept = vector.copy()
        kept.flags.writeable = False
        with self._lock:
            self._entries[text] = (self._clock() + self._seconds, kept)
            self._entries.move_to_end(text)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
