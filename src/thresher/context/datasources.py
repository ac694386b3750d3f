"""Names the databases that a caller sees, for rules that ask for them.

Invariant: nothing is asked of a database itself; what is not known yet is missing, and names are bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

from thresher.context.variables import VALUE_CHARACTERS, Situation, Variables
from thresher.core import Caller, ThresherError, named
from thresher.knowledge.databases import Connection, DatabaseService, TableBrief

_ROOM = VALUE_CHARACTERS - 20
"""Characters of all names: what is cut says how much."""
_MOST = 40
"""Tables that are looked at of one connection."""
_SHARE = 8
"""Connections that are named with tables: more would leave room for one table each."""
_SECONDS = 0.15
"""How long tables are waited for: below what a value may take in all."""

_Tables: TypeAlias = tuple[str, Sequence[TableBrief], int]
"""A connection's name, some of its tables, and how many there are in all."""


def name_datasources(variables: Variables, databases: DatabaseService) -> None:
    """Give `DATABASE_CONNECTIONS` and `AVAILABLE_DATASOURCES` values, for the rules of all packs.

    Args:
        variables: Where they are registered.
        databases: Knows the connections and their tables.
    """
    asked: set[asyncio.Task[_Tables | None]] = set()

    async def all_connections(situation: Situation) -> str | None:
        return servers_line(await databases.list_connections(situation.caller))

    async def sources(situation: Situation) -> str | None:
        known = [one for one in await databases.list_connections(situation.caller) if one.tables][:_SHARE]
        tasks = [asyncio.create_task(_some_tables(databases, situation.caller, one.name)) for one in known]
        asked.update(tasks)
        for task in tasks:
            task.add_done_callback(asked.discard)
        if tasks:
            # A large schema goes on being unpacked, and stands there the next time.
            await asyncio.wait(tasks, timeout=_SECONDS)
        pairs = zip(known, tasks, strict=True)
        found = [task.result() if task.done() else (one.name, (), one.tables) for one, task in pairs]
        return sources_line([one for one in found if one is not None])

    variables.register("DATABASE_CONNECTIONS", all_connections)
    variables.register("AVAILABLE_DATASOURCES", sources)


async def _some_tables(databases: DatabaseService, caller: Caller, name: str) -> _Tables | None:
    """Some tables of a connection; None where it has gone or cannot say: others can be named all the same."""
    try:
        found = await databases.list_tables(caller, name, limit=_MOST)
    except ThresherError:
        return None
    return name, found.tables, found.total


def servers_line(connections: Sequence[Connection]) -> str | None:
    """All connections in one line, each with its engine."""
    return ", ".join(f"{named(one.name)} ({one.dialect})" for one in connections) or None


def sources_line(connections: Sequence[_Tables]) -> str | None:
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
        path = named(f"db:/{connection}/{name}", VALUE_CHARACTERS)
        if sum(len(one) + 2 for one in taken) + len(path) + 18 > room:
            break
        taken.append(path)
    more = total - len(taken)
    listed = ", ".join(taken) or named(f"db:/{connection}")
    return f"{listed} and {more:,} more" if more else listed
