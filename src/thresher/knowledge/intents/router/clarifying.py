"""The question to ask when two intents lie too close together.

Invariant: plain text work; a training line is quoted, never obeyed.
"""

from __future__ import annotations

from typing import Final

from thresher.knowledge.intents.models import IntentScore

MARGIN: Final = 0.15
"""Scores this close do not say which of two intents is meant."""
LEAST: Final = 0.5
"""A pair is worth a question from this share of the threshold on."""
_LONGEST_LINE: Final = 80


def close(first: IntentScore, second: IntentScore) -> bool:
    """Whether a person should be asked which of two intents, the better one first, is meant."""
    near = first.score - second.score < MARGIN
    return near and all(one.score >= LEAST * one.threshold for one in (first, second))


def question(first: IntentScore, second: IntentScore) -> str:
    """A question that names both intents, each with the training line that is nearest to the message."""
    return f"Do you mean {_named(first)} or {_named(second)}?"


def _named(score: IntentScore) -> str:
    line = " ".join(score.best_line.split())
    if not line:
        return score.intent
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE - 1].rstrip()}…"
    return f'{score.intent} (as in "{line}")'
