"""Shared rules about operations: what each must say, and what it names that must be there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from thresher.openapi.records import Json
from thresher.openapi.rules.hits import Hit, clipped
from thresher.openapi.rules.subject import Placed, Subject
from thresher.openapi.rules.values import look, mapping_of, stands, text_of, texts_of

_IN_ADDRESS: Final = re.compile(r"[A-Za-z0-9-._~:/?#\[\]@!$&'()*+,;=]*\Z")
_FORM: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


def check_operations(subject: Subject) -> Iterator[Hit]:
    """What one operation says by itself."""
    for operation in subject.operations:
        fields = subject.tree.mapping(operation.node) if operation.node >= 0 else {}
        yield from _named(operation, fields)
        yield from _tagged(operation, fields)
        yield from _answered(subject, operation, fields)


def _at(operation: Placed, fields: Mapping[str, Json], key: str) -> str:
    """Where a field stands, or its operation where it is absent."""
    return f"{operation.pointer}/{key}" if key in fields else operation.pointer


def _named(operation: Placed, fields: Mapping[str, Json]) -> Iterator[Hit]:
    if not stands(fields.get("description") if operation.node >= 0 else operation.value):
        yield Hit("operation-description", _at(operation, fields, "description"), "The operation has no description.")
    identifier = fields.get("operationId")
    if not stands(identifier if operation.node >= 0 else operation.value):
        yield Hit("operation-operationId", _at(operation, fields, "operationId"), "The operation has no operationId.")
    if isinstance(identifier, str) and not _IN_ADDRESS.match(identifier):
        message = "The operationId has characters that an address cannot carry."
        yield Hit("operation-operationId-valid-in-url", f"{operation.pointer}/operationId", message, identifier)


def _tagged(operation: Placed, fields: Mapping[str, Json]) -> Iterator[Hit]:
    tags = fields.get("tags")
    if not isinstance(tags, list) or not tags:
        yield Hit("operation-tags", _at(operation, fields, "tags"), "The operation has no tag.")
    elif len(cast("list[Json]", tags)) > 1:
        yield Hit(
            "operation-singular-tag",
            f"{operation.pointer}/tags",
            "The operation has several tags.",
            ", ".join(texts_of(tags)),
        )


def _answered(subject: Subject, operation: Placed, fields: Mapping[str, Json]) -> Iterator[Hit]:
    node = subject.tree.child(operation.node, "responses")
    responses = subject.tree.mapping(node) if node >= 0 else None
    if responses is not None and not any(_success(str(status), subject.swagger) for status in responses):
        message = "No response says that the call succeeded (2xx or 3xx)."
        yield Hit(
            "operation-success-response", f"{operation.pointer}/responses", message, ", ".join(map(str, responses))
        )
    if subject.swagger and isinstance(fields.get("consumes"), list):
        given = [subject.tree.mapping(each).get("in") for _, each in _parameters(subject, operation)]
        if "formData" in given and not any(form in ",".join(texts_of(fields["consumes"])) for form in _FORM):
            message = "It takes form fields, but `consumes` names no form."
            yield Hit("oas2-operation-formData-consume-check", operation.pointer, message, clipped(fields["consumes"]))


def _success(status: str, swagger: bool) -> bool:
    if status in {"2XX", "3XX"}:
        return not swagger
    return status.isascii() and status.isdigit() and 200 <= int(status[:6]) < 400


def _parameters(subject: Subject, operation: Placed) -> Iterator[tuple[str | int, int]]:
    """Its own parameters."""
    node = subject.tree.child(operation.node, "parameters") if operation.node >= 0 else -1
    if node >= 0 and isinstance(subject.tree.values[node], list):
        yield from subject.tree.children(node)


def check_parameters(subject: Subject) -> Iterator[Hit]:
    """Parameters of one operation: each once, and one body at most."""
    tree, rule = subject.tree, "operation-parameters"
    for operation in subject.operations:
        seen: set[tuple[str, str]] = set()
        bodies = forms = 0
        for _, node in _parameters(subject, operation):
            fields = tree.mapping(node)
            key = (str(fields.get("in")), str(fields.get("name")))
            if key in seen:
                yield Hit(
                    rule, tree.pointer(node), "Another parameter has this name and place.", f"{key[1]} in {key[0]}"
                )
            seen.add(key)
            forms += key[0] == "formData"
            bodies += key[0] == "body"
            if key[0] == "body" and bodies > 1:
                yield Hit(rule, tree.pointer(node), "The operation has more than one body.", key[1])
        if bodies and forms:
            yield Hit(rule, f"{operation.pointer}/parameters", "The operation has a body and form fields at once.")


def check_identifiers(subject: Subject) -> Iterator[Hit]:
    """Each operationId once."""
    seen: dict[str, str] = {}
    for operation in subject.operations:
        fields = subject.tree.mapping(operation.node) if operation.node >= 0 else {}
        if "operationId" not in fields:
            continue
        identifier = repr(fields["operationId"])
        if identifier in seen:
            pointer = f"{operation.pointer}/operationId"
            message = f"The operationId is that of {seen[identifier]} too."
            yield Hit("operation-operationId-unique", pointer, message, clipped(fields["operationId"]))
        else:
            seen[identifier] = f"{operation.method.upper()} {operation.path}"


def check_tag_use(subject: Subject) -> Iterator[Hit]:
    """Tags that operations use are listed."""
    tree = subject.tree
    listed = {text_of(tree.mapping(node).get("name")) for _, node in tree.children(tree.child(0, "tags"))}
    for operation in subject.operations:
        tags = look(operation.value, "tags") if operation.node < 0 else tree.mapping(operation.node).get("tags")
        if isinstance(tags, list):
            for place, tag in enumerate(cast("list[Json]", tags)):
                if not isinstance(tag, str) or tag not in listed:
                    pointer = f"{operation.pointer}/tags/{place}"
                    yield Hit("operation-tag-defined", pointer, "The tag is not in the list of tags.", clipped(tag))


def check_security_names(subject: Subject) -> Iterator[Hit]:
    """Ways to sign in that operations name are defined, and so are their scopes."""
    tree = subject.tree
    rule = "oas2-operation-security-defined" if subject.swagger else "oas3-operation-security-defined"
    defined = look(subject.root, *(["securityDefinitions"] if subject.swagger else ["components", "securitySchemes"]))
    schemes = cast("dict[str, Json]", defined) if isinstance(defined, dict) else {}
    holders = [tree.child(0, "security")]
    holders += [tree.child(operation.node, "security") for operation in subject.operations if operation.node >= 0]
    for holder in holders:
        for _, node in tree.children(holder):
            yield from _requirement(subject, rule, node, schemes)


def _requirement(subject: Subject, rule: str, node: int, schemes: Mapping[str, Json]) -> Iterator[Hit]:
    fields = subject.tree.mapping(node)
    if not all(
        isinstance(scopes, list) and len(texts_of(scopes)) == len(cast("list[Json]", scopes))
        for scopes in fields.values()
    ):
        return
    for name, scopes in fields.items():
        if name not in schemes:
            yield Hit(rule, subject.tree.pointer(node, name), f"The way to sign in, {name!r}, is not defined.", name)
            continue
        known = _scopes(schemes[name], subject.swagger)
        for place, scope in enumerate(texts_of(scopes)):
            if scope not in known:
                pointer = subject.tree.pointer(node, name, place)
                yield Hit(rule, pointer, f"The scope is not among those of {name!r}.", scope)


def _scopes(scheme: Json, swagger: bool) -> set[str]:
    holders = [scheme] if swagger else list(mapping_of(look(scheme, "flows")).values())
    return {name for each in holders for name in mapping_of(look(each, "scopes"))}
