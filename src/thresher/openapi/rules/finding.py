"""Runs the rules over a description and says of each finding where it stands and what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from thresher.openapi.dialects import schemas_pointer
from thresher.openapi.pointers import join, parent
from thresher.openapi.records import Dialect, Finding, Severity
from thresher.openapi.rules import (
    bodies,
    clarity,
    document,
    examples,
    operations,
    parts,
    paths,
    references,
    safety,
    schemas,
    structure,
)
from thresher.openapi.rules.catalog import ALL, RULES, Kind
from thresher.openapi.rules.hits import Hit
from thresher.openapi.rules.subject import Subject

if TYPE_CHECKING:
    from thresher.openapi.description import Description

ORDER: Final[Mapping[Severity, int]] = {"error": 0, "warning": 1, "info": 2, "hint": 3}
_OLD: Final[tuple[Dialect, ...]] = ("2.0", "3.0")
_THREE: Final[tuple[Dialect, ...]] = ("3.0", "3.1", "3.2")

_CHECKS: Final[tuple[tuple[Callable[[Subject], Iterator[Hit]], tuple[Dialect, ...]], ...]] = (
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
    (paths.check_paths, ALL),
    (paths.check_path_parameters, ALL),
    (schemas.check_enums, ALL),
    (schemas.check_lists, ALL),
    (schemas.check_swagger_schemas, ("2.0",)),
    (schemas.check_attributes, ("3.2",)),
    (references.check_siblings, _OLD),
    (references.check_use, ALL),
    (parts.check_parameter_texts, ALL),
    (parts.check_example_forms, _THREE),
    (parts.check_callbacks, _THREE),
    (parts.check_webhooks, ("3.1", "3.2")),
    (structure.check_structure, ALL),
    (examples.check_examples, ALL),
    (clarity.check_wording, ALL),
    (clarity.check_likeness, ALL),
    (clarity.check_parameter_wording, ALL),
    (bodies.check_bodies, ALL),
    (bodies.check_failures, ALL),
    (safety.check_sign_in, ALL),
    (safety.check_keys, ALL),
    (safety.check_scopes, ALL),
    (safety.check_reading, ALL),
)


def find_problems(
    description: Description,
    *,
    kinds: Collection[Kind] = (),
    min_severity: Severity = "hint",
    operation: str = "",
) -> list[Finding]:
    """What the rules have to say, worst first, then by line.

    Args:
        description: To look at.
        kinds: Only these; all where empty.
        min_severity: The mildest that is kept.
        operation: Key of an operation (`GET /users`): only what belongs to it, to its path, and to what it shares with
            others; all where empty.

    Raises:
        InvalidInput: The description has too many parts to be looked at.
    """
    owners = Owners(description)
    wanted = [
        hit
        for hit in _hits(Subject(description))
        if (not kinds or RULES[hit.rule].kind in kinds)
        and ORDER[RULES[hit.rule].severity] <= ORDER[min_severity]
        and (not operation or owners.concerns(hit, operation))
    ]
    found = [finding_of(description, hit, owners) for hit in wanted]
    return sorted(found, key=lambda each: (ORDER[each.severity], each.place.line, each.rule, each.place.pointer))


def _hits(subject: Subject) -> Iterable[Hit]:
    """Each rule's finding at each place, once."""
    first: dict[tuple[str, str], Hit] = {}
    for check, dialects in _CHECKS:
        if subject.dialect in dialects:
            for hit in check(subject):
                first.setdefault((hit.rule, hit.pointer), hit)
    return first.values()


class Owners:
    """Tells to which operation a place belongs.

    Args:
        description: It.
    """

    def __init__(self, description: Description) -> None:
        self._schemas = schemas_pointer(description.dialect)
        self._keys = {operation.pointer: operation.key for operation in description.operations}
        self._operations = {operation.key: operation for operation in description.operations}

    def of(self, hit: Hit) -> str:
        """The operation's key; empty for what belongs to none."""
        if hit.operation:
            return hit.operation
        pointer = hit.pointer
        while pointer:
            if pointer in self._keys:
                return self._keys[pointer]
            pointer = parent(pointer)
        return ""

    def concerns(self, hit: Hit, key: str) -> bool:
        """Whether a finding belongs to an operation, to its path, or to a part that it shares with others."""
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


def finding_of(description: Description, hit: Hit, owners: Owners | None = None) -> Finding:
    """The finding with its place, and what its rule says of it."""
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
