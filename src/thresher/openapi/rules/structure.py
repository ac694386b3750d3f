"""The structure of the whole document, checked against the JSON Schema of its specification version."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import jsonschema_rs

from thresher.openapi.pointers import join
from thresher.openapi.records import Dialect, Json
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.subject import RuleSubject, counted, look
from thresher.openapi.schemas import mapped

MOST: Final = 500
"""Most findings of this rule in one description."""
PART: Final = 20_000
"""Most values in one part; real operations with everything of their path have up to 2,400."""
_BACKTRACKS: Final = 100_000
_META: Final = "https://json-schema.org/draft/2020-12/schema"
"""Meta-schema for schemas of OpenAPI 3.1 and later, which the schema of the specification leaves open."""
_TELLING: Final = frozenset({"in", "type", "scheme"})
"""Fields whose values decide which of several forms applies."""


def check_structure(subject: RuleSubject) -> Iterator[RuleHit]:
    """Report what the schema of the specification version does not allow."""
    rule = "oas2-schema" if subject.swagger else "oas3-schema"
    seen: set[str] = set()
    for part in _parts(subject):
        for error in _validator(subject.dialect).iter_errors(part):
            for each in _intended_errors(error):
                for pointer in _pointers(each, subject.dialect):
                    if pointer not in seen:
                        seen.add(pointer)
                        yield RuleHit(rule, pointer, clipped(each.message, 200))
        if len(seen) >= MOST:
            return


def _parts(subject: RuleSubject) -> Iterator[dict[str, Json]]:
    """Yield the document in parts, so that the errors of one are handled before the next is checked.

    First everything except operations and components, then a few of these at a time: all errors of a part are in memory
    at once, and a document that is wrong everywhere would exceed it.
    """
    root = subject.root
    homes = [("paths",), ("webhooks",), ("definitions",), ("parameters",), ("responses",)]
    homes += [("components", str(kind)) for kind in mapped(root.get("components"))]
    full = {keys: entries for keys in homes if (entries := mapped(look(root, *keys)))}
    frame = {
        key: value for key, value in root.items() if counted(value, PART) <= PART or key in {"paths", "components"}
    }
    for keys in full:
        frame = _with(frame, keys, {})
    yield frame
    least = {key: frame[key] for key in ("openapi", "swagger", "info", "paths") if key in frame}
    for keys, entries in full.items():
        for few in _batches(entries):
            yield _with(least, keys, few)


def _with(root: Mapping[str, Json], keys: Sequence[str], entries: dict[str, Json]) -> dict[str, Json]:
    """Return a document that has these entries under these keys."""
    if len(keys) == 1:
        return {**root, keys[0]: entries}
    return {**root, keys[0]: {**mapped(root.get(keys[0])), keys[1]: entries}}


def _batches(entries: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield entries in groups of similar size; an entry that is too large by itself is left out."""
    batch: dict[str, Json] = {}
    size = 0
    for key, value in entries.items():
        count = counted(value, PART)
        if size and size + count > PART:
            yield batch
            batch, size = {}, 0
        if count <= PART:
            batch[key] = value
            size += count
    if batch:
        yield batch


@cache
def _validator(dialect: Dialect) -> jsonschema_rs.Validator:
    found = files("openapi_spec_validator") / "resources" / "schemas" / f"v{dialect}" / "schema.json"
    schema = json.loads(found.read_text(encoding="utf-8"))
    if dialect in {"3.1", "3.2"}:
        schema["$defs"]["schema"] = {"$dynamicAnchor": "meta", "$ref": _META}
    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
    return jsonschema_rs.validator_for(schema, pattern_options=options, offline=True)


def _intended_errors(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Return the errors of the branch that the author meant, for instance that of references."""
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf | jsonschema_rs.ValidationErrorKind.OneOfNotValid):
        branch = _branch(error, kind.context)
        if branch:
            for each in branch:
                yield from _intended_errors(each)
            return
    yield error


_VALUE: Final = (jsonschema_rs.ValidationErrorKind.Enum, jsonschema_rs.ValidationErrorKind.Constant)


def _branch(
    error: jsonschema_rs.ValidationError, branches: Sequence[Sequence[jsonschema_rs.ValidationError]]
) -> Sequence[jsonschema_rs.ValidationError]:
    """Return the closest of several branches: the fewest errors at the value itself, then the fewest overall."""
    reference = look(error.instance, "$ref") is not None
    depth = len(error.instance_path)

    def distance(branch: Sequence[jsonschema_rs.ValidationError]) -> tuple[bool, bool, int, int]:
        wants_reference = any(look_required(each) == "$ref" for each in branch)
        other = any(
            isinstance(each.kind, _VALUE)
            and len(each.instance_path) == depth + 1
            and each.instance_path[-1] in _TELLING
            for each in branch
        )
        here = sum(len(each.instance_path) == depth for each in branch)
        return (wants_reference != reference, other, here, len(branch))

    return min((branch for branch in branches if branch), key=distance, default=())


def look_required(error: jsonschema_rs.ValidationError) -> str:
    """Return the field that an error reports as missing; else empty."""
    kind = error.kind
    return kind.property if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required) else ""


def _pointers(error: jsonschema_rs.ValidationError, dialect: Dialect) -> list[str]:
    """Return where to report an error: unknown fields or the value itself. Fields with their own rule are skipped."""
    here = join("", *error.instance_path)
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return [join(here, name) for name in kind.unexpected if not (dialect == "2.0" and name in {"anyOf", "oneOf"})]
    return [here]
