"""A large result cut into parts: ranges of one text, each under a label that says where it stands.

Invariant: pure; parts are in the order of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.search import Ids

LEVEL: Final = " > "
"""Stands between the levels of a label."""
_SAMPLES: Final = 16
_SAMPLE: Final = 160
"""Characters of each sample, from which the tokens of a long text are estimated: counting them all would take longer
than choosing what to deliver."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a result, as columns of equal length n.

    Attributes:
        kind: `json`, `csv`, `log`, `html`, `markdown`, `code` or `text`.
        text: What is searched and delivered; empty for JSON.
        starts: int64, first character of each part.
        ends: int64, character after the last.
        labels: int64, the label of each part.
        names: The labels: headings, the names around a function, the path and the identity of a JSON element.
        prefix: Lines that go before the parts of a table: its header.
        shape: What the whole consists of; empty where nothing is to be said.
        neighbours: Whether a part's neighbours are likely to belong to its answer.
        first: Parts that go before all others.
        blob: Of JSON alone: the parts as UTF-8, to which starts and ends belong.
    """

    kind: str
    text: str
    starts: Ids
    ends: Ids
    labels: Ids
    names: Sequence[str]
    prefix: str = ""
    shape: str = ""
    neighbours: bool = False
    blob: bytes = b""
    first: Sequence[int] = ()

    def octets(self, *, ascii_only: bool) -> tuple[bytes, Ids, Ids]:
        """The text in lower case as UTF-8, with the starts and the ends of its parts in it.

        Args:
            ascii_only: Whether only letters of ASCII need be in lower case, which is quicker.
        """
        if self.blob:
            return self.blob.lower() if ascii_only else self.blob.decode().lower().encode(), self.starts, self.ends
        text = self.text if ascii_only else self.text.replace("İ", "i").lower()
        octets = text.encode("utf-8", "replace").lower()
        if len(octets) == len(text):
            return octets, self.starts, self.ends
        firsts = np.flatnonzero((np.frombuffer(octets, np.uint8) & 0xC0) != 0x80)
        firsts = np.append(firsts, len(octets))
        return octets, firsts[self.starts], firsts[self.ends]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.starts)


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has; exact up to some thousand characters."""
    if len(text) <= 2 * _SAMPLES * _SAMPLE:
        return count_tokens(text)
    step = (len(text) - _SAMPLE) // (_SAMPLES - 1)
    sample = [text[place : place + _SAMPLE] for place in range(0, len(text) - _SAMPLE + 1, step)]
    return round(sum(map(count_tokens, sample)) / (len(sample) * _SAMPLE) * len(text))


def clipped(text: str, most: int, around: int = 0) -> str:
    """A text of at most about `most` characters, with its length where something was cut.

    Args:
        text: The text.
        most: Characters that are kept.
        around: A place that is kept.
    """
    if len(text) <= most:
        return text
    first = max(0, min(around - most // 3, len(text) - most))
    last = first + most
    before = "…" if first else ""
    return f"{before}{text[first:last]}… [{len(text):,} characters]"
