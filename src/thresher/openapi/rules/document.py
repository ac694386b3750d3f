"""Rules for the description as a whole: title block, tags, servers, and Markdown anywhere."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from thresher.openapi.records import Json
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.subject import RuleSubject, look, stands, text_of, texts_of
from thresher.openapi.schemas import mapped

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_LONGEST: Final = 100_000
"""Most characters that variables may add to a server address."""
_TRIES: Final = 200
"""Most combinations of a server's variables that are tried."""


def check_info(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check the fields of `info`."""
    tree = subject.tree
    info = tree.child(0, "info")
    said = tree.mapping(info) if info >= 0 else {}
    for rule, key in (
        ("info-contact", "contact"),
        ("info-description", "description"),
        ("info-license", "license"),
        ("license-url", "license"),
    ):
        license_node = tree.child(info, "license")
        if rule == "license-url":
            found = look(tree.mapping(license_node) if license_node >= 0 else None, "url")
        else:
            found = said.get(key)
        if not stands(found):
            node = license_node if rule == "license-url" and license_node >= 0 else info
            last = "url" if node == license_node and rule == "license-url" else key
            pointer = _closest(subject, node, last) if node >= 0 else "/info" if "info" in subject.root else ""
            yield RuleHit(
                rule, pointer, f"`info.{'license.url' if rule == 'license-url' else key}` is missing or empty."
            )
    contact = tree.child(info, "contact")
    if contact >= 0:
        for key in ("name", "url", "email"):
            if not stands(tree.mapping(contact).get(key)):
                yield RuleHit("contact-properties", _closest(subject, contact, key), f"`info.contact` has no `{key}`.")


def _closest(subject: RuleSubject, node: int, key: str) -> str:
    """Return the pointer of a field, or of its parent if it is absent."""
    there = key in subject.tree.mapping(node)
    return subject.tree.pointer(node, key) if there else subject.tree.pointer(node)


def check_tags(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that tags are listed, described, unique and sorted."""
    tree = subject.tree
    node = tree.child(0, "tags")
    tags = tree.values[node] if node >= 0 else subject.root.get("tags")
    if not isinstance(tags, list) or not tags:
        yield RuleHit("openapi-tags", "/tags" if "tags" in subject.root else "", "The description lists no tags.")
    if not isinstance(tags, list):
        return
    names: list[str] = []
    for place, tag in enumerate(cast("list[Json]", tags)):
        here = tree.child(node, place)
        mapping = tree.mapping(here) if here >= 0 else {}
        if not stands(mapping.get("description")):
            pointer = _closest(subject, here, "description") if here >= 0 else tree.pointer(node, place)
            yield RuleHit("tag-description", pointer, f"Tag {clipped(mapping.get('name', tag))!r} has no description.")
        names.append(text_of(mapping.get("name")))
    yield from _duplicate_tags(subject, node, names)
    if any(sort_key(one) > sort_key(other) for one, other in itertools.pairwise(names)):
        yield RuleHit("openapi-tags-alphabetical", tree.pointer(node), "The tags are not in alphabetical order.")


def _duplicate_tags(subject: RuleSubject, node: int, names: Iterable[str]) -> Iterator[RuleHit]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            holder = subject.tree.child(node, place)
            yield RuleHit(
                "openapi-tags-uniqueness", _closest(subject, holder, "name"), f"Tag {name!r} is listed twice.", name
            )
        seen.add(name)


def sort_key(name: str) -> tuple[list[tuple[int, str]], str, str]:
    """Collation key: punctuation before digits before letters; accents and case only break ties."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return [(_class(each), each.casefold()) for each in plain], name.casefold(), name.swapcase()


def _class(character: str) -> int:
    return 2 if character.isalpha() else 1 if character.isdigit() else 0


def check_host(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check Swagger 2.0's `host` and `schemes`."""
    host, schemes = subject.root.get("host"), subject.root.get("schemes")
    if not stands(host):
        yield RuleHit("oas2-api-host", "/host" if "host" in subject.root else "", "`host` is missing or empty.")
    if not isinstance(schemes, list) or not schemes:
        yield RuleHit(
            "oas2-api-schemes", "/schemes" if "schemes" in subject.root else "", "`schemes` lists no protocol."
        )
    else:
        for place, scheme in enumerate(cast("list[Json]", schemes)):
            if not isinstance(scheme, str):
                yield RuleHit("oas2-api-schemes", f"/schemes/{place}", "A protocol in `schemes` must be text.")
                break
    if "example.com" in text_of(host):
        yield RuleHit("oas2-host-not-example", "/host", "`host` points at example.com.", text_of(host))
    if text_of(host).endswith("/"):
        yield RuleHit("oas2-host-trailing-slash", "/host", "`host` ends with a slash.", text_of(host))


def check_servers(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check OpenAPI 3's servers."""
    tree = subject.tree
    node = tree.child(0, "servers")
    servers = cast("list[Json]", tree.values[node]) if node >= 0 and isinstance(tree.values[node], list) else []
    if not servers:
        yield RuleHit(
            "oas3-api-servers", "/servers" if "servers" in subject.root else "", "The description lists no servers."
        )
    for place, server in enumerate(servers):
        if not isinstance(server, dict):
            yield RuleHit("oas3-api-servers", tree.pointer(node, place), "A server must be a mapping with a `url`.")
            continue
        url = text_of(cast("dict[str, Json]", server).get("url"))
        pointer = tree.pointer(node, place, "url")
        if "example.com" in url:
            yield RuleHit("oas3-server-not-example.com", pointer, "The server points at example.com.", url)
        if len(url) > 1 and url.endswith("/"):
            yield RuleHit("oas3-server-trailing-slash", pointer, "The server address ends with a slash.", url)


def check_server_variables(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check that the variables of every server match those in its address."""
    tree = subject.tree
    holders = [
        tree.child(0, "servers"),
        *(tree.child(item, "servers") for item in {o.item for o in subject.operations}),
    ]
    holders += [tree.child(operation.node, "servers") for operation in subject.operations if operation.node >= 0]
    for holder in holders:
        for _, server in tree.children(holder):
            yield from _server(subject, server)


def _server(subject: RuleSubject, node: int) -> Iterator[RuleHit]:
    tree, rule = subject.tree, "oas3-server-variables"
    if not _well_formed(tree.mapping(node)):
        yield RuleHit(rule, tree.pointer(node), "The server's address or variables are malformed.")
        return
    url = text_of(tree.mapping(node).get("url"))
    variables = tree.child(node, "variables")
    explained = tree.mapping(variables) if variables >= 0 else {}
    used = list(dict.fromkeys(_VARIABLE.findall(url)))
    for name in explained:
        if name not in used:
            message = f"Variable {name!r} is defined, but the server address does not use it."
            yield RuleHit(rule, tree.pointer(variables, name), message, url)
    if not used:
        return
    missing = [name for name in used if name not in explained]
    if missing:
        pointer = tree.pointer(variables if variables >= 0 else node)
        yield RuleHit(rule, pointer, f"The server address uses {', '.join(missing)}, which are not defined.", url)
    for name in used:
        if name in explained:
            yield from _variable(subject, variables, name)
    yield from _substituted(subject, node, url, explained)


def _well_formed(server: Mapping[str, Json]) -> bool:
    """Return whether a server has an address and its variables hold only text where text belongs."""
    variables = server.get("variables", {})
    known = isinstance(server.get("url"), str) and isinstance(variables, dict)
    return known and all(_sound(each) for each in mapped(variables).values())


def _sound(variable: Json) -> bool:
    fields = mapped(variable)
    allowed = fields.get("enum", [])
    return (
        isinstance(variable, dict)
        and isinstance(allowed, list)
        and len(texts_of(allowed)) == len(cast("list[Json]", allowed))
        and all(isinstance(fields.get(key, ""), str) for key in ("default", "description", "examples"))
        and all(key in {"enum", "default", "description", "examples"} or key.startswith("x-") for key in fields)
    )


def _variable(subject: RuleSubject, variables: int, name: str) -> Iterator[RuleHit]:
    tree, rule = subject.tree, "oas3-server-variables"
    node = tree.child(variables, name)
    fields = tree.mapping(node) if node >= 0 else {}
    allowed, default = fields.get("enum"), fields.get("default")
    if isinstance(allowed, list) and default is not None and default not in cast("list[Json]", allowed):
        message = f"The default of variable {name!r} is not one of its `enum` values."
        yield RuleHit(rule, tree.pointer(node, "default"), message, clipped(default))
    if default is None:
        yield RuleHit(rule, tree.pointer(variables, name), f"Variable {name!r} has no default.")


def _substituted(subject: RuleSubject, node: int, url: str, explained: Mapping[str, Json]) -> Iterator[RuleHit]:
    """Check that the address is a valid URL for every combination of its variables."""
    choices = [
        [(name, value) for value in _values(explained[name])]
        for name in dict.fromkeys(_VARIABLE.findall(url))
        if name in explained
    ]
    if not choices or not all(choices):
        return
    for chosen in itertools.islice(itertools.product(*choices), _TRIES):
        filled = url
        for name, value in chosen:
            place = f"{{{name}}}"
            if filled.count(place) * len(value) > _LONGEST:
                return
            filled = filled.replace(place, value)
        if not _ADDRESS.match(filled):
            pointer = subject.tree.pointer(node, "variables")
            yield RuleHit(
                "oas3-server-variables",
                pointer,
                "With its variables filled in, the server address is not a valid URL.",
                clipped(filled),
            )
            return


_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?[^\s/?#<>\\^`{|}:@\[\]][^\s<>\\^`{|}\[\]]*$")


def _values(variable: Json) -> list[str]:
    """Return the texts that a variable can stand for."""
    allowed = look(variable, "enum")
    several = cast("list[Json]", allowed) if isinstance(allowed, list) else [look(variable, "default")]
    return [each for each in several if isinstance(each, str)]


def check_markdown(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check for Markdown that a page might execute."""
    tree = subject.tree
    for node in tree.alive:
        value = tree.values[node]
        if not isinstance(value, dict):
            continue
        for key in ("description", "title"):
            text = cast("dict[str, Json]", value).get(key)
            if not isinstance(text, str):
                continue
            if "eval(" in text:
                yield RuleHit("no-eval-in-markdown", tree.pointer(node, key), "The text holds `eval(`.", clipped(text))
            if "<script" in text:
                yield RuleHit(
                    "no-script-tags-in-markdown",
                    tree.pointer(node, key),
                    "The text contains a script tag.",
                    clipped(text),
                )


_REFERENCES: Final = frozenset({"unresolved-ref", "remote-ref"})


def check_reading(subject: RuleSubject) -> Iterator[RuleHit]:
    """Report the problems met while reading the description."""
    for problem in subject.description.problems:
        if problem.code in _REFERENCES:
            pointer = problem.place.pointer.removesuffix("/$ref")
            yield RuleHit("invalid-ref", f"{pointer}/$ref", problem.message, problem.code)
        else:
            yield RuleHit("unreadable-part", problem.place.pointer, problem.message, problem.code)
