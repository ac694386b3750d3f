"""Vectors that come with the product: those of the lines that the built-in packs are trained on.

A first start would otherwise embed them all before it can choose rules. `make vectors` writes the file.

Invariant: a vector serves only the very model that made it, and only the very text, by hash; one that is missing is
embedded like any other text, so that an old file costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from thresher.embedding.protocol import Matrix

SHIPPED: Final = Path(__file__).parent / "shipped.vectors"

_HASH_BYTES: Final = hashlib.sha256().digest_size
_NUMBER: Final = np.dtype("<f2")
"""Half precision: a cosine moves by 0.0002 at most, and the file is half as large."""


def shipped_vectors(model: str, hashes: Collection[bytes], file: Path = SHIPPED) -> dict[bytes, Matrix]:
    """The shipped vectors among some texts.

    Args:
        model: Id of the model that runs.
        hashes: SHA-256 of the texts, a prefix of queries before them.
        file: What `write_shipped` wrote; one that is not there holds none.

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
    """Write the file anew.

    Args:
        model: Id of the model that made them.
        vectors: SHA-256 of a text to its vector, float32 (dimension,); at least one.
        file: Where to.
    """
    order = sorted(vectors)
    numbers = np.stack([vectors[digest] for digest in order]).astype(_NUMBER)
    head = {"model": model, "texts": len(order), "dimension": numbers.shape[1]}
    file.write_bytes(json.dumps(head).encode() + b"\n" + b"".join(order) + numbers.tobytes())
