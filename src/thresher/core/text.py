"""Text for readers: first sentences, shortened lines, names near a mistyped one; lines and columns of offsets.

Invariant: pure; a text of any size costs a bounded time.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Iterable


class Lines:
    """Lines and columns of a text's offsets.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1


_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|\n\s*\n|\n\s*[-*#\d]|\s\|\s")  # noqa: RUF001 - full-width stops end sentences too
_MARKUP = re.compile(r"[`*_#]{2,}|</?[a-zA-Z][^>]{0,40}>|`")
_SUMMARY_CHARACTERS = 120
_WORD = re.compile(r"[A-Za-z0-9]+")
_NEAR_POOL = 300


def first_sentence(description: str) -> str:
    """The first sentence without markup, at most 120 characters."""
    text = _MARKUP.sub("", description[:2000]).strip()
    first = _SENTENCE_END.split(text, maxsplit=1)[0]
    return shortened(" ".join(first.split()), _SUMMARY_CHARACTERS)


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Return known names that look like a mistyped one, best first.

    Only names that share a word or a beginning with it are compared in full, so that a catalogue of 10,000 costs
    milliseconds.
    """
    words = {word.lower() for word in _WORD.findall(name)}
    head = name[:3].lower()

    def overlap(candidate: str) -> int:
        lowered = candidate.lower()
        return sum(len(word) for word in words if word in lowered) + (2 if lowered.startswith(head) else 0)

    pool = sorted(((overlap(candidate), candidate) for candidate in known), key=lambda pair: (-pair[0], pair[1]))
    close = [candidate for _, candidate in pool[:_NEAR_POOL]]
    return tuple(difflib.get_close_matches(name, close, n=limit, cutoff=0.5))


def did_you_mean(near: tuple[str, ...]) -> str:
    """Return a sentence that offers the near names; empty if there are none."""
    return f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""


def shortened(text: str, limit: int) -> str:
    """The text, at most `limit` characters of it, ended at a word with an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    return f"{head.rsplit(' ', 1)[0] if ' ' in head[limit // 2 :] else head}…"
