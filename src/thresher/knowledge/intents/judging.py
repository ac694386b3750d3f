"""One decision: the scores of a message's pieces, by the fitted router or by words, put together.

Invariant: pure; only packs that the caller sees are in a decision, whatever the router was fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.globs import applies
from thresher.knowledge.intents.models import Decision, Pack
from thresher.knowledge.intents.router.deciding import decide
from thresher.knowledge.intents.router.fitted import Fitted
from thresher.knowledge.intents.router.lexicon import score_words
from thresher.knowledge.intents.router.pieces import Pieces
from thresher.knowledge.intents.router.records import TextScores
from thresher.knowledge.intents.router.scoring import score
from thresher.knowledge.intents.training import Lesson


def by_router(
    fitted: Fitted,
    lesson: Lesson,
    pieces: Pieces,
    vectors: Matrix,
    packs: Mapping[str, Pack],
    by_hand: Mapping[str, float],
    files: Sequence[str],
    degraded: str = "",
    *,
    thorough: bool = False,
    others: int | None = None,
) -> Decision:
    """A decision of the fitted router.

    Args:
        fitted: The router.
        lesson: What it was fitted on.
        pieces: Of the message.
        vectors: float32 (texts, dimension), of the pieces' texts.
        packs: Those that the caller sees, by name.
        by_hand: Thresholds that a person set.
        files: Paths that the message is about.
        degraded: Why the decision is weaker than it could be.
        thorough: Tell the nearest line of every intent, also of unlikely ones.
        others: How many intents to tell of besides those that matched or are refused; all unless told.
    """
    found = score(fitted, vectors, pieces.texts, thorough=thorough)
    intents, scores = _seen(lesson.training.intents, found, packs)
    return decide(
        intents,
        fitted.thresholds,
        pieces,
        scores,
        lines=lesson.training.lines,
        by_hand=by_hand,
        applied=applied(packs, files),
        basis=fitted.basis,
        degraded=degraded,
        others=others,
    )


def by_words(
    lesson: Lesson,
    pieces: Pieces,
    packs: Mapping[str, Pack],
    by_hand: Mapping[str, float],
    files: Sequence[str],
    degraded: str,
) -> Decision:
    """A decision by keywords and the words of the training lines alone; arguments as for `by_router`."""
    intents, scores = _seen(lesson.training.intents, score_words(lesson.lexicon, pieces.texts), packs)
    return decide(
        intents,
        lesson.lexicon.thresholds,
        pieces,
        scores,
        lines=lesson.training.lines,
        by_hand=by_hand,
        applied=applied(packs, files),
        basis="words",
        degraded=degraded,
    )


def applied(packs: Mapping[str, Pack], files: Sequence[str]) -> dict[str, str]:
    """The packs whose rules apply whatever the message says, and why."""
    return {
        name: "always" if pack.always else "file"
        for name, pack in packs.items()
        if (pack.always or pack.globs) and applies(pack, files)
    }


def _seen(intents: Sequence[str], scores: TextScores, packs: Mapping[str, Pack]) -> tuple[tuple[str, ...], TextScores]:
    """The scores of the intents that the caller sees: all of them, unless packs went since the fit."""
    kept = [index for index, name in enumerate(intents) if name in packs]
    if len(kept) == len(intents):
        return tuple(intents), scores
    place = {old: new for new, old in enumerate(kept)}
    columns = np.array(kept, np.intp)
    seen = replace(
        scores,
        probability=scores.probability[:, columns],
        score=scores.score[:, columns],
        similarity=scores.similarity[:, columns],
        nearest=scores.nearest[:, columns],
        keywords=tuple(
            {place[index]: words for index, words in text.items() if index in place} for text in scores.keywords
        ),
    )
    return tuple(intents[index] for index in kept), seen
