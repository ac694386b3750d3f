"""Finds chunks that say the same: copied paragraphs, licence texts, lines that every section repeats.

Two chunks are twins when their numbers are equal, in order, and their words nearly so: the 64-bit similarity hashes
(Charikar, "Similarity estimation techniques from rounding algorithms", 2002) of their words differ in three bits at
most. A table row or a setting with another number is never a twin.

Invariant: pure; the first of several twins stands for all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")
_BITS: Final = 64
_BANDS: Final = 4
"""Hashes that differ in at most three bits agree in one of four bands of 16 bits."""
_FAR: Final = 4
_LONGEST_BUCKET: Final = 64
"""Chunks of one band that are compared with each other; texts with more are made of copies, found by the first ones."""


def twins_of(texts: Sequence[str]) -> NDArray[np.int64]:
    """For each text the place of the first text that says the same, int64 (n,); its own place where there is none."""
    twins = np.arange(len(texts), dtype=np.int64)
    hashes = similarity_hashes(texts)
    numbers = [zlib.crc32(" ".join(_NUMBER.findall(text)).encode()) for text in texts]
    buckets: dict[tuple[int, int, int], list[int]] = {}
    for place, value in enumerate(hashes):
        keys = [(band, value >> 16 * band & 0xFFFF, numbers[place]) for band in range(_BANDS)]
        for key in keys:
            bucket = buckets.setdefault(key, [])
            near = next((other for other in bucket if (hashes[other] ^ value).bit_count() < _FAR), None)
            if near is not None:
                twins[place] = near
                break
        else:
            for key in keys:
                if len(bucket := buckets[key]) < _LONGEST_BUCKET:
                    bucket.append(place)
    return twins


def similarity_hashes(texts: Sequence[str]) -> list[int]:
    """The 64-bit similarity hash of each text's words."""
    words = [_WORD.findall(text.casefold()) or [text.strip()] for text in texts]
    known = {word: number for number, word in enumerate(dict.fromkeys(word for each in words for word in each))}
    encoded = [word.encode("utf-8", "replace") for word in known]
    signs = np.empty((len(known), _BITS), np.int8)
    halves = np.array([(zlib.crc32(word), zlib.crc32(word, 0x9E3779B9)) for word in encoded], np.uint64).reshape(-1, 2)
    mixed = (halves[:, 0] << np.uint64(32) | halves[:, 1]) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    signs[:] = (mixed[:, None] >> np.arange(_BITS, dtype=np.uint64) & np.uint64(1)).astype(np.int8) * 2 - 1
    powers = np.uint64(1) << np.arange(_BITS, dtype=np.uint64)
    return [int(powers[signs[[known[word] for word in each]].sum(axis=0, dtype=np.int64) > 0].sum()) for each in words]
