"""Shared rules: examples and defaults are valid against their schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import jsonschema_rs

from thresher.openapi.pointers import join
from thresher.openapi.records import Json
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.error_order import reported_errors
from thresher.openapi.rules.example_schemas import Direction, ExampleSchemas, UnusableSchema, trivial
from thresher.openapi.rules.subject import RuleSubject, counted, stands

VALUES: Final = 20_000
"""Most values of an example that is checked; real ones have up to 2,300."""
_UNTRIED: Final = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)
"""Errors of a pattern that takes too long; the value counts as unchecked."""
_SCHEMA_LIKE: Final = ("enum", "type", "format", "$ref", "properties", "items")


@dataclass(frozen=True, slots=True)
class _Example:
    """An example and its pointer; `absent` marks an entry without a value."""

    pointer: str
    value: Json
    absent: bool = False


def check_examples(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check the examples of bodies, parameters, headers and schemas."""
    schemas = ExampleSchemas(subject)
    version = "oas2" if subject.swagger else "oas3"
    for node in sorted(_media(subject)):
        fields = subject.tree.mapping(node)
        holder = subject.tree.kids[node].get("schema", -1)
        if holder >= 0 and isinstance(fields["schema"], dict):
            givens = list(_of_media(subject, node, fields))
            yield from _checked(f"{version}-valid-media-example", schemas, holder, givens, _direction(subject, node))
    for node in sorted(_schemas(subject)):
        givens = list(_of_schema(subject, node))
        yield from _checked(f"{version}-valid-schema-example", schemas, node, givens, "")


def _media(subject: RuleSubject) -> set[int]:
    """Return the nodes that have a schema and examples for it."""
    tree = subject.tree
    within = tree.named({"responses"} if subject.swagger else {"content", "headers", "parameters"})
    return {node for node in within if _is_media(tree.mapping(node), swagger=subject.swagger)}


def _is_media(fields: Mapping[str, Json], *, swagger: bool) -> bool:
    given = stands(fields.get("examples")) or (not swagger and "example" in fields)
    return given and isinstance(fields.get("schema"), dict)


def _schemas(subject: RuleSubject) -> set[int]:
    """Return the schemas that have an example or a default."""
    tree = subject.tree
    if subject.swagger:
        within = tree.named({"definitions", "parameters", "responses"})
    else:
        within = tree.named({"content", "headers", "parameters"}) | tree.under([tree.at("/components/schemas")])
    return {
        node
        for node in within
        if tree.keys[node] != "properties"
        and any(name in tree.mapping(node) for name in _names(subject))
        and any(stands(tree.mapping(node).get(key)) for key in _SCHEMA_LIKE)
    }


def _names(subject: RuleSubject) -> tuple[str, ...]:
    return ("example", "x-example", "default") if subject.swagger else ("example", "default")


def _of_schema(subject: RuleSubject, node: int) -> Iterator[_Example]:
    fields = subject.tree.mapping(node)
    for name in _names(subject):
        if name in fields:
            yield _Example(subject.tree.pointer(node, name), fields[name])


def _of_media(subject: RuleSubject, node: int, fields: Mapping[str, Json]) -> Iterator[_Example]:
    tree = subject.tree
    if not subject.swagger and "example" in fields:
        yield _Example(tree.pointer(node, "example"), fields["example"])
        return
    examples = tree.child(node, "examples")
    if examples < 0:
        return
    entries = tree.values[examples]
    items = cast("dict[str | int, Json]", entries).items() if isinstance(entries, dict) else enumerate(entries)
    for name, each in items:
        if subject.swagger:
            yield _Example(tree.pointer(examples, name), each)
            continue
        example = tree.child(examples, name)
        said = tree.mapping(example) if example >= 0 else {}
        if example >= 0 and "externalValue" not in said and not said.keys() & {"dataValue", "serializedValue"}:
            absent = "value" not in said
            pointer = tree.pointer(example) if absent else tree.pointer(example, "value")
            yield _Example(pointer, said.get("value"), absent)


def _direction(subject: RuleSubject, node: int) -> Direction:
    """Return whether a body belongs to a request or a response."""
    if subject.swagger:
        return "response" if _on_way(subject, node, ("responses",)) else ""
    if _on_way(subject, node, ("requestBody", "requestBodies")):
        return "request"
    return "response" if _on_way(subject, node, ("responses",)) else ""


def _on_way(subject: RuleSubject, node: int, names: tuple[str, ...]) -> bool:
    """Return whether a node stands in a body of an operation or of the components, and not deeper."""
    keys: list[str | int] = []
    while node > 0:
        keys.append(subject.tree.keys[node])
        node = subject.tree.parents[node]
    keys.reverse()
    where = 3 if keys[:1] == ["paths"] else 0 if subject.swagger else 1
    return len(keys) > where and keys[where] in names


def _checked(
    rule: str, schemas: ExampleSchemas, node: int, givens: list[_Example], direction: Direction
) -> Iterator[RuleHit]:
    for given in givens:
        if given.absent:
            yield RuleHit(rule, given.pointer, "The example has no value.")
    present = [given for given in givens if not given.absent and counted(given.value, VALUES) <= VALUES]
    if not present:
        return
    try:
        schema = schemas.schema(node, direction)
        if all(trivial(schema, given.value) for given in present):
            return
        validator = schemas.validator(schema)
    except UnusableSchema as unusable:
        if unusable.why:
            for given in present:
                yield RuleHit(rule, given.pointer, f"The example cannot be checked: {clipped(unusable.why)}.")
        return
    for given in present:
        if not validator.is_valid(given.value):
            yield from _errors(rule, schema, given, validator)


def _errors(rule: str, schema: Mapping[str, Any], given: _Example, validator: Any) -> Iterator[RuleHit]:
    errors = [error for error in validator.iter_errors(given.value) if not isinstance(error.kind, _UNTRIED)]
    for error in reported_errors(schema, given.value, errors) if errors else ():
        pointer = join(given.pointer, *error.instance_path)
        yield RuleHit(
            rule, pointer, f"The example is not valid: {clipped(error.message).rstrip('.')}.", clipped(error.instance)
        )
