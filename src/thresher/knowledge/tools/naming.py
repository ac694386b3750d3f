"""Gives each tool the name that clients see, `server_tool`, and finds names near a mistyped one.

Invariant: a name has at most 64 characters of `[A-Za-z0-9_.-]` (128 where a server's names go out unchanged), no two
tools share one, and the same catalogue always gives the same names - a tool that comes later never renames an earlier
one.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable

NAME_LIMIT = 64
"""Longest name that every known client accepts (the specification allows 128)."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_.-]")
_OWN = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NEAR_POOL = 300


def expose(
    tools: Iterable[tuple[str, str]],
    reserved: frozenset[str] = frozenset(),
    *,
    bare: frozenset[str] = frozenset(),
) -> list[str]:
    """Name the tools of one catalogue.

    Args:
        tools: (server, tool) in the order in which the catalogue learnt of them.
        reserved: Names that no tool may take (the gateway's own).
        bare: Servers whose tools keep their own names, where these are valid and still free.

    Returns:
        One name a tool, in the same order.
    """
    taken = set(reserved)
    names: list[str] = []
    for server, tool in tools:
        own = server in bare and tool not in taken and _OWN.fullmatch(tool) is not None
        name = tool if own else _free(server, tool, taken)
        taken.add(name)
        names.append(name)
    return names


def _free(server: str, tool: str, taken: set[str]) -> str:
    full = f"{server}_{tool}"
    plain = _FORBIDDEN.sub("_", full)
    lossless = full.isascii() and len(plain) <= NAME_LIMIT
    if lossless and plain not in taken:
        return plain
    digest = hashlib.sha256(f"{server}/{tool}".encode("utf-8", "replace")).hexdigest()
    for length in range(6, 65):
        name = f"{plain[: NAME_LIMIT - length - 1]}_{digest[:length]}"[:NAME_LIMIT]
        if name not in taken:
            return name
    raise AssertionError("two different tools have the same SHA-256")


def nearest(name: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Known names that look like a mistyped one, best first.

    Only names that share a word or a beginning with it are compared in full, so that a catalogue of 10,000 costs
    milliseconds.
    """
    words = {word.lower() for word in _WORD.findall(name)}
    head = name[:3].lower()

    def overlap(candidate: str) -> int:
        lowered = candidate.lower()
        return sum(len(word) for word in words if word in lowered) + (2 if lowered.startswith(head) else 0)

    pool = sorted(((overlap(candidate), candidate) for candidate in known), key=lambda pair: (-pair[0], pair[1]))
    close = [candidate for _, candidate in pool[:_NEAR_POOL]]
    return tuple(difflib.get_close_matches(name, close, n=limit, cutoff=0.5))


def did_you_mean(near: tuple[str, ...]) -> str:
    """A sentence that offers the near names; empty when there are none."""
    return f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
