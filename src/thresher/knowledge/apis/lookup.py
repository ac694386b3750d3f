"""Which operation is meant by a method and a path, or by an operationId.

Invariant: pure; one operation, or an error that names those it could be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final
from urllib.parse import unquote

from thresher.core import InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.apis.shelf import Located

_NAMED: Final = 10
_HINT: Final = "Search the APIs for what it does, or list the operations of a tag."
_PLACE: Final = re.compile(r"\{[^{}]*\}")
_NONE: Final = (-1, 0)
_LIKE: Final = 0.75
"""Names are offered that are so much like the one that was given."""


def by_operation_id(located: Sequence[Located], operation_id: str) -> Located:
    """The operation with an operationId.

    Raises:
        NotFound: There is none; the hint offers near ones.
        InvalidInput: There are several; the hint lists them.
    """
    found = [one for one in located if one.brief.operation_id == operation_id]
    found = found or [one for one in located if one.brief.operation_id.lower() == operation_id.lower()]
    if not found:
        near = _near(operation_id, {one.brief.operation_id for one in located})
        raise NotFound(
            f"There is no operation with the operationId '{operation_id[:200]}'.", hint=f"{near} {_HINT}".strip()
        )
    return _only(found, f"the operationId '{operation_id[:200]}'")


def by_path(located: Sequence[Located], method: str, path: str) -> Located:
    """The operation with a method and a path, as the description writes it or as it is called.

    Args:
        located: Those that it may be.
        method: Of any case; empty where the path has only one.
        path: `/issue/{id}`, `/issue/ABC-1`, or a whole address.

    Raises:
        NotFound: There is none; the hint offers near ones.
        InvalidInput: There are several; the hint lists them.
    """
    wanted = method.strip().upper()
    found = _of_path(located, path.strip())
    there = [one for one in found if wanted in {"", one.brief.method.upper()}]
    if there:
        return _only(there, f"'{f'{wanted} {path[:200]}'.strip()}'")
    if found:
        methods = ", ".join(sorted({one.brief.method for one in found}))
        raise NotFound(f"'{path[:200]}' has no method {wanted[:20]}.", hint=f"It has {methods}.")
    keys = {one.brief.key if wanted else one.brief.path for one in located}
    near = _near(f"{wanted} {path[:300]}".strip(), keys)
    raise NotFound(f"There is no operation '{f'{wanted} {path[:200]}'.strip()}'.", hint=f"{near} {_HINT}".strip())


def _near(name: str, known: Iterable[str]) -> str:
    """A sentence that offers names which are nearly this one; empty without any."""
    close = nearest(name[:300], known)
    return did_you_mean(tuple(one for one in close if SequenceMatcher(None, name.lower(), one.lower()).ratio() > _LIKE))


def _of_path(located: Sequence[Located], path: str) -> list[Located]:
    """Operations of a path: as it is written, else those whose places it fills, the fewest places first."""
    exact = [one for one in located if one.brief.path == path]
    if exact:
        return exact
    called = _segments(_path_of(path))
    best: list[Located] = []
    most = _NONE
    for one in located:
        for segments in _forms(called, one):
            fit = _fit(_segments(one.brief.path), segments)
            if fit > most:
                most, best = fit, []
            if fit == most and fit != _NONE:
                best.append(one)
                break
    return best


def _path_of(text: str) -> str:
    """The path of what may be a whole address, without query and fragment."""
    if "://" in text:
        text = f"/{text.partition('://')[2].partition('/')[2]}"
    return re.split(r"[?#]", text, maxsplit=1)[0]


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _forms(called: list[str], one: Located) -> Iterable[list[str]]:
    """The path as it is, and without what a base address of the API begins it with."""
    yield called
    for server in (*one.version.servers, one.provider.base_url):
        base = _segments(_path_of(server)) if "/" in server else []
        if base and base != [""] and called[: len(base)] == base and len(called) > len(base):
            yield called[len(base) :]


def _fit(template: Sequence[str], called: Sequence[str]) -> tuple[int, int]:
    """How many segments are the same, and characters of the others, which fill places; (-1, 0) where it is no fit."""
    if len(template) != len(called):
        return _NONE
    same = letters = 0
    for mine, given in zip(template, called, strict=True):
        if mine.lower() == given.lower():
            same += 1
            continue
        parts = _PLACE.split(mine.lower())
        if len(parts) == 1 or not _fills(parts, unquote(given).lower()):
            return _NONE
        letters += sum(map(len, parts))
    return same, letters


def _fills(parts: Sequence[str], given: str) -> bool:
    """Whether a segment has these parts in order, with something between each two, such as `{id}:restore`.

    Each part is taken where it first comes, so that the time is that of reading the segment once.
    """
    first, *middle, last = parts
    if not given.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = given.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return len(given) - len(last) > at and given.endswith(last)


def _only(found: Sequence[Located], what: str) -> Located:
    if len(found) == 1:
        return found[0]
    listed = [f"{one.brief.endpoint} ({one.provider.name} {one.version.label}: {one.brief.key})" for one in found]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise InvalidInput(
        f"{len(found)} operations go by {what}.",
        hint=f"Ask by id, or name provider, version and method: {'; '.join(listed[:_NAMED])}{more}.",
    )
