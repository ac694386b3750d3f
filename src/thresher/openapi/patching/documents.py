"""Edits of plain data: applying them, comparing documents, and writing them as an overlay."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from thresher.openapi.pointers import join, parent, split, step
from thresher.openapi.records import Edit, Json


def walked(root: Json, keys: Sequence[str]) -> tuple[bool, Json]:
    """Return whether there is a value under these nested keys, and the value. References are not followed."""
    there, value = True, root
    for key in keys:
        there, value = step(value, key)
        if not there:
            return False, None
    return there, value


def applied(root: Mapping[str, Json], edits: Iterable[Edit]) -> dict[str, Json]:
    """Return the document with the edits made; unchanged parts are shared with the original.

    Args:
        root: The document as plain data; not modified.
        edits: Edits whose parents are mappings in the document.
    """
    whole: dict[str, Json] = {"": dict(root)}
    for edit in edits:
        _opened(whole, parent(edit.pointer))[split(edit.pointer)[-1]] = edit.value
    return whole[""]


def differences(one: Json, other: Json) -> Iterator[str]:
    """Yield the pointers of the smallest parts in which two documents differ."""
    stack: list[tuple[Json, Json, str]] = [(one, other, "")]
    while stack:
        here, there, pointer = stack.pop()
        if here is there:
            continue
        if isinstance(here, dict) and isinstance(there, dict):
            mine, theirs = cast("dict[str, Json]", here), cast("dict[str, Json]", there)
            yield from (join(pointer, key) for key in mine.keys() ^ theirs.keys())
            stack += [(mine[key], theirs[key], join(pointer, key)) for key in mine if key in theirs]
        elif isinstance(here, list) and isinstance(there, list):
            ours, others = cast("list[Json]", here), cast("list[Json]", there)
            if len(ours) != len(others):
                yield pointer
            pairs = zip(ours, others, strict=False)
            stack += [(a, b, join(pointer, at)) for at, (a, b) in enumerate(pairs)]
        elif _kind(here) is not _kind(there) or here != there:
            yield pointer


def _opened(whole: dict[str, Json], pointer: str) -> Json:
    """Return the container at a pointer, copied once along with everything that contains it."""
    if pointer not in whole:
        holder = _opened(whole, parent(pointer))
        last = split(pointer)[-1]
        key: Json = int(last) if type(holder) is list else last
        copied = copy.copy(cast("Json", holder[key]))
        holder[key] = whole[pointer] = copied
    return whole[pointer]


def _kind(value: Json) -> type:
    return value.__class__


_SPECIAL: Final = re.compile(r"['\\\x00-\x1f]")
_SHORT: Final = {"'": "\\'", "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def overlay_of(edits: Iterable[Edit], root: Mapping[str, Json], title: str) -> dict[str, Json]:
    """Return the OpenAPI Overlay that makes these edits.

    An overlay merges, so a list or mapping is removed before it is replaced.

    Args:
        edits: Edits whose parents are mappings in the document.
        root: The document to edit.
        title: Title of the overlay.
    """
    updates: dict[str, dict[str, Json]] = {}
    removed: list[str] = []
    for edit in edits:
        there, old = walked(root, split(edit.pointer))
        if there and isinstance(old, dict | list):
            removed.append(edit.pointer)
        updates.setdefault(parent(edit.pointer), {})[split(edit.pointer)[-1]] = edit.value
    actions: list[dict[str, Json]] = [{"target": json_path(root, pointer), "remove": True} for pointer in removed]
    actions += [{"target": json_path(root, pointer), "update": update} for pointer, update in updates.items()]
    return {"overlay": "1.0.0", "info": {"title": title, "version": "1.0.0"}, "actions": actions}


def json_path(root: Mapping[str, Json], pointer: str) -> str:
    """Return a pointer as a normalized JSONPath (RFC 9535, 2.7)."""
    path, at = "$", ""
    for key in split(pointer):
        _, holder = walked(root, split(at))
        path += f"[{key}]" if isinstance(holder, list) else f"['{_SPECIAL.sub(_escaped, key)}']"
        at = join(at, key)
    return path


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    return _SHORT.get(sign) or f"\\u{ord(sign):04x}"
