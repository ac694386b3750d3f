"""Vectors that need not be computed: those of recent queries, and those that are shipped with the product.

Shipped are the vectors of the lines on which the built-in packs are trained; without them a first start would have to
embed all lines before it can choose rules. `make vectors` writes the file.

Invariant: a cached vector is read-only, so that no caller can change another's; a shipped vector is used only for the
model that made it and for exactly its text, by hash. A missing vector is computed, so that an old file costs only time.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from cachetools import TTLCache

from thresher.embedding.protocol import Matrix


class QueryCache:
    """LRU cache with a time to live; thread-safe.

    Args:
        size: Most vectors; 0 disables the cache.
        seconds: Time to live of a vector; 0 disables the cache.
        clock: Monotonic time in seconds.
    """

    def __init__(self, size: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: TTLCache[str, Matrix] = TTLCache(size if seconds > 0 else 0, seconds, clock)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, text: str) -> Matrix | None:
        """The text's vector, shape (dimension,), or None."""
        with self._lock:
            return self._entries.get(text)

    def put(self, text: str, vector: Matrix) -> None:
        """Store a copy of the vector."""
        if self._entries.maxsize == 0:
            return
        kept = vector.copy()
        kept.flags.writeable = False
        with self._lock:
            self._entries[text] = kept


SHIPPED: Final = Path(__file__).parent / "shipped.vectors"

_HASH_BYTES: Final = hashlib.sha256().digest_size
_NUMBER: Final = np.dtype("<f2")
"""Half precision: a cosine changes by 0.0002 at most, and the file is half as large."""


def shipped_vectors(model: str, hashes: Collection[bytes], file: Path = SHIPPED) -> dict[bytes, Matrix]:
    """The shipped vectors of some texts.

    Args:
        model: Id of the running model.
        hashes: SHA-256 of the texts, each with the query prefix if it has one.
        file: A file made by `write_shipped`; a missing file has no vectors.

    Returns:
        Hash to float32 (dimension,), of length 1.
    """
    if not file.is_file():
        return {}
    with file.open("rb") as stream:
        head = json.loads(stream.readline())
        if head["model"] != model:
            return {}
        texts, dimension = int(head["texts"]), int(head["dimension"])
        known = stream.read(texts * _HASH_BYTES)
        numbers = np.frombuffer(stream.read(), _NUMBER).reshape(texts, dimension)
    rows = {known[row * _HASH_BYTES : (row + 1) * _HASH_BYTES]: row for row in range(texts)}
    found = {digest: numbers[rows[digest]].astype(np.float32) for digest in hashes if digest in rows}
    return {digest: vector / np.linalg.norm(vector) for digest, vector in found.items()}


def write_shipped(model: str, vectors: Mapping[bytes, Matrix], file: Path = SHIPPED) -> None:
    """Write the file of shipped vectors.

    Args:
        model: Id of the model that made them.
        vectors: SHA-256 of a text to its vector, float32 (dimension,); at least one.
        file: The file to write.
    """
    order = sorted(vectors)
    numbers = np.stack([vectors[digest] for digest in order]).astype(_NUMBER)
    head = {"model": model, "texts": len(order), "dimension": numbers.shape[1]}
    file.write_bytes(json.dumps(head).encode() + b"\n" + b"".join(order) + numbers.tobytes())
