"""Gives each tool the name that clients see, `server_tool`; `server.tool` where that reads as another server's tool.

Invariant: a name has at most 64 characters of `[A-Za-z0-9_.-]` (128 where a server's names go out unchanged), no two
tools share one, and the same catalogue always gives the same names - a tool that comes later never renames an earlier
one, but a server does whose name an earlier tool of another one took for a prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

NAME_LIMIT = 64
"""Longest name that every known client accepts (the specification allows 128)."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_.-]")
_OWN = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_REMAINDER = ":"


def plain_name(server: str) -> str:
    """A server's name as people say it: that of a local one, `deploy:pack`, without what tells it from others."""
    return server.partition(_REMAINDER)[0]


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
    tools = list(tools)
    servers = frozenset(_clean(plain_name(server)) for server, _ in tools)
    taken = set(reserved)
    names: list[str] = []
    for server, tool in tools:
        said = plain_name(server)
        own = server in bare and tool not in taken and _OWN.fullmatch(tool) is not None
        if own and not _poses(tool, len(said) if tool.startswith(f"{said}_") else 0, servers):
            name = tool
        else:
            name = _free(said, tool, taken, servers)
        taken.add(name)
        names.append(name)
    return names


def _clean(name: str) -> str:
    return _FORBIDDEN.sub("_", name)


def _poses(name: str, start: int, servers: frozenset[str]) -> bool:
    """Whether a name begins like the tools of a server whose name is longer than `start` characters."""
    return any(name[: found.start()] in servers for found in re.finditer("_", name) if found.start() > start)


def _free(server: str, tool: str, taken: set[str], servers: frozenset[str]) -> str:
    full = f"{server}_{tool}"
    if _poses(_clean(full), len(server), servers):
        full = f"{server}.{tool}"
    plain = _clean(full)
    lossless = full.isascii() and len(plain) <= NAME_LIMIT
    if lossless and plain not in taken:
        return plain
    digest = hashlib.sha256(f"{server}/{tool}".encode("utf-8", "replace")).hexdigest()
    for length in range(6, 65):
        name = f"{plain[: NAME_LIMIT - length - 1]}_{digest[:length]}"[:NAME_LIMIT]
        if name not in taken:
            return name
    raise AssertionError("two different tools have the same SHA-256")
