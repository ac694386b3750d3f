"""How good a description is: a number that never falls when a finding is mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thresher.openapi.records import Finding, Score, Severity

if TYPE_CHECKING:
    from thresher.openapi.description import Description

WEIGHTS: Final[Mapping[Severity, int]] = {"error": 10, "warning": 4, "info": 2, "hint": 1}
HALF: Final = 20
"""Points of one operation that halve its score."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one description.

    Attributes:
        whole: Of all of it, with what belongs to no operation.
        per_tag: Tag to score of its operations.
        per_operation: Key (`GET /users`) to score.
    """

    whole: Score
    per_tag: Mapping[str, Score]
    per_operation: Mapping[str, Score]


def score(findings: Iterable[Finding], description: Description) -> Scores:
    """The scores that findings leave.

    Each finding has the points of its severity; `100 x 20 / (20 + points an operation)` falls with each, and rises with
    each that is mended.

    Args:
        findings: All of them; the score is only as true as they are complete.
        description: What they were found in.
    """
    everything: dict[Severity, int] = {}
    of_operation: dict[str, dict[Severity, int]] = {}
    for finding in findings:
        _count(everything, finding.severity)
        if finding.operation:
            _count(of_operation.setdefault(finding.operation, {}), finding.severity)
    keys = list(dict.fromkeys(operation.key for operation in description.operations))
    tags: dict[str, list[str]] = {}
    for operation in description.operations:
        for tag in operation.tags:
            tags.setdefault(tag, []).append(operation.key)
    return Scores(
        _score(everything, len(keys)),
        {tag: _score(_sum(of_operation, members), len(members)) for tag, members in tags.items()},
        {key: _score(of_operation.get(key, {}), 1) for key in keys},
    )


def _count(counts: dict[Severity, int], severity: Severity, more: int = 1) -> None:
    counts[severity] = counts.get(severity, 0) + more


def _sum(of_operation: Mapping[str, Mapping[Severity, int]], keys: Sequence[str]) -> dict[Severity, int]:
    total: dict[Severity, int] = {}
    for key in keys:
        for severity, count in of_operation.get(key, {}).items():
            _count(total, severity, count)
    return total


def _score(counts: Mapping[Severity, int], operations: int) -> Score:
    points = sum(WEIGHTS[severity] * count for severity, count in counts.items())
    each = points / max(operations, 1)
    value = int(100 * HALF / (HALF + each))
    listed = " + ".join(
        f"{count} {severity} x {WEIGHTS[severity]}" for severity in WEIGHTS if (count := counts.get(severity, 0))
    )
    shared = f" over {operations} operations = {each:.2f}" if operations > 1 else ""
    return Score(value, f"100 x {HALF} / ({HALF} + {each:.2f}) = {value}; points: {listed or 'none'}{shared}")
