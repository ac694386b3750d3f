"""JSON pointers (RFC 6901) and the fragments of references that carry them."""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import unquote

from thresher.openapi.records import Json

_DIGITS: Final = 9
"""Digits of a list's longest index."""


def escape(key: str) -> str:
    """One key as a part of a pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def unescape(part: str) -> str:
    """The key that a part of a pointer stands for."""
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def join(pointer: str, *keys: str | int) -> str:
    """The pointer of what stands under these keys."""
    for key in keys:
        pointer = f"{pointer}/{escape(key) if isinstance(key, str) else key}"
    return pointer


def split(pointer: str) -> tuple[str, ...]:
    """The keys of a pointer; none for the whole document."""
    parts = pointer.split("/")[1:]
    return tuple([unescape(part) for part in parts] if "~" in pointer else parts)


def parent(pointer: str) -> str:
    """The pointer of what holds this one's value; the whole document's for itself."""
    return pointer.rpartition("/")[0]


def pointer_of(ref: str) -> str | None:
    """The pointer that a reference into its own document carries (`#/components/...`); None for any other reference."""
    if ref in {"#", ""}:
        return ""
    if ref.startswith("/"):
        return ref
    if not ref.startswith("#/"):
        return None
    return unquote(ref[1:]) if "%" in ref else ref[1:]


def step(value: Json, key: str) -> tuple[bool, Json]:
    """What stands under a key of a mapping or a place of a list, and whether there is any."""
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return (True, entries[key]) if key in entries else (False, None)
    if not isinstance(value, list) or not key.isdecimal() or not key.isascii():
        return False, None
    listed = cast("list[Json]", value)
    if len(key) > _DIGITS or (key[0] == "0" and key != "0") or int(key) >= len(listed):
        return False, None
    return True, listed[int(key)]
