"""JSON pointers (RFC 6901) and the fragments of references that carry them."""

from __future__ import annotations

from typing import Final, cast
from urllib.parse import unquote

from thresher.openapi.records import Json

_DIGITS: Final = 9
"""Most digits of a list index."""


def escape(key: str) -> str:
    """Escape one key for use in a pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def unescape(part: str) -> str:
    """Return the key that a segment of a pointer stands for."""
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def join(pointer: str, *keys: str | int) -> str:
    """Return the pointer of the value under these keys."""
    for key in keys:
        pointer = f"{pointer}/{escape(key) if isinstance(key, str) else key}"
    return pointer


def split(pointer: str) -> tuple[str, ...]:
    """Return the keys of a pointer; none for the whole document."""
    parts = pointer.split("/")[1:]
    return tuple([unescape(part) for part in parts] if "~" in pointer else parts)


def parent(pointer: str) -> str:
    """Return the pointer of the container; the document's own pointer for itself."""
    return pointer.rpartition("/")[0]


def pointer_of(ref: str) -> str | None:
    """Return the pointer in a reference into its own document (`#/components/...`); None for any other reference."""
    if ref in {"#", ""}:
        return ""
    if ref.startswith("/"):
        return ref
    if not ref.startswith("#/"):
        return None
    return unquote(ref[1:]) if "%" in ref else ref[1:]


def step(value: Json, key: str) -> tuple[bool, Json]:
    """Return whether a mapping or list has an entry under a key, and the entry."""
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return (True, entries[key]) if key in entries else (False, None)
    if not isinstance(value, list) or not key.isdecimal() or not key.isascii():
        return False, None
    listed = cast("list[Json]", value)
    if len(key) > _DIGITS or (key[0] == "0" and key != "0") or int(key) >= len(listed):
        return False, None
    return True, listed[int(key)]
