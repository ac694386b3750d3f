"""Our own rules for requests and responses: examples, schemas, described properties, documented errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.records import Json, Operation
from thresher.openapi.rules.catalog import RuleHit
from thresher.openapi.rules.subject import RuleSubject, look, stands, text_of, texts_of
from thresher.openapi.schemas import mapped

_CHANGES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NEAR: Final = re.compile(r"http://(?:localhost|127\.|\[::1\]|0\.0\.0\.0)", re.I)


def check_sign_in(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that operations declare how a caller authenticates."""
    operations = subject.description.operations
    silent = [operation for operation in operations if operation.security is None]
    if operations and len(silent) == len(operations):
        yield RuleHit("security-unsaid", "", "The description does not say whether calls require sign-in.")
    else:
        for operation in silent:
            message = "The operation does not say whether it requires sign-in."
            yield RuleHit("security-unsaid", operation.pointer, message, operation=operation.key)
    for operation in operations:
        open_to_all = operation.security is not None and not all(each.schemes for each in operation.security)
        if operation.method in _CHANGES and (operation.security == () or open_to_all):
            message = f"{operation.method} can be called without sign-in."
            yield RuleHit("open-write", operation.pointer, message, operation=operation.key)


def check_keys(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check where API keys are sent and whether servers use HTTPS."""
    home = "/securityDefinitions" if subject.swagger else "/components/securitySchemes"
    for name, scheme in subject.description.security_schemes.items():
        if scheme.type == "apiKey" and scheme.place == "query":
            message = f"The key of {name!r} is sent in the URL."
            yield RuleHit("key-in-query", join(home, name), message, scheme.key)
    node = subject.tree.child(0, "servers")
    for place, server in subject.tree.children(node):
        url = text_of(subject.tree.mapping(server).get("url"))
        if url.lower().startswith("http://") and not _NEAR.match(url):
            yield RuleHit(
                "plain-http", subject.tree.pointer(node, place, "url"), "The server is called without HTTPS.", url
            )
    schemes = subject.root.get("schemes")
    if subject.swagger and isinstance(schemes, list) and "http" in cast("list[Json]", schemes):
        pointer = join("/schemes", cast("list[Json]", schemes).index("http"))
        yield RuleHit("plain-http", pointer, "The API may be called without HTTPS.", "http")


def check_scopes(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that operations that use OAuth name their scopes."""
    tree = subject.tree
    home = tree.at("/securityDefinitions" if subject.swagger else "/components/securitySchemes")
    offering = {name for name, node in tree.children(home) if _scopes(tree.values[node])}
    holders = [tree.child(0, "security")]
    holders += [tree.child(operation.node, "security") for operation in subject.operations if operation.node >= 0]
    for holder in holders:
        for _, node in tree.children(holder):
            for name, scopes in tree.mapping(node).items():
                if name in offering and scopes == []:
                    message = f"The operation names no scope of {name!r}."
                    yield RuleHit("scopes-unsaid", tree.pointer(node, name), message, name)


def _scopes(scheme: Json) -> bool:
    """Return whether a security scheme has scopes."""
    flows = look(scheme, "flows")
    several = list(mapped(flows).values()) if isinstance(flows, dict) else [scheme]
    return any(mapped(look(flow, "scopes")) for flow in several)


_PLAIN: Final = ("example", "examples", "default", "enum", "const")
_NO_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})


