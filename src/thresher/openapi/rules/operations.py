"""Shared rules for paths, operations, parameters, callbacks and webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from thresher.openapi.records import Json
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.subject import (
    METHODS,
    PlacedOperation,
    RuleSubject,
    look,
    stands,
    text_of,
    texts_of,
)
from thresher.openapi.schemas import mapped

_PARAMETER: Final = re.compile(r"\{;?\??[a-zA-Z0-9_-]+\*?\}")


def check_paths(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check how paths are written."""
    tree = subject.tree
    node = tree.child(0, "paths")
    for path in tree.mapping(node) if node >= 0 else ():
        pointer = tree.pointer(node, path)
        if "{}" in path:
            yield RuleHit("path-declarations-must-exist", pointer, "A parameter of the path has no name.", path)
        if len(path) > 1 and path.endswith("/"):
            yield RuleHit("path-keys-no-trailing-slash", pointer, "The path ends with a slash.", path)
        if "?" in path:
            yield RuleHit("path-not-include-query", pointer, "The path contains a query string.", path)


def check_path_parameters(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that path parameters are declared once and required, and that no two paths are the same."""
    tree = subject.tree
    shapes: dict[str, str] = {}
    paths = tree.child(0, "paths")
    for path, item in tree.children(paths):
        path = str(path)
        pointer = tree.pointer(paths, path)
        shape = _PARAMETER.sub("%", path)
        if shape in shapes:
            yield RuleHit("path-params", pointer, f"It differs from {shapes[shape]} only in parameter names.", path)
        shapes.setdefault(shape, path)
        yield from _path(subject, path, item, pointer)


def _path(subject: RuleSubject, path: str, item: int, pointer: str) -> Iterator[RuleHit]:
    named: list[str] = []
    for found in _PARAMETER.findall(path):
        name = found.strip("{}").translate({ord(mark): None for mark in "?*;"})
        if name in named:
            yield RuleHit("path-params", pointer, f"Parameter {name!r} appears twice in the path.", path)
        else:
            named.append(name)
    shared: dict[str, str] = {}
    yield from _declared(subject, item, shared)
    for method, value in subject.tree.mapping(item).items():
        node = subject.tree.child(item, method)
        if method not in METHODS or node < 0:
            continue
        del value
        own: dict[str, str] = {}
        yield from _declared(subject, node, own)
        known = shared | own
        for name, place in known.items():
            if name not in named:
                yield RuleHit(
                    "path-params", place, f"Parameter {name!r} is declared, but the path does not contain it.", path
                )
        for name in named:
            if name not in known:
                where = subject.tree.pointer(node)
                yield RuleHit("path-params", where, f"Parameter {name!r} of the path is not declared.", path)


def _declared(subject: RuleSubject, holder: int, known: dict[str, str]) -> Iterator[RuleHit]:
    """Collect the path parameters of a path or operation into `known`, by name, and check them."""
    tree = subject.tree
    node = tree.child(holder, "parameters")
    if node < 0 or not isinstance(tree.values[node], list):
        return
    for _, each in tree.children(node):
        fields = tree.mapping(each)
        name, place = fields.get("name"), tree.pointer(each)
        if fields.get("in") != "path" or name is None:
            continue
        if fields.get("required") is not True:
            yield RuleHit("path-params", place, f"Parameter {name!r} is in the path but is not `required: true`.")
        if str(name) in known:
            yield RuleHit("path-params", place, f"Parameter {name!r} is declared twice.")
        else:
            known[str(name)] = place


_IN_ADDRESS: Final = re.compile(r"[A-Za-z0-9-._~:/?#\[\]@!$&'()*+,;=]*\Z")
_FORM: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


def check_operations(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check the fields of each operation."""
    for operation in subject.operations:
        fields = subject.tree.mapping(operation.node) if operation.node >= 0 else {}
        yield from _description_and_id(operation, fields)
        yield from _tagged(operation, fields)
        yield from _answered(subject, operation, fields)


def _at(operation: PlacedOperation, fields: Mapping[str, Json], key: str) -> str:
    """Return the pointer of a field, or of its operation if the field is absent."""
    return f"{operation.pointer}/{key}" if key in fields else operation.pointer


def _description_and_id(operation: PlacedOperation, fields: Mapping[str, Json]) -> Iterator[RuleHit]:
    if not stands(fields.get("description") if operation.node >= 0 else operation.value):
        yield RuleHit(
            "operation-description", _at(operation, fields, "description"), "The operation has no description."
        )
    identifier = fields.get("operationId")
    if not stands(identifier if operation.node >= 0 else operation.value):
        yield RuleHit(
            "operation-operationId", _at(operation, fields, "operationId"), "The operation has no operationId."
        )
    if isinstance(identifier, str) and not _IN_ADDRESS.match(identifier):
        message = "The operationId has characters that are not valid in a URL."
        yield RuleHit("operation-operationId-valid-in-url", f"{operation.pointer}/operationId", message, identifier)


def _tagged(operation: PlacedOperation, fields: Mapping[str, Json]) -> Iterator[RuleHit]:
    tags = fields.get("tags")
    if not isinstance(tags, list) or not tags:
        yield RuleHit("operation-tags", _at(operation, fields, "tags"), "The operation has no tag.")
    elif len(cast("list[Json]", tags)) > 1:
        yield RuleHit(
            "operation-singular-tag",
            f"{operation.pointer}/tags",
            "The operation has several tags.",
            ", ".join(texts_of(tags)),
        )


def _answered(subject: RuleSubject, operation: PlacedOperation, fields: Mapping[str, Json]) -> Iterator[RuleHit]:
    node = subject.tree.child(operation.node, "responses")
    responses = subject.tree.mapping(node) if node >= 0 else None
    if responses is not None and not any(_success(str(status), subject.swagger) for status in responses):
        message = "No response documents success (2xx or 3xx)."
        yield RuleHit(
            "operation-success-response", f"{operation.pointer}/responses", message, ", ".join(map(str, responses))
        )
    if subject.swagger and isinstance(fields.get("consumes"), list):
        given = [subject.tree.mapping(each).get("in") for _, each in _parameters(subject, operation)]
        if "formData" in given and not any(form in ",".join(texts_of(fields["consumes"])) for form in _FORM):
            message = "The operation has form parameters, but `consumes` lists no form media type."
            yield RuleHit(
                "oas2-operation-formData-consume-check", operation.pointer, message, clipped(fields["consumes"])
            )


def _success(status: str, swagger: bool) -> bool:
    if status in {"2XX", "3XX"}:
        return not swagger
    return status.isascii() and status.isdigit() and 200 <= int(status[:6]) < 400


def _parameters(subject: RuleSubject, operation: PlacedOperation) -> Iterator[tuple[str | int, int]]:
    """Yield the operation's own parameters."""
    node = subject.tree.child(operation.node, "parameters") if operation.node >= 0 else -1
    if node >= 0 and isinstance(subject.tree.values[node], list):
        yield from subject.tree.children(node)


def check_parameters(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that parameters of an operation are unique and that it has at most one body."""
    tree, rule = subject.tree, "operation-parameters"
    for operation in subject.operations:
        seen: set[tuple[str, str]] = set()
        bodies = forms = 0
        for _, node in _parameters(subject, operation):
            fields = tree.mapping(node)
            key = (str(fields.get("in")), str(fields.get("name")))
            if key in seen:
                yield RuleHit(
                    rule, tree.pointer(node), "Another parameter has this name and location.", f"{key[1]} in {key[0]}"
                )
            seen.add(key)
            forms += key[0] == "formData"
            bodies += key[0] == "body"
            if key[0] == "body" and bodies > 1:
                yield RuleHit(rule, tree.pointer(node), "The operation has more than one body.", key[1])
        if bodies and forms:
            yield RuleHit(rule, f"{operation.pointer}/parameters", "The operation has both a body and form fields.")


def check_identifiers(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that operationIds are unique."""
    seen: dict[str, str] = {}
    for operation in subject.operations:
        fields = subject.tree.mapping(operation.node) if operation.node >= 0 else {}
        if "operationId" not in fields:
            continue
        identifier = repr(fields["operationId"])
        if identifier in seen:
            pointer = f"{operation.pointer}/operationId"
            message = f"The operationId is also that of {seen[identifier]}."
            yield RuleHit("operation-operationId-unique", pointer, message, clipped(fields["operationId"]))
        else:
            seen[identifier] = f"{operation.method.upper()} {operation.path}"


def check_tag_use(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that the tags of operations are listed."""
    tree = subject.tree
    listed = {text_of(tree.mapping(node).get("name")) for _, node in tree.children(tree.child(0, "tags"))}
    for operation in subject.operations:
        tags = look(operation.value, "tags") if operation.node < 0 else tree.mapping(operation.node).get("tags")
        if isinstance(tags, list):
            for place, tag in enumerate(cast("list[Json]", tags)):
                if not isinstance(tag, str) or tag not in listed:
                    pointer = f"{operation.pointer}/tags/{place}"
                    yield RuleHit("operation-tag-defined", pointer, "The tag is not in the list of tags.", clipped(tag))


def check_security_names(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that security schemes and scopes of operations are defined."""
    tree = subject.tree
    rule = "oas2-operation-security-defined" if subject.swagger else "oas3-operation-security-defined"
    defined = look(subject.root, *(["securityDefinitions"] if subject.swagger else ["components", "securitySchemes"]))
    schemes = mapped(defined)
    holders = [tree.child(0, "security")]
    holders += [tree.child(operation.node, "security") for operation in subject.operations if operation.node >= 0]
    for holder in holders:
        for _, node in tree.children(holder):
            yield from _requirement(subject, rule, node, schemes)


def _requirement(subject: RuleSubject, rule: str, node: int, schemes: Mapping[str, Json]) -> Iterator[RuleHit]:
    fields = subject.tree.mapping(node)
    if not all(
        isinstance(scopes, list) and len(texts_of(scopes)) == len(cast("list[Json]", scopes))
        for scopes in fields.values()
    ):
        return
    for name, scopes in fields.items():
        if name not in schemes:
            yield RuleHit(rule, subject.tree.pointer(node, name), f"The security scheme {name!r} is not defined.", name)
            continue
        known = _scopes(schemes[name], subject.swagger)
        for place, scope in enumerate(texts_of(scopes)):
            if scope not in known:
                pointer = subject.tree.pointer(node, name, place)
                yield RuleHit(rule, pointer, f"The scope is not defined by {name!r}.", scope)


def _scopes(scheme: Json, swagger: bool) -> set[str]:
    holders = [scheme] if swagger else list(mapped(look(scheme, "flows")).values())
    return {name for each in holders for name in mapped(look(each, "scopes"))}


def check_parameter_texts(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that parameters have descriptions."""
    tree = subject.tree
    rule = "oas2-parameter-description" if subject.swagger else "oas3-parameter-description"
    for node in sorted(_all_parameters(subject)):
        fields = tree.mapping(node)
        if stands(fields.get("in")) and not stands(fields.get("description")):
            pointer = tree.pointer(node, "description") if "description" in fields else tree.pointer(node)
            message = f"Parameter {text_of(fields.get('name'))!r} has no description."
            yield RuleHit(rule, pointer, message)


def _all_parameters(subject: RuleSubject) -> set[int]:
    """Return all parameters: in Swagger 2.0 the entries of every `parameters` key."""
    tree = subject.tree
    if subject.swagger:
        alive = set(tree.alive)
        holders = [node for node, key in enumerate(tree.keys) if key == "parameters" and node in alive]
    else:
        holders = [tree.child(holder, "parameters") for _, holder in tree.children(tree.child(0, "paths"))]
        holders += [tree.child(each.node, "parameters") for each in subject.operations if each.node >= 0]
        holders.append(tree.at("/components/parameters"))
    return {node for holder in holders for _, node in tree.children(holder)}


def check_example_forms(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that a named example has either a value or an external value."""
    tree = subject.tree
    operations = tree.under(
        node for _, item in tree.children(tree.child(0, "paths")) for _, node in tree.children(item)
    )
    holders = [tree.at("/components/examples")]
    users = [kid for home in ("parameters", "headers") for _, kid in tree.children(tree.at(f"/components/{home}"))]
    users += [
        kid
        for node in operations
        for key in ("content", "parameters", "headers")
        for _, kid in tree.children(tree.child(node, key))
    ]
    holders += [tree.child(user, "examples") for user in users]
    for node in sorted({node for holder in holders for _, node in tree.children(holder)}):
        fields = tree.mapping(node)
        if isinstance(tree.values[node], dict) and ("value" in fields) == ("externalValue" in fields):
            both = "both `value` and `externalValue`" if "value" in fields else "neither `value` nor `externalValue`"
            if "value" in fields or not (subject.dialect == "3.2" and fields.keys() & {"dataValue", "serializedValue"}):
                yield RuleHit("oas3-examples-value-or-externalValue", tree.pointer(node), f"The example has {both}.")


def check_callbacks(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that no callback defines callbacks."""
    tree = subject.tree
    for operation in subject.operations:
        for _, callback in tree.children(tree.child(operation.node, "callbacks") if operation.node >= 0 else -1):
            for _, item in tree.children(callback):
                for _, node in tree.children(item):
                    if look(tree.values[node], "callbacks") is not None:
                        pointer = tree.pointer(node, "callbacks")
                        yield RuleHit(
                            "oas3-callbacks-in-callbacks", pointer, "A callback defines callbacks of its own."
                        )


def check_webhooks(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that webhooks have no servers and no callbacks."""
    tree = subject.tree
    webhooks = tree.child(0, "webhooks")
    if webhooks >= 0 and "servers" in tree.mapping(webhooks):
        yield RuleHit(
            "oas3_1-servers-in-webhook", tree.pointer(webhooks, "servers"), "Webhooks have no servers of this API."
        )
    for _, item in tree.children(webhooks):
        for _, node in tree.children(item):
            for key in ("servers", "callbacks"):
                if key in tree.mapping(node):
                    pointer = tree.pointer(node, key)
                    yield RuleHit(f"oas3_1-{key}-in-webhook", pointer, f"A webhook defines {key}.")
