"""Whether something delivered is what a case names.

Invariant: names are compared in lower case and without extra spaces; a tool may be named as a model calls it, as
`server:name`, or by its server's own name for it, and other kinds in the same spirit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, cast

from thresher.core import Caller, Piece
from thresher.knowledge.tools import ToolService

PARTS: Final = {
    "tools": "tools",
    "intents": "rules",
    "documents": "passages",
    "endpoints": "endpoints",
    "tables": "schemas",
}
"""The kinds of names, and the kind of piece that each names."""


async def server_names(tools: ToolService, caller: Caller) -> dict[str, str]:
    """Return `server:name` of each tool by the name that a model calls."""
    return {tool.name: f"{tool.tool.server}:{tool.tool.name}" for tool in await tools.list_tools(caller)}


def names_of(piece: Piece, servers: Mapping[str, str]) -> frozenset[str]:
    """Return all names, in lower case, by which a case may call a piece, or what it holds.

    Args:
        piece: The piece of a context.
        servers: As `server_names` returns them.
    """
    data = piece.data

    def names() -> Iterator[str]:
        yield piece.name
        if piece.kind == "tools":
            yield from tool_names(piece.name, servers)
        elif piece.kind == "passages":
            yield from (f"{data['repository']}/{data['document']}", str(data["document"]))
        elif piece.kind == "endpoints":
            key = f"{data['method']} {data['path']}"
            yield from (key, f"{data['provider']}: {key}")
        elif piece.kind == "schemas":
            for table in cast("Sequence[str]", data["tables"]):
                plain = table.rpartition(".")[2]
                yield from (table, plain, f"{data['connection']}.{table}", f"{data['connection']}.{plain}")

    return frozenset(folded(name) for name in names())


def tool_names(name: str, servers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names by which a case may call a tool."""
    full = servers.get(name)
    return (name,) if full is None else (name, full, full.partition(":")[2])


def folded(name: str) -> str:
    """Return a name as it is compared."""
    return " ".join(name.lower().split())


def meets(name: str, own: Collection[str]) -> bool:
    """Return whether a name of a case is one of the names of a piece."""
    return folded(name) in own