def check_bodies(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check what operations send and return."""
    for operation in subject.description.operations:
        if operation.body is not None:
            yield from _request(subject, operation)
        yield from _success(subject, operation)


def _request(subject: RuleSubject, operation: Operation) -> Iterator[RuleHit]:
    body = operation.body
    if body is None:
        return
    if operation.method in _NO_BODY and body.required:
        message = f"{operation.method} requires a body."
        yield RuleHit("get-with-body", body.pointer or operation.pointer, message, operation=operation.key)
    media = _json_media(subject, body.pointer)
    if media < 0:
        return
    schema = subject.tree.child(media, "schema")
    if schema >= 0 and not _exemplified(subject, media, schema):
        yield RuleHit("request-example", subject.tree.pointer(media), "The body has no example.")
    yield from _properties(subject, schema)


def _json_media(subject: RuleSubject, pointer: str) -> int:
    """Return the node of the first JSON content of a body or response; in Swagger 2.0 the schema's parent."""
    tree = subject.tree
    holder = tree.at(pointer) if pointer else -1
    if holder < 0:
        return -1
    if subject.swagger:
        return holder if "schema" in tree.mapping(holder) else -1
    forms = tree.children(tree.child(holder, "content"))
    return next((node for name, node in forms if is_json(str(name))), -1)


def is_json(media: str) -> bool:
    """Return whether a media type is JSON: `application/json`, or any that ends with `+json`."""
    name = media.partition(";")[0].strip().lower()
    return name.endswith(("/json", "+json"))


def _exemplified(subject: RuleSubject, media: int, schema: int) -> bool:
    """Return whether a content has an example: its own, its schema's, or one for each required property."""
    fields, said = subject.tree.mapping(media), subject.tree.mapping(schema)
    if "example" in fields or stands(fields.get("examples")) or any(key in said for key in _PLAIN):
        return True
    properties = dict(subject.tree.children(subject.tree.child(schema, "properties")))
    wanted = texts_of(said.get("required")) or list(properties)
    return bool(wanted) and all(
        any(key in subject.tree.mapping(properties[name]) for key in _PLAIN) if name in properties else False
        for name in cast("list[str]", wanted)
    )


def _properties(subject: RuleSubject, schema: int) -> Iterator[RuleHit]:
    """Check that required properties are described."""
    tree = subject.tree
    if schema < 0:
        return
    required = set(texts_of(tree.mapping(schema).get("required")))
    holder = tree.child(schema, "properties")
    for name, kid in tree.kids[holder].items() if holder >= 0 else ():
        target = tree.target(kid)
        said = [tree.mapping(kid).get("description"), tree.mapping(target).get("description") if target >= 0 else None]
        if name in required and not any(stands(each) for each in said):
            yield RuleHit(
                "property-description", tree.pointer(kid), f"Property {name!r} is required and has no description."
            )


def _success(subject: RuleSubject, operation: Operation) -> Iterator[RuleHit]:
    """Check the first success response with a body."""
    for response in operation.responses:
        if not response.status.startswith("2") or response.status in {"204", "205"} or not response.pointer:
            continue
        media = _json_media(subject, response.pointer)
        if media < 0:
            continue
        fields = subject.tree.mapping(media)
        if not fields.get("schema") and not subject.swagger:
            yield RuleHit("response-schema", subject.tree.pointer(media), "The response has no schema.")
        elif not _has_example(subject, media, fields):
            yield RuleHit("response-example", subject.tree.pointer(media), "The response has no example.")
        return


def _has_example(subject: RuleSubject, media: int, fields: Mapping[str, Json]) -> bool:
    schema = subject.tree.child(media, "schema")
    own = "example" in fields or stands(fields.get("examples"))
    return own or (schema >= 0 and _exemplified(subject, media, schema))


def check_failures(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that operations document their errors."""
    for operation in subject.description.operations:
        failures = [each for each in operation.responses if each.status[:1] in {"4", "5"} or each.status == "default"]
        pointer = join(operation.pointer, "responses") if operation.responses else operation.pointer
        if not failures:
            message = "No error response is documented."
            seen = ", ".join(each.status for each in operation.responses)
            yield RuleHit("error-response", pointer, message, seen, operation.key)
        elif not any(content.schema for each in failures for content in each.contents):
            message = "No error response has a schema."
            yield RuleHit("error-schema", pointer, message, ", ".join(each.status for each in failures), operation.key)
        statuses = {each.status.upper() for each in failures}
        if _signed_in(operation) and failures and not statuses & {"401", "403", "4XX", "DEFAULT"}:
            message = "The operation requires sign-in but documents no response to calls without it."
            yield RuleHit("sign-in-error", pointer, message, ", ".join(each.status for each in failures), operation.key)


def _signed_in(operation: Operation) -> bool:
    return bool(operation.security) and all(each.schemes for each in operation.security or ())
