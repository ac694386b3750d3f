"""Our own rules for authentication and transport, and findings for parts that could not be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.records import Json
from thresher.openapi.rules.catalog import RuleHit
from thresher.openapi.rules.subject import RuleSubject, look, text_of
from thresher.openapi.schemas import mapped

_CHANGES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_NEAR: Final = re.compile(r"http://(?:localhost|127\.|\[::1\]|0\.0\.0\.0)", re.I)
_REFERENCES: Final = frozenset({"unresolved-ref", "remote-ref"})


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


def check_reading(subject: RuleSubject) -> Iterator[RuleHit]:
    """Report the problems met while reading the description."""
    for problem in subject.description.problems:
        if problem.code in _REFERENCES:
            pointer = problem.place.pointer.removesuffix("/$ref")
            yield RuleHit("invalid-ref", f"{pointer}/$ref", problem.message, problem.code)
        else:
            yield RuleHit("unreadable-part", problem.place.pointer, problem.message, problem.code)
