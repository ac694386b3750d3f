"""Borders between our own lines and other people's text in one answer.

A rule text is instruction for the model, and may come from anybody: it must not be able to end its own block, to begin
another pack's, or to speak as Thresher. So each of our lines begins with a mark that stands in no text of the answer.

Invariant: pure; the mark of an answer occurs in none of its texts, whatever they say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_CHARACTERS = 6


def border_of(texts: Iterable[str]) -> str:
    """The mark for an answer that holds these texts, such as `[4f09ac]`; equal texts give the same one."""
    whole = "\n".join(texts).casefold()
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
    marks = (digest[start : start + _CHARACTERS] for start in range(len(digest) - _CHARACTERS))
    return f"[{next((mark for mark in marks if mark not in whole), digest)}]"
