"""The names that clients call tools by: `server_tool`, or `server.tool` if that would read as another server's tool.

Invariant: pure. No two tools share a name, and a later tool never renames an earlier one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from thresher.knowledge.tools.models import plain_name

NAME_LIMIT = 64
"""The longest name that every known client accepts (the specification allows 128)."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_.-]")
_OWN = re.compile(r"[A-Za-z0-9_.-]{1,128}")


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
        bare: Servers whose tools keep their own names, if these are valid and still free.

    Returns:
        One name per tool, in the same order.
    """
    tools = list(tools)
    servers = frozenset(_clean(plain_name(server)) for server, _ in tools)
    taken = set(reserved)
    names: list[str] = []
    for server, tool in tools:
        plain = plain_name(server)
        own = server in bare and tool not in taken and _OWN.fullmatch(tool) is not None
        if own and not _looks_like_prefix(tool, len(plain) if tool.startswith(f"{plain}_") else 0, servers):
            name = tool
        else:
            name = _free_name(plain, tool, taken, servers)
        taken.add(name)
        names.append(name)
    return names


def _clean(name: str) -> str:
    return _FORBIDDEN.sub("_", name)


def _looks_like_prefix(name: str, start: int, servers: frozenset[str]) -> bool:
    """Return whether a name begins like the tools of a server whose name is longer than `start` characters."""
    return any(name[: found.start()] in servers for found in re.finditer("_", name) if found.start() > start)


def _free_name(server: str, tool: str, taken: set[str], servers: frozenset[str]) -> str:
    full = f"{server}_{tool}"
    if _looks_like_prefix(_clean(full), len(server), servers):
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
