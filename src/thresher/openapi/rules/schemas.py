"""Shared rules for schemas and references, wherever they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, cast

from thresher.openapi.pointers import pointer_of
from thresher.openapi.records import Json
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.subject import RuleSubject, look, stands, text_of
from thresher.openapi.rules.tree import Tree
from thresher.openapi.schemas import mapped

_KINDS: Final = ("schemas", "responses", "parameters", "examples", "requestBodies", "headers", "links", "callbacks")


def check_siblings(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that nothing stands beside a reference in versions that ignore it."""
    tree = subject.tree
    for node, value in enumerate(tree.values):
        fields = mapped(value)
        if "$ref" in fields and len(fields) > 1:
            for key in fields:
                if key != "$ref":
                    message = f"{key!r} stands beside a reference, where it is ignored."
                    yield RuleHit("no-$ref-siblings", tree.pointer(node, key), message, clipped(fields["$ref"]))


def _referenced(tree: Tree) -> Iterator[str]:
    """Yield the pointers that references name, except references to a container of their own."""
    for node, ref in tree.references.items():
        pointer = pointer_of(ref)
        if pointer is not None:
            here = tree.pointer(node)
            if here != pointer and not here.startswith(f"{pointer}/"):
                yield pointer


def check_use(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that every component is referenced."""
    tree = subject.tree
    named = set(_referenced(tree))
    if subject.swagger:
        homes = [("oas2-unused-definition", ("definitions",))]
    else:
        homes = [("oas3-unused-component", ("components", kind)) for kind in _KINDS]
    for rule, keys in homes:
        node = tree.at("".join(f"/{key}" for key in keys))
        for name in tree.mapping(node) if node >= 0 else ():
            pointer = tree.pointer(node, name)
            if pointer not in named:
                yield RuleHit(rule, pointer, "It is never referenced.", name)


_TYPES: Final[Mapping[type, str]] = {str: "string", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def check_enums(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that enum values have the declared type and are unique."""
    tree = subject.tree
    for node in tree.alive:
        value = tree.values[node]
        if not isinstance(value, dict) or not isinstance(look(value, "enum"), list):
            continue
        fields = cast("dict[str, Json]", value)
        allowed = cast("list[Json]", fields["enum"])
        if tree.keys[node] != "properties" and (doubled := _first_duplicate(allowed)) is not None:
            message = "A value is listed twice."
            yield RuleHit("duplicated-entry-in-enum", tree.pointer(node, "enum"), message, clipped(allowed[doubled]))
        types = _types(subject, fields)
        for place, each in enumerate(allowed) if types else ():
            if _type(each, integer="integer" in types) not in types:
                message = f"The value is not of the type {' or '.join(types)}."
                yield RuleHit("typed-enum", tree.pointer(node, "enum", place), message, clipped(each))


def _first_duplicate(values: list[Json]) -> int | None:
    """Return the index of the first value that repeats an earlier one."""
    seen: set[Hashable] = set()
    for place, value in enumerate(values):
        shape = comparable(value)
        if shape in seen:
            return place
        seen.add(shape)
    return None


def comparable(value: Json) -> Hashable:
    """Return a key that is equal for values that JSON considers equal."""
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value).items()
        return ("mapping", frozenset((key, comparable(each)) for key, each in entries))
    if isinstance(value, list):
        return ("list", tuple(comparable(each) for each in cast("list[Json]", value)))
    return (isinstance(value, bool), value)


def _types(subject: RuleSubject, fields: Mapping[str, Json]) -> list[str]:
    said = fields.get("type")
    if isinstance(said, str):
        types = [said] if said else []
    elif isinstance(said, list) and all(isinstance(each, str) for each in cast("list[Json]", said)):
        types = list(cast("list[str]", said))
    else:
        return []
    null = {"2.0": "x-nullable", "3.0": "nullable"}.get(subject.dialect, "")
    return [*types, "null"] if fields.get(null) is True and types else types


def _type(value: Json, *, integer: bool) -> str:
    known = next((name for kind, name in _TYPES.items() if isinstance(value, kind)), None)
    if known is not None:
        return known
    return "integer" if integer and float(value).is_integer() else "number"


def check_lists(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that arrays declare their items."""
    tree = subject.tree
    new = subject.dialect in {"3.1", "3.2"}
    for node, value in enumerate(tree.values):
        if node == 0 or not isinstance(value, dict):
            continue
        fields = cast("dict[str, Json]", value)
        said = fields.get("type")
        several = isinstance(said, list) and (said == ["array"] or (new and "array" in cast("list[Json]", said)))
        if (said == "array" or several) and not stands(fields.get("items")):
            pointer = tree.pointer(node, "items") if "items" in fields else tree.pointer(node)
            yield RuleHit("array-items", pointer, "The array does not declare its items.")


def check_swagger_schemas(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check keywords that Swagger 2.0 lacks, and its discriminators."""
    tree = subject.tree
    for node in tree.alive:
        value = tree.values[node]
        if isinstance(value, dict):
            for key in ("anyOf", "oneOf"):
                if key in value:
                    yield RuleHit(f"oas2-{key}", tree.pointer(node, key), f"Swagger 2.0 has no `{key}`.")
    for _, node in tree.children(tree.child(0, "definitions")):
        fields = tree.mapping(node)
        name = text_of(fields.get("discriminator"))
        if not name:
            continue
        if name not in mapped(fields.get("properties")):
            pointer = tree.pointer(node, "properties") if "properties" in fields else tree.pointer(node)
            yield RuleHit("oas2-discriminator", pointer, f"The discriminator {name!r} is not a property.", name)
        required = fields.get("required")
        if not isinstance(required, list) or name not in cast("list[Json]", required):
            pointer = tree.pointer(node, "required") if "required" in fields else tree.pointer(node)
            yield RuleHit("oas2-discriminator", pointer, f"The discriminator {name!r} is not required.", name)


def check_attributes(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check `xml.attribute`, which OpenAPI 3.2 renamed."""
    tree = subject.tree
    for node in tree.alive:
        xml = look(tree.values[node], "xml")
        if look(xml, "attribute") is True:
            message = "OpenAPI 3.2 says `nodeType: attribute` for this."
            yield RuleHit("oas3_2-no-deprecated-xml-attribute", tree.pointer(node, "xml"), message)
