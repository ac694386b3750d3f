"""Own rules about sign-in and what goes over the wire, and what reading a description could not make sense of."""

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
    """Whether operations say what a caller must prove."""
    operations = subject.description.operations
    silent = [operation for operation in operations if operation.security is None]
    if operations and len(silent) == len(operations):
        yield RuleHit("security-unsaid", "", "Nothing says whether calls need sign-in.")
    else:
        for operation in silent:
            message = "It is not said whether the operation needs sign-in."
            yield RuleHit("security-unsaid", operation.pointer, message, operation=operation.key)
    for operation in operations:
        open_to_all = operation.security is not None and not all(each.schemes for each in operation.security)
        if operation.method in _CHANGES and (operation.security == () or open_to_all):
            message = f"{operation.method} can be called without sign-in."
            yield RuleHit("open-write", operation.pointer, message, operation=operation.key)


def check_keys(subject: RuleSubject) -> Iterator[RuleHit]:
    """Where keys are sent, and over what."""
    home = "/securityDefinitions" if subject.swagger else "/components/securitySchemes"
    for name, scheme in subject.description.security_schemes.items():
        if scheme.type == "apiKey" and scheme.place == "query":
            message = f"The key of {name!r} is sent in the address."
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
    """Operations that use OAuth name their scopes."""
    tree = subject.tree
    home = tree.at("/securityDefinitions" if subject.swagger else "/components/securitySchemes")
    offering = {name for name, node in tree.children(home) if _scopes(tree.values[node])}
    holders = [tree.child(0, "security")]
    holders += [tree.child(operation.node, "security") for operation in subject.operations if operation.node >= 0]
    for holder in holders:
        for _, node in tree.children(holder):
            for name, scopes in tree.mapping(node).items():
                if name in offering and scopes == []:
                    message = f"No scope of {name!r} is named."
                    yield RuleHit("scopes-unsaid", tree.pointer(node, name), message, name)


def _scopes(scheme: Json) -> bool:
    """Whether a way to sign in has scopes."""
    flows = look(scheme, "flows")
    several = list(mapped(flows).values()) if isinstance(flows, dict) else [scheme]
    return any(mapped(look(flow, "scopes")) for flow in several)


def check_reading(subject: RuleSubject) -> Iterator[RuleHit]:
    """What reading the description met."""
    for problem in subject.description.problems:
        if problem.code in _REFERENCES:
            pointer = problem.place.pointer.removesuffix("/$ref")
            yield RuleHit("invalid-ref", f"{pointer}/$ref", problem.message, problem.code)
        else:
            yield RuleHit("unreadable-part", problem.place.pointer, problem.message, problem.code)
