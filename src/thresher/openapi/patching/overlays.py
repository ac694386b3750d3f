"""Edits as an OpenAPI Overlay 1.0 document (https://spec.openapis.org/overlay/v1.0.0.html)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from thresher.openapi.patching.documents import walked
from thresher.openapi.pointers import join, parent, split
from thresher.openapi.records import Edit, Json

_SPECIAL: Final = re.compile(r"['\\\x00-\x1f]")
_SHORT: Final = {"'": "\\'", "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def overlay_of(edits: Iterable[Edit], root: Mapping[str, Json], title: str) -> dict[str, Json]:
    """The overlay that sets these values.

    An overlay merges: a list or a mapping that is to be replaced is removed first.

    Args:
        edits: Whose parents are mappings of the document.
        root: The document that they are for.
        title: Of the overlay.
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
    """A pointer as a normalized JSONPath (RFC 9535, 2.7)."""
    path, at = "$", ""
    for key in split(pointer):
        _, holder = walked(root, split(at))
        path += f"[{key}]" if isinstance(holder, list) else f"['{_SPECIAL.sub(_escaped, key)}']"
        at = join(at, key)
    return path


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    return _SHORT.get(sign) or f"\\u{ord(sign):04x}"
