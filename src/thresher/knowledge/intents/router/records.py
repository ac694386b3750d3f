"""The router's input and output: training lines, everyday messages, and the scores of texts.

Invariant: values only; arrays are read-only once made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.embedding import Matrix

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]


def read_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text file, trimmed and distinct, without blank ones and those that begin with #."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


EVERYDAY: Final = read_lines(Path(__file__).with_name("everyday.txt").read_text(encoding="utf-8"))
"""Messages that want none of a team's rules - small talk, questions about the world, writing, programming in general -
against which the probability of "any intent" is measured. They are embedded like training lines."""


@dataclass(frozen=True, slots=True)
class SkillText:
    """What a skill without training lines of its own says of itself.

    Attributes:
        gist: Its name and the beginning of its description.
        passages: Its rules in pieces, at least one.
        words: Index terms to how often all its texts hold them.
    """

    gist: str
    passages: tuple[str, ...]
    words: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Training:
    """Lines to fit on.

    Attributes:
        intents: Names: those with training lines of their own, sorted, then the skills, sorted.
        lines: Training lines.
        labels: int32 (lines,), each line's intent as an index of `intents`.
        negatives: Near-miss lines.
        negative_labels: int32 (negatives,), the intent that each is *not*.
        keywords: For each intent, names of things in its domain.
        skills: Of the last intents, whose lines are those of a description.
    """

    intents: tuple[str, ...]
    lines: tuple[str, ...]
    labels: Numbers
    negatives: tuple[str, ...]
    negative_labels: Numbers
    keywords: tuple[tuple[str, ...], ...]
    skills: tuple[SkillText, ...] = ()

    @property
    def views(self) -> tuple[str, ...]:
        """The texts of skills that are embedded: all gists, then all passages."""
        return (*(skill.gist for skill in self.skills), *(text for skill in self.skills for text in skill.passages))


def _nothing() -> Matrix:
    return np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embeddings of a `Training`, each text with the model's query prefix; rows of length 1.

    Messages are embedded with that prefix too: so the search for tools and the router share the embedding of a message,
    and the head loses nothing by it (decision 0012).

    Attributes:
        lines: float32 (lines, dimension).
        negatives: float32 (negatives, dimension).
        background: float32 (n, dimension), of `EVERYDAY`; without it thresholds rest on the lines only.
        views: float32 (views, dimension), of `Training.views`.
    """

    lines: Matrix
    negatives: Matrix
    background: Matrix = field(default_factory=_nothing)
    views: Matrix = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class TextScores:
    """The fitted router's results for some texts.

    Attributes:
        probability: float32 (texts, intents): which intent, given that it is one. Rows sum to 1.
        score: float32 (texts, intents), calibrated probability that the text asks for the intent at all.
        similarity: float32 (texts, intents), fitted similarity, 0 to 1.
        nearest: int32 (texts, intents), index of the nearest training line of each intent; -1 without one.
        keywords: For each text, intent index to the keywords of it that the text holds.
    """

    probability: Floats
    score: Floats
    similarity: Floats
    nearest: Numbers
    keywords: tuple[dict[int, tuple[str, ...]], ...]
