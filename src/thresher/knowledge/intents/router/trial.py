"""A router outside of the product: fitted on given lines, asked for given texts; evaluations measure with it.

Invariant: pure, with the same steps as the product's own decisions; nothing is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.router.decision import decide
from thresher.knowledge.intents.router.fitted import Fitted, score
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.pieces import Pieces, pieces_of
from thresher.knowledge.intents.router.records import EVERYDAY, Training, Vectors

BACKGROUND: Final = EVERYDAY
"""Messages outside every team's rules; their vectors are part of every fit."""


@dataclass(frozen=True, slots=True)
class LabelledLines:
    """Training lines with their vectors.

    Attributes:
        texts: The lines.
        intents: Of each; empty for a message that asks for none of them.
        vectors: float32 (lines, dimension), rows of length 1, embedded with the model's query prefix.
    """

    texts: tuple[str, ...]
    intents: tuple[str, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial for one message.

    Attributes:
        decision: As the product decides, with all scores.
        best: The best intent of the whole message, whatever the thresholds.
        score: Its score, 0 to 1.
    """

    decision: Decision
    best: str
    score: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A fitted router and the lines that it was fitted on."""

    fitted: Fitted
    lines: tuple[str, ...]

    def judge(self, pieces: Pieces, vectors: Matrix) -> TrialResult:
        """Decide about a message.

        Args:
            pieces: From `pieces_of`.
            vectors: float32 (texts, dimension), of the pieces' texts, embedded like the lines.
        """
        scores = score(self.fitted, vectors, pieces.texts)
        made = decide(
            self.fitted.intents,
            self.fitted.thresholds,
            pieces,
            scores,
            lines=self.lines,
            basis=self.fitted.basis,
        )
        if not pieces.texts:  # nothing but code, which is not judged
            return TrialResult(made, "", 0.0)
        best = int(np.argmax(scores.score[0]))
        return TrialResult(made, self.fitted.intents[best], float(scores.score[0, best]))


def fit_trial(lines: LabelledLines, background: Matrix) -> Trial:
    """Fit a router on lines.

    Args:
        lines: At least one of them with an intent.
        background: float32 (n, dimension), of `BACKGROUND`.
    """
    lines = _distinct(lines)
    names = tuple(sorted({name for name in lines.intents if name}))
    number = {name: place for place, name in enumerate(names)}
    inside = np.array([bool(name) for name in lines.intents], np.bool_)
    labels = np.array([number[name] for name in lines.intents if name], np.int32)
    known, other = lines.vectors[inside], lines.vectors[~inside]
    texts = tuple(text for text, name in zip(lines.texts, lines.intents, strict=True) if name)
    others = tuple(text for text, name in zip(lines.texts, lines.intents, strict=True) if not name)
    training = Training(
        intents=names,
        lines=texts,
        labels=labels,
        negatives=others,
        negative_labels=_nearest(known, labels, other),
        keywords=tuple(() for _ in names),
    )
    return Trial(fit(training, Vectors(known, other, background)), texts)


def _distinct(lines: LabelledLines) -> LabelledLines:
    """Return each line once, as in a pack: a held-out line with a double would be known already."""
    first: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(lines.texts, lines.intents, strict=True)):
        first.setdefault(pair, row)
    rows = list(first.values())
    return LabelledLines(
        tuple(lines.texts[row] for row in rows), tuple(lines.intents[row] for row in rows), lines.vectors[rows]
    )


def _nearest(known: Matrix, labels: np.ndarray, other: Matrix) -> np.ndarray:
    """Take a message that asks for none as a near miss of the intent with the most similar line; int32 (messages,)."""
    if not len(other):
        return np.empty(0, np.int32)
    return labels[np.argmax(other @ known.T, axis=1)].astype(np.int32)


__all__ = ["BACKGROUND", "LabelledLines", "Pieces", "Trial", "TrialResult", "fit_trial", "pieces_of"]
