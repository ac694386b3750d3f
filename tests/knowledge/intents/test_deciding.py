"""From scored pieces to the intents that a message asks for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.router.deciding import decide
from thresher.knowledge.intents.router.pieces import pieces_of
from thresher.knowledge.intents.router.records import TextScores

INTENTS: tuple[str, ...] = ("git", "relations", "value-lists")
LINES = ("commit my work", "relate orders to customers", "a list of countries to choose from")
THRESHOLDS: dict[str, float] = dict.fromkeys(INTENTS, 0.5)


def scored(*rows: tuple[float, float, float]) -> TextScores:
    """Scores of texts, one row each."""
    score = np.array(rows, np.float32).reshape(-1, len(INTENTS))
    nearest = np.tile(np.arange(len(INTENTS), dtype=np.int32), (len(score), 1))
    return TextScores(score, score, score, nearest, tuple({} for _ in rows))


def decided(
    message: str, table: Mapping[str, tuple[float, float, float]], by_hand: Mapping[str, float] | None = None
) -> Decision:
    """A decision with the scores that a table gives to texts; a text that it does not hold scores nothing."""
    pieces = pieces_of(message)
    scores = scored(*(table.get(text, (0.01, 0.01, 0.01)) for text in pieces.texts))
    return decide(INTENTS, THRESHOLDS, pieces, scores, lines=LINES, by_hand=by_hand)


def test_two_tasks_match_two_intents() -> None:
    """Each task of a message brings the rules of its own intent."""
    decision = decided(
        "commit my work and relate orders to customers",
        {
            "commit my work and relate orders to customers": (0.5, 0.45, 0.02),
            "commit my work": (0.95, 0.01, 0.01),
            "relate orders to customers": (0.01, 0.95, 0.02),
        },
    )

    assert {row.intent for row in decision.matched} == {"git", "relations"}
    assert decision.clauses[1:] == ("commit my work", "relate orders to customers")


def test_a_task_that_holds_an_and_stays_whole() -> None:
    """A message is not cut where its parts say less than the whole."""
    decision = decided(
        "relate orders and customers",
        {
            "relate orders and customers": (0.01, 0.95, 0.02),
            "relate orders": (0.01, 0.8, 0.1),
            "customers": (0.01, 0.1, 0.3),
        },
    )

    assert [row.intent for row in decision.matched] == ["relations"]
    assert decision.clauses == ("relate orders and customers",)


def test_a_threshold_set_by_hand_goes_before_the_fitted_one() -> None:
    """What a person sets is obeyed."""
    decision = decided("commit my work", {"commit my work": (0.7, 0.1, 0.1)}, by_hand={"git": 0.9})

    assert decision.passes_through
    assert decision.scores[0].threshold == 0.9


def test_a_blank_message_passes_through() -> None:
    """Nothing is asked, so nothing fits."""
    assert decided("  \n", {}).passes_through
