"""Words that people probably use for a tool, derived from what it says of itself.

A table says which words speak for a term: it was learnt from messages that were written for other tools. The words are
indexed with a small weight, and no tool's own word is among them.

Invariant: pure; the table is read once, when it is first needed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from thresher.search import query_words, terms

TABLE: Final = Path(__file__).with_name("message_words.txt")
"""Written by `python -m training words`: a term, how rare it is, and words with their strength in hundredths."""
MOST_WORDS: Final = 8
"""Words of a tool; 16 with three quarters of the weight found less."""
MOST_QUESTION_WORDS: Final = 16
"""Words of a tool that come from questions, those of most questions first."""
_OFTEN: Final = 3
_NAMED: Final = 2
"""What a word of the name counts beside one of the brief."""


def own_terms(name: str, brief: str) -> Counter[str]:
    """Return how often the terms of a tool's name, as words, and of its brief occur; those of the name count twice."""
    found = Counter({term: _NAMED * count for term, count in Counter(terms(name)).items()})
    found.update(terms(brief))
    return found


def term_weights(counts: Mapping[str, int], rarity: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the terms that are known, with a sum of squares of 1."""
    weights = {term: math.sqrt(min(count, _OFTEN)) * rarity[term] for term, count in counts.items() if term in rarity}
    norm = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {term: weight / norm for term, weight in weights.items()} if norm else {}


def message_words(name: str, brief: str, own: Collection[str]) -> tuple[str, ...]:
    """Return words that people probably use for a tool, most probable first.

    Args:
        name: The tool's own name, as words.
        brief: Its server, name, first sentence and parameters.
        own: Terms that it has anyway.
    """
    rarity, spoken, stems = _table()
    strength: Counter[str] = Counter()
    for term, weight in term_weights(own_terms(name, brief), rarity).items():
        for word, share in spoken[term]:
            strength[word] += weight * share  # pyright: ignore[reportArgumentType] - a counter of floats
    best = sorted(strength, key=lambda word: (-strength[word], word))
    return tuple(word for word in best if stems[word] not in own)[:MOST_WORDS]


def question_words(questions: Sequence[str], own: Collection[str]) -> tuple[str, ...]:
    """Return the words of a tool's questions that it lacks, those of most questions first.

    Args:
        questions: Messages that a model wrote for it.
        own: Terms that it has anyway.
    """
    words: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for one in questions:
        found = query_words(one)
        counts.update(term for term in found if term not in own)
        words = found | words
    return tuple(words[term] for term, _ in counts.most_common(MOST_QUESTION_WORDS))


@cache
def _table() -> tuple[dict[str, float], dict[str, tuple[tuple[str, float], ...]], dict[str, str]]:
    """The rarity of terms, the words that speak for them with their strength, and the terms of the words."""
    rarity: dict[str, float] = {}
    spoken: dict[str, tuple[tuple[str, float], ...]] = {}
    stems: dict[str, str] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        term, rare, *listed = line.split()
        pairs = (entry.rpartition(":") for entry in listed)
        spoken[term] = tuple((word, int(hundredths) / 100) for word, _, hundredths in pairs)
        rarity[term] = float(rare)
        stems |= {word: terms(word)[0] for word, _ in spoken[term] if word not in stems}
    return rarity, spoken, stems
