"""Names the databases that a caller sees, for rules that ask for them.

Invariant: nothing is asked of a database itself; what is not known yet is missing, and names are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.context.variables import VALUE_CHARACTERS, Situation, Variables
from thresher.core import ThresherError
from thresher.knowledge.databases import Connection, DatabaseService, TableBrief

_ROOM = VALUE_CHARACTERS - 20
"""Characters of all names: what is cut says how much."""
_MOST = 40
"""Tables that are looked at of one connection."""
_SHARE = 8
"""Connections that are named with tables: more would leave room for one table each."""


def name_datasources(variables: Variables, databases: DatabaseService) -> None:
    """Give `DATABASE_SERVERS` and `AVAILABLE_DATASOURCES` values, for the rules of all packs.

    Args:
        variables: Where they are registered.
        databases: Knows the connections and their tables.
    """

    async def servers(situation: Situation) -> str | None:
        return servers_line(await databases.list_connections(situation.caller))

    async def sources(situation: Situation) -> str | None:
        known = [one for one in await databases.list_connections(situation.caller) if one.tables][:_SHARE]
        tables: list[tuple[str, Sequence[TableBrief], int]] = []
        for one in known:
            try:
                found = await databases.list_tables(situation.caller, one.name, limit=_MOST)
            except ThresherError:
                continue  # the others can be named all the same
            tables.append((one.name, found.tables, found.total))
        return sources_line(tables)

    variables.register("DATABASE_SERVERS", servers)
    variables.register("AVAILABLE_DATASOURCES", sources)


def servers_line(connections: Sequence[Connection]) -> str | None:
    """All connections in one line, each with its engine."""
    return ", ".join(f"{one.name} ({one.dialect})" for one in connections) or None


def sources_line(connections: Sequence[tuple[str, Sequence[TableBrief], int]]) -> str | None:
    """Tables as `db:/connection/table`, as many of each connection as fit its share of one line.

    Args:
        connections: Name, some tables, and how many there are in all.
    """
    share = _ROOM // max(1, len(connections))
    parts = [_tables(name, tables, total, share) for name, tables, total in connections]
    return "; ".join(parts) or None


def _tables(connection: str, tables: Sequence[TableBrief], total: int, room: int) -> str:
    """The tables of one connection, in so many characters, and how many more there are."""
    several = len({table.schema for table in tables}) > 1
    taken: list[str] = []
    for table in tables:
        name = f"{table.schema}.{table.name}" if several and table.schema else table.name
        path = f"db:/{connection}/{name}"
        if sum(len(one) + 2 for one in taken) + len(path) + 18 > room:
            break
        taken.append(path)
    more = total - len(taken)
    listed = ", ".join(taken) or f"db:/{connection}"
    return f"{listed} and {more:,} more" if more else listed
