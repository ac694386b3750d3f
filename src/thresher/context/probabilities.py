"""How probably a message needs each kind: one scale for searches whose own scores mean different things.

A kind's own search says how well its best find fits. That alone does not make a passage comparable with a tool: a
question that a document answers fits some tool half as well. So each kind has a head that reads the evidence of all.

Invariant: pure; a kind without anything found has probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

TOOLS, PASSAGES, ENDPOINTS, SCHEMAS = "tools", "passages", "endpoints", "schemas"
RULED: Final = {PASSAGES: "documents", ENDPOINTS: "apis", SCHEMAS: "databases"}
"""The built-in pack whose rules are those of a kind."""
_LEAST: Final = 0.01
"""A probability of a search counts as at least this, and as at most 1 less it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a kind's own search says about a message.

    Attributes:
        fits: The probability, 0 to 1, that the best find fits; 0 if there is none.
        named: Whether the message names where to look: an API, a connection.
    """

    fits: float = 0.0
    named: bool = False


HEADS: Final[Mapping[str, Mapping[str, float]]] = {
    TOOLS: {
        "": -1.03,
        TOOLS: 1.03,
        PASSAGES: -0.16,
        "endpoints named": -2.77,
        "schemas named": -0.92,
        "rules": -1.13,
        "apis": -3.5,
        "databases": -2.21,
    },
    PASSAGES: {
        "": -8.03,
        PASSAGES: 1.98,
        TOOLS: -0.28,
        "endpoints named": -1.02,
        "schemas named": -2.34,
        "rules": -2.36,
        "chat": -1.41,
    },
    ENDPOINTS: {
        "": -3.98,
        ENDPOINTS: 1.68,
        "endpoints named": 4.22,
        "apis": 3.89,
        SCHEMAS: -0.21,
        "rules": -1.63,
        "chat": -0.39,
    },
    SCHEMAS: {
        "": -1.88,
        SCHEMAS: 1.23,
        "schemas named": 3.75,
        "databases": 4.53,
        TOOLS: -0.5,
        "endpoints named": -1.2,
        "chat": -0.03,
    },
}
"""Weights of the constant and of each feature (`features`), by kind: logistic regression, `benchmarks.fits context`."""


def features(evidence: Mapping[str, Evidence], rules: Mapping[str, float], chat: float) -> dict[str, float]:
    """Return what the heads read.

    Args:
        evidence: Of each kind that was searched.
        rules: The score of each pack whose rules the message gets.
        chat: The log odds that the message is small talk.

    Returns:
        For each kind the log odds that its best find fits, with ` named` 1 or 0; the scores of the packs of kinds;
        under `rules` the best score of another pack; and `chat`.
    """
    values: dict[str, float] = {"": 1.0}
    for kind in HEADS:
        own = evidence.get(kind, Evidence())
        values[kind] = _log_odds(own.fits)
        values[f"{kind} named"] = float(own.named)
    values |= {pack: rules.get(pack, 0.0) for pack in RULED.values()}
    values["chat"] = chat
    values["rules"] = max((score for pack, score in rules.items() if pack not in RULED.values()), default=0.0)
    return values


def probabilities(
    evidence: Mapping[str, Sequence[Evidence]], rules: Mapping[str, float], chat: float
) -> dict[str, tuple[float, ...]]:
    """Return the probability, 0 to 1, that each task of a message needs each kind that was searched.

    Args:
        evidence: Of each kind that was searched, for each task of the message.
        rules: The score of each pack whose rules the message gets. Which of several tasks they belong to is not known,
            so then they say nothing against a kind.
        chat: The log odds that the message is small talk.
    """
    found: dict[str, list[float]] = {kind: [] for kind in evidence}
    for place in range(max(map(len, evidence.values()), default=0)):
        here = {kind: one[place] for kind, one in evidence.items() if place < len(one)}
        for kind, own in here.items():
            values = features(here, rules, chat)
            if len(evidence[kind]) > 1:
                values |= {name: 0.0 for name in (*RULED.values(), "rules") if name != RULED.get(kind)}
            total = sum(weight * values[name] for name, weight in HEADS[kind].items())
            found[kind].append(1.0 / (1.0 + math.exp(-total)) if own.fits > 0 else 0.0)
    return {kind: tuple(chances) for kind, chances in found.items()}


def _log_odds(probability: float) -> float:
    chance = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(chance / (1.0 - chance))
