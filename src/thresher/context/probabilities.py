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
    TOOLS: {"": -1.37, TOOLS: 1.09, PASSAGES: -0.17, "endpoints named": -1.47, "rules": -0.98, "apis": -1.34},
    PASSAGES: {"": -0.44, PASSAGES: 1.51, TOOLS: -0.41, "endpoints named": -0.38},
    ENDPOINTS: {"": -1.84, ENDPOINTS: 1.78, "endpoints named": 2.71, "apis": 4.05, TOOLS: -0.12, SCHEMAS: -0.14},
    SCHEMAS: {"": -2.83, SCHEMAS: 1.24, "schemas named": 2.0, "databases": 3.91, TOOLS: -0.8, PASSAGES: -0.19},
}
"""Weights of the constant and of each feature (`features`), by kind: logistic regression, `benchmarks.fits context`."""


def features(evidence: Mapping[str, Evidence], rules: Mapping[str, float]) -> dict[str, float]:
    """Return what the heads read.

    Args:
        evidence: Of each kind that was searched.
        rules: The score of each pack whose rules the message gets.

    Returns:
        For each kind the log odds that its best find fits, with ` named` 1 or 0; the scores of the packs of kinds; and
        under `rules` the best score of another pack.
    """
    values: dict[str, float] = {"": 1.0}
    for kind in HEADS:
        own = evidence.get(kind, Evidence())
        values[kind] = _log_odds(own.fits)
        values[f"{kind} named"] = float(own.named)
    values |= {pack: rules.get(pack, 0.0) for pack in RULED.values()}
    values["rules"] = max((score for pack, score in rules.items() if pack not in RULED.values()), default=0.0)
    return values


def probabilities(evidence: Mapping[str, Sequence[Evidence]], rules: Mapping[str, float]) -> dict[str, float]:
    """Return the probability, 0 to 1, that a message needs each kind that was searched.

    Args:
        evidence: Of each kind that was searched, for each task of the message.
        rules: The score of each pack whose rules the message gets.

    Returns:
        That of the task for which it is greatest. Which of several tasks rules belong to is not known, so only those
        of a kind count then, and for that kind.
    """
    tasks = max(map(len, evidence.values()), default=0)
    found = dict.fromkeys(evidence, 0.0)
    for place in range(tasks):
        here = {kind: one[place] for kind, one in evidence.items() if place < len(one)}
        for kind, own in here.items():
            counted = rules if tasks == 1 else {pack: rules[pack] for pack in rules if pack == RULED.get(kind)}
            values = features(here, counted)
            total = sum(weight * values[name] for name, weight in HEADS[kind].items())
            found[kind] = max(found[kind], 1.0 / (1.0 + math.exp(-total)) if own.fits > 0 else 0.0)
    return found


def _log_odds(probability: float) -> float:
    chance = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(chance / (1.0 - chance))
