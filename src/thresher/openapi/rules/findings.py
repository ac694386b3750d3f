"""Runs the rules on a description, locates their findings, and computes scores from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thresher.openapi.pointers import join, parent
from thresher.openapi.reader.context import schemas_pointer
from thresher.openapi.records import Dialect, Finding, Score, Severity
from thresher.openapi.rules import document, examples, operations, requests, schemas, structure, wording
from thresher.openapi.rules.catalog import ALL, RULES, Kind, RuleHit
from thresher.openapi.rules.subject import RuleSubject

if TYPE_CHECKING:
    from thresher.openapi.reader.description import Description

WEIGHTS: Final[Mapping[Severity, int]] = {"error": 10, "warning": 4, "info": 2, "hint": 1}
HALF: Final = 20
"""Points per operation that halve the score."""


@dataclass(frozen=True, slots=True)
class DescriptionScores:
    """Scores of one description.

    Attributes:
        whole: Of the whole description.
        per_tag: By tag, over its operations.
        per_operation: By key (`GET /users`).
    """

    whole: Score
    per_tag: Mapping[str, Score]
    per_operation: Mapping[str, Score]


def score(findings: Iterable[Finding], description: Description) -> DescriptionScores:
    """Return the scores that follow from findings.

    Each finding has the points of its severity. The score `100 x 20 / (20 + points per operation)` falls with each
    finding and rises with each fix.

    Args:
        findings: All findings; a partial list gives a score that is too high.
        description: The description that they belong to.
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
    return DescriptionScores(
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


if TYPE_CHECKING:
    from thresher.openapi.reader.description import Description

ORDER: Final[Mapping[Severity, int]] = {"error": 0, "warning": 1, "info": 2, "hint": 3}
_OLD: Final[tuple[Dialect, ...]] = ("2.0", "3.0")
_THREE: Final[tuple[Dialect, ...]] = ("3.0", "3.1", "3.2")

_CHECKS: Final[tuple[tuple[Callable[[RuleSubject], Iterator[RuleHit]], tuple[Dialect, ...]], ...]] = (
    (document.check_info, ALL),
    (document.check_tags, ALL),
    (document.check_host, ("2.0",)),
    (document.check_servers, _THREE),
    (document.check_server_variables, ALL),
    (document.check_markdown, ALL),
    (operations.check_operations, ALL),
    (operations.check_parameters, ALL),
    (operations.check_identifiers, ALL),
    (operations.check_tag_use, ALL),
    (operations.check_security_names, ALL),
    (operations.check_paths, ALL),
    (operations.check_path_parameters, ALL),
    (schemas.check_enums, ALL),
    (schemas.check_lists, ALL),
    (schemas.check_swagger_schemas, ("2.0",)),
    (schemas.check_attributes, ("3.2",)),
    (schemas.check_siblings, _OLD),
    (schemas.check_use, ALL),
    (operations.check_parameter_texts, ALL),
    (operations.check_example_forms, _THREE),
    (operations.check_callbacks, _THREE),
    (operations.check_webhooks, ("3.1", "3.2")),
    (structure.check_structure, ALL),
    (examples.check_examples, ALL),
    (wording.check_wording, ALL),
    (wording.check_likeness, ALL),
    (wording.check_parameter_wording, ALL),
    (requests.check_bodies, ALL),
    (requests.check_failures, ALL),
    (requests.check_sign_in, ALL),
    (requests.check_keys, ALL),
    (requests.check_scopes, ALL),
    (document.check_reading, ALL),
)


def find_problems(
    description: Description,
    *,
    kinds: Collection[Kind] = (),
    min_severity: Severity = "hint",
    operation: str = "",
) -> list[Finding]:
    """Return the findings of all rules, most severe first, then by line.

    Args:
        description: The description to check.
        kinds: Kinds to return; all if empty.
        min_severity: The mildest severity to return.
        operation: Key of an operation (`GET /users`): only findings in it, in its path, and in parts that it shares
            with others; all if empty.

    Raises:
        InvalidInput: The description has too many parts to check.
    """
    owners = Owners(description)
    wanted = [
        hit
        for hit in _hits(RuleSubject(description))
        if (not kinds or RULES[hit.rule].kind in kinds)
        and ORDER[RULES[hit.rule].severity] <= ORDER[min_severity]
        and (not operation or owners.concerns(hit, operation))
    ]
    found = [finding_of(description, hit, owners) for hit in wanted]
    return sorted(found, key=lambda each: (ORDER[each.severity], each.place.line, each.rule, each.place.pointer))


def _hits(subject: RuleSubject) -> Iterable[RuleHit]:
    """Return one hit per rule and place."""
    first: dict[tuple[str, str], RuleHit] = {}
    for check, dialects in _CHECKS:
        if subject.dialect in dialects:
            for hit in check(subject):
                first.setdefault((hit.rule, hit.pointer), hit)
    return first.values()


class Owners:
    """Assigns places to operations.

    Args:
        description: The description.
    """

    def __init__(self, description: Description) -> None:
        self._schemas = schemas_pointer(description.dialect)
        self._keys = {operation.pointer: operation.key for operation in description.operations}
        self._operations = {operation.key: operation for operation in description.operations}

    def of(self, hit: RuleHit) -> str:
        """Return the key of the operation that a hit belongs to; empty if it belongs to none."""
        if hit.operation:
            return hit.operation
        pointer = hit.pointer
        while pointer:
            if pointer in self._keys:
                return self._keys[pointer]
            pointer = parent(pointer)
        return ""

    def concerns(self, hit: RuleHit, key: str) -> bool:
        """Return whether a hit belongs to an operation, its path, or a part that it shares with others."""
        owner = self.of(hit)
        if owner or key not in self._operations:
            return owner == key
        operation = self._operations[key]
        if hit.pointer == parent(operation.pointer):
            return True
        shared = [each.pointer for each in (*operation.parameters, *operation.responses)]
        shared += [join(self._schemas, name) for name in operation.schemas]
        shared += [operation.body.pointer] if operation.body else []
        return any(hit.pointer == place or hit.pointer.startswith(f"{place}/") for place in shared if place)


def finding_of(description: Description, hit: RuleHit, owners: Owners | None = None) -> Finding:
    """Return the finding for a hit, with its location and the texts of its rule."""
    rule = RULES[hit.rule]
    return Finding(
        rule=rule.id,
        kind=rule.kind,
        severity=rule.severity,
        message=hit.message,
        place=description.place(hit.pointer),
        why=rule.why,
        fix=rule.fix,
        evidence=hit.evidence,
        operation=(owners or Owners(description)).of(hit),
    )
