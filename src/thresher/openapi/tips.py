"""Tips for a caller, taken from facts in a description and never from its wording.

Invariant: pure; a tip is one short sentence, and an operation has only a few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, MediaType, Operation, Requirement

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
IDEMPOTENT: Final = SAFE | {"PUT", "DELETE"}
"""RFC 9110, section 9.2.2."""

TURNERS: Final = frozenset(
    {"page", "pagenumber", "pageno", "pageindex", "pageoffset", "pagecursor", "pagetoken", "pagestart", "pageid"}
    | {"cursor", "nextcursor", "offset", "startat", "startindex", "skip", "continue", "continuationtoken"}
    | {"nexttoken", "nextpagetoken", "startingafter", "endingbefore", "marker", "bookmark", "scrollid"}
)
"""Normalized names of parameters that lead to the next page."""
PERHAPS: Final = frozenset({"start", "after", "before"})
"""More of them, which count only beside a page-size parameter: alone they may be dates."""
SIZERS: Final = frozenset(
    {"limit", "perpage", "pagesize", "pagelimit", "maxresults", "maxitems", "maxkeys", "first", "last", "top"}
    | {"count", "size", "rows"}
)
_NEXT: Final = frozenset(
    {"next", "nextpage", "nextcursor", "nexttoken", "nextpagetoken", "nextlink", "nexturl", "continue"}
    | {"continuationtoken", "islast", "islastpage", "hasmore", "hasnextpage", "morepages", "totalpages"}
)
"""Response fields that lead to the next page, or say that there is one."""
HOLDERS: Final = frozenset({"meta", "metadata", "links", "pagination", "paging", "page", "pageinfo"})
_TRIED: Final = frozenset({"dryrun", "validateonly", "validationonly"})
_WORD: Final = re.compile(r"[^a-z0-9]+")
_CLIP: Final = 80
_ALTERNATIVES: Final = 3
_SCOPES: Final = 4
_TIPS: Final = 8


def tips_of(operation: Operation, description: Description) -> tuple[str, ...]:
    """Return short sentences on how to use an operation, most important first."""
    tips = (tip for fact in _FACTS for tip in fact(operation, description))
    return tuple(dict.fromkeys(tips))[:_TIPS]


def _webhook(operation: Operation, _: Description) -> Iterator[str]:
    if operation.pointer.startswith("/webhooks/"):
        yield "The API sends this to you; you do not call it."


def _deprecated(operation: Operation, _: Description) -> Iterator[str]:
    if operation.deprecated:
        yield "Deprecated."


def _repeatable(operation: Operation, _: Description) -> Iterator[str]:
    if operation.method in SAFE:
        yield "Safe: it changes nothing."
    elif operation.method in IDEMPOTENT:
        yield "Idempotent: sending it again does no more."
    for parameter in operation.parameters:
        if plain_name(parameter.name) in {"idempotencykey", "xidempotencykey"}:
            yield f"Idempotent with the {parameter.place} {_clipped(parameter.name)}."


def _paginated(operation: Operation, description: Description) -> Iterator[str]:
    names = [each.name for each in operation.parameters if each.place == "query"]
    sizers = [name for name in names if plain_name(name) in SIZERS]
    turners = [name for name in names if plain_name(name) in (TURNERS | PERHAPS if sizers else TURNERS)]
    if turners:
        yield f"Paginated: {', '.join(_clipped(name) for name in (turners + sizers)[:4])}."
    elif _linked(operation):
        yield "Paginated: the Link header of its answer leads to the next page."
    elif operation.method in SAFE and (found := _next_in(operation, description)):
        yield f"Paginated: {_clipped(found)} in its answer leads on."
    elif sizers:
        yield f"Limited: {', '.join(_clipped(name) for name in sizers[:2])}."


def _linked(operation: Operation) -> bool:
    """Return whether a success response documents a Link header."""
    return any("link" in map(str.lower, each.headers) for each in operation.responses if each.status.startswith("2"))


def _next_in(operation: Operation, description: Description) -> str:
    """Return the response field, at most one level down, that leads to the next page; may be empty."""
    for response in operation.responses:
        if not response.status.startswith("2") or not response.contents:
            continue
        fields = properties_of(response.contents[0].schema, description)
        for name, schema in fields.items():
            if plain_name(name) in _NEXT:
                return name
            if plain_name(name) in HOLDERS:
                inner = next((each for each in properties_of(schema, description) if plain_name(each) in _NEXT), "")
                if inner:
                    return f"{name}.{inner}"
    return ""


def properties_of(schema: Json, description: Description) -> Mapping[str, Json]:
    """Return the properties of an object schema, those of its `allOf` included; empty for other types."""
    found: dict[str, Json] = {}
    waiting = [schema]
    for _ in range(16):
        if not waiting:
            break
        followed = description.follow(waiting.pop(0))
        if not isinstance(followed, dict):
            continue
        fields = cast("dict[str, Json]", followed)
        if isinstance(fields.get("properties"), dict):
            found.update(fields["properties"])
        if isinstance(fields.get("allOf"), list):
            waiting.extend(fields["allOf"])
    return found


def _let_in(operation: Operation, _: Description) -> Iterator[str]:
    if operation.security is None:
        return
    ways = [each for each in operation.security if each.schemes]
    if not ways:
        yield "Needs no sign-in."
        return
    ways.sort(key=lambda way: not any(scopes for _, scopes in way.schemes))
    told = list(dict.fromkeys(_way(each) for each in ways))
    more = f", or {len(told) - _ALTERNATIVES} other ways" if len(told) > _ALTERNATIVES else ""
    optional = " It also answers without." if len(ways) < len(operation.security) else ""
    yield f"Needs {', or '.join(told[:_ALTERNATIVES])}{more}.{optional}"


def _way(requirement: Requirement) -> str:
    """Return one security requirement in words."""
    return " and ".join(_scheme(name, scopes) for name, scopes in requirement.schemes)


def _scheme(name: str, scopes: tuple[str, ...]) -> str:
    if not scopes:
        return f"sign-in by {_clipped(name)}"
    more = f" and {len(scopes) - _SCOPES} more" if len(scopes) > _SCOPES else ""
    return f"scope {', '.join(_clipped(scope) for scope in scopes[:_SCOPES])}{more} ({_clipped(name)})"


def _lasting(operation: Operation, _: Description) -> Iterator[str]:
    for response in operation.responses:
        if response.status == "202":
            headers = [name for name in response.headers if "location" in name.lower()]
            told = f" {_clipped(headers[0])} says where to ask." if headers else ""
            yield f"May answer 202: the work goes on after the answer.{told}"


def _uploads(operation: Operation, description: Description) -> Iterator[str]:
    for content in operation.body.contents if operation.body else ():
        if _is_file(content, description):
            yield f"Uploads a file as {_clipped(content.media)}."
            return


def _is_file(content: MediaType, description: Description) -> bool:
    """Return whether a body in one media type carries a file."""
    media = content.media.lower().split(";")[0].strip()
    if media == "application/octet-stream" or media.startswith(("image/", "video/", "audio/")):
        return True
    if not media.startswith("multipart/"):
        return False
    fields = properties_of(content.schema, description).values()
    return not fields or any(is_binary(each, description) for each in fields)


def is_binary(schema: Json, description: Description) -> bool:
    """Return whether a field is a file or a list of files."""
    followed = description.follow(schema)
    if isinstance(followed, dict) and "items" in followed:
        followed = description.follow(cast("dict[str, Json]", followed)["items"])
    if not isinstance(followed, dict):
        return False
    fields = cast("dict[str, Json]", followed)
    return fields.get("format") == "binary" or "contentMediaType" in fields


def _dry_run(operation: Operation, _: Description) -> Iterator[str]:
    for parameter in operation.parameters:
        if parameter.place == "query" and plain_name(parameter.name) in _TRIED and operation.method not in SAFE:
            yield f"Can be tried without effect: {_clipped(parameter.name)}."


def _bounded(operation: Operation, _: Description) -> Iterator[str]:
    if any(each.status == "429" for each in operation.responses):
        yield "Limits how often it may be called (429)."


def plain_name(name: str) -> str:
    """Return a name in lower case without brackets, dots, hyphens and underscores."""
    return _WORD.sub("", name.lower())


def _clipped(name: str) -> str:
    """Return a name from a description on one line, shortened."""
    line = " ".join(name.split())
    return line if len(line) <= _CLIP else f"{line[: _CLIP - 1]}…"


_FACTS: Final[tuple[Callable[[Operation, Description], Iterator[str]], ...]] = (
    _webhook,
    _deprecated,
    _repeatable,
    _let_in,
    _paginated,
    _lasting,
    _uploads,
    _dry_run,
    _bounded,
)
