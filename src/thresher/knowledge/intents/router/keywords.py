"""Names of things in an intent's domain: which of them a text holds.

Invariant: pure; words are compared as the index compares them (case, plural and camelCase make no difference).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from thresher.search import terms

Phrase: TypeAlias = tuple[str, ...]
_LONGEST = 6
"""Terms of the longest keyword that is looked for."""


@dataclass(frozen=True, slots=True)
class Keywords:
    """Keywords ready to be looked up.

    Attributes:
        owners: Index terms of a keyword to the intents that have it, each with the keyword as written.
        longest: Terms of the longest.
    """

    owners: Mapping[Phrase, tuple[tuple[int, str], ...]] = field(
        default_factory=dict[Phrase, "tuple[tuple[int, str], ...]"]
    )
    longest: int = 0

    def found(self, text: str) -> dict[int, tuple[str, ...]]:
        """Intent index to the keywords of it that a text holds, in the text's order."""
        if not self.owners:
            return {}
        words = terms(text)
        held: dict[int, list[str]] = {}
        for start in range(len(words)):
            for stop in range(start + 1, min(start + self.longest, len(words)) + 1):
                for intent, keyword in self.owners.get(tuple(words[start:stop]), ()):
                    if keyword not in held.setdefault(intent, []):
                        held[intent].append(keyword)
        return {intent: tuple(found) for intent, found in held.items()}


def keywords_of(by_intent: Sequence[Sequence[str]]) -> Keywords:
    """Make the keywords of all intents ready; those of stop words alone, and longer than six terms, are left out."""
    owners: dict[Phrase, list[tuple[int, str]]] = {}
    for intent, words in enumerate(by_intent):
        for word in dict.fromkeys(words):
            phrase = tuple(terms(word))
            if 0 < len(phrase) <= _LONGEST:
                owners.setdefault(phrase, []).append((intent, word))
    return Keywords({phrase: tuple(named) for phrase, named in owners.items()}, max(map(len, owners), default=0))
