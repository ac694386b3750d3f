"""Words that a collection may mean by a word that it does not hold: longer ones, and those one slip of the hand away.

Invariant: pure; a guess is only ever made of a word that no item holds.
"""

from __future__ import annotations

import string
from typing import Final

from thresher.search.terms import stemmed

MOST_UNKNOWN: Final = 3
"""Unknown words of a query that are guessed at, the longest first; each costs some 2 ms."""
_PREFIX: Final = 3
"""Characters that the beginning of a word needs at least."""
_SLIP: Final = 6
"""Characters of a word from which a letter may be missing, too many, or swapped with the next: most short words are one
letter away from others that mean something else (`event` and `even`)."""
_WRONG_LETTER: Final = 8
"""Characters from which a letter may be wrong."""
_LETTERS: Final = string.ascii_lowercase
_AFTER: Final = "\U0010ffff"


def longer(term: str) -> tuple[str, str] | None:
    """Between which terms the longer forms of a term stand in the order of their bytes, both bounds excluded."""
    return (term, term + _AFTER) if len(term) >= _PREFIX else None


def slips(word: str) -> list[str]:
    """Terms of the words that one slip of the hand may have turned into this one.

    Args:
        word: As it was written, folded.
    """
    if len(word) < _SLIP or not word.isascii() or not word.isalpha():
        return []
    return sorted({stemmed(near) for near in _near(word)} - {stemmed(word)})


def _near(word: str) -> set[str]:
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    deleted = {left + right[1:] for left, right in halves if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1}
    added = {left + letter + right for left, right in halves for letter in _LETTERS}
    long = len(word) >= _WRONG_LETTER
    changed = {left + letter + right[1:] for left, right in halves if right and long for letter in _LETTERS}
    return deleted | swapped | added | changed
