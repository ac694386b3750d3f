"""Finds the columns of a relation in the databases kind: live where there is a live server, else column information.

Invariant: columns have the names that the workspace gives them, whatever case the live server reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from thresher.connectors import ForeignKey, Table, keys_between, tables_of
from thresher.core import Caller, DatabaseUnavailable, InvalidInput, NotFound, QueryFailed, did_you_mean, nearest
from thresher.knowledge.databases import Connection, PotentialRelation, TableColumns, find_relations
from thresher.services import Services
from thresher.servoy import DataSource, TableFacts
from thresher.verbs.solutions.column_pairs import Inferred, Items, paired

_READABLE: Final = frozenset({"db", "mem"})
_LISTED: Final = 20
_Written: TypeAlias = Mapping[tuple[str, str], TableFacts]
"""The tables of the workspace by server and name; tables in memory have no server."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Both tables, potential relations around them, where they were read, and what the caller must know of that."""

    primary: Table
    foreign: Table
    potential: Sequence[PotentialRelation]
    place: str
    by_name: bool = False
    notes: tuple[str, ...] = ()


async def infer_columns(services: Services, caller: Caller, primary: DataSource, foreign: DataSource) -> Inferred:
    """The columns that relate two data sources: a declared key, else the best potential relation between the two.

    Tables in memory, and tables of two servers, are related by columns of equal names and types.

    Args:
        services: The running product.
        caller: The tenant and user; the workspace is that of their context.
        primary: Where the relation starts.
        foreign: Where it leads.

    Returns:
        `items`; or none, and the `question` to ask, if there is no way or several are equally good.

    Raises:
        InvalidInput: Neither the workspace nor a connection knows one of them; the hint offers similar names.
    """
    odd = next((one for one in (primary, foreign) if one.kind not in _READABLE), None)
    if odd is not None:
        return Inferred((), question=f"Which columns? Nothing is known here of the columns of {odd.text}.")
    workspace = (await services.solutions.working_in(caller))[0] or ""
    facts = await services.solutions.tables(caller, workspace) if workspace else ()
    known = {(one.server.casefold(), one.name.casefold()): one for one in facts}
    if primary.kind == foreign.kind == "db" and primary.server == foreign.server:
        found = await _of_server(services, caller, workspace, primary, foreign, known)
    else:
        left = await _alone(services, caller, workspace, primary, known)
        found = _Found(left, await _alone(services, caller, workspace, foreign, known), (), "", by_name=True)
    facts_of_both = known.get(_key(primary)), known.get(_key(foreign))
    found = _with_workspace_keys(found, *facts_of_both)
    inferred = paired(found.primary, found.foreign, found.potential, by_name=found.by_name)
    return _spelled(inferred, found, *facts_of_both)


async def _of_server(
    services: Services, caller: Caller, workspace: str, primary: DataSource, foreign: DataSource, known: _Written
) -> _Found:
    """Both tables as a connection has them; as the workspace has them if there is none, or it does not answer."""
    connection = await services.databases.server_connection(caller, workspace, primary.server)
    why = ""
    if connection is not None:
        try:
            return await _of_connection(services, caller, connection, primary, foreign)
        except (DatabaseUnavailable, QueryFailed, NotFound) as error:
            why = f"; {connection.name}: {error.message}"
    for one in (primary, foreign):
        if _key(one) not in known:
            raise _unknown(one, known, why)
    tables = tables_of(one for place, one in known.items() if place[0] == primary.server.casefold())
    named = {table.name.casefold(): table for table in tables}
    potential = await asyncio.to_thread(find_relations, tables)
    place = f"column information of the workspace{why}"
    return _Found(named[primary.table.casefold()], named[foreign.table.casefold()], potential, place)


async def _of_connection(
    services: Services, caller: Caller, connection: Connection, primary: DataSource, foreign: DataSource
) -> _Found:
    databases, name = services.databases, connection.name
    tables = [_table(await databases.get_table_columns(caller, name, one.table)) for one in (primary, foreign)]
    relations = await databases.find_relations(caller, name)
    place = f"{name} ({connection.dialect})" if connection.live else f"column information of {name}, no live server"
    return _Found(tables[0], tables[1], relations.potential, place, notes=relations.notes)


async def _alone(services: Services, caller: Caller, workspace: str, source: DataSource, known: _Written) -> Table:
    """One table: from the workspace, else from a connection."""
    if (facts := known.get(_key(source))) is not None:
        return tables_of([facts])[0]
    if source.kind == "db":
        connection = await services.databases.server_connection(caller, workspace, source.server)
        if connection is not None:
            return _table(await services.databases.get_table_columns(caller, connection.name, source.table))
    raise _unknown(source, known, "")


def _table(columns: TableColumns) -> Table:
    return Table(
        columns.schema,
        columns.table,
        "table",
        columns.columns,
        columns.primary_key,
        foreign_keys=columns.foreign_keys,
    )


def _with_workspace_keys(found: _Found, primary: TableFacts | None, foreign: TableFacts | None) -> _Found:
    """Both tables with the keys of the workspace, also if their database declares none."""
    if primary is None or foreign is None:
        return found
    left, right = found.primary, found.foreign
    return replace(
        found,
        primary=_holding(left, right, keys_between(primary, foreign)),
        foreign=_holding(right, left, keys_between(foreign, primary)),
    )


def _holding(table: Table, target: Table, keys: Iterable[ForeignKey]) -> Table:
    """A table with more keys to another, in the spelling of both; keys with columns that they lack are left out."""
    own, other = (({one.name.casefold(): one.name for one in each.columns}) for each in (table, target))
    added = tuple(
        ForeignKey(
            key.name,
            tuple(own[name.casefold()] for name in key.columns),
            target.schema,
            target.name,
            tuple(other[name.casefold()] for name in key.target_columns),
        )
        for key in keys
        if all(name.casefold() in own for name in key.columns)
        and all(name.casefold() in other for name in key.target_columns)
    )
    return replace(table, foreign_keys=(*table.foreign_keys, *added))


def _key(source: DataSource) -> tuple[str, str]:
    return source.server.casefold(), source.table.casefold()


def _unknown(source: DataSource, known: _Written, why: str) -> InvalidInput:
    """The error for a table that neither the workspace nor a connection knows."""
    of_server = [one.name for place, one in known.items() if place[0] == source.server.casefold()]
    servers = sorted({one.server for one in known.values() if one.server})
    if source.kind == "mem" or of_server:
        what = "table in memory" if source.kind == "mem" else f"table of the server '{source.server}'"
        return InvalidInput(f"There is no {what} '{source.table}'{why}.", hint=_near(source.table, of_server))
    return InvalidInput(
        f"Nothing is known of the database server '{source.server}'{why}.",
        hint=f"{_near(source.server, servers)} Or connect it: thresher db add {source.server} --url URL",
    )


def _near(name: str, known: Sequence[str]) -> str:
    return did_you_mean(nearest(name, known)) or f"There are: {', '.join(sorted(known)[:_LISTED]) or 'none'}."


def _spelled(inferred: Inferred, found: _Found, primary: TableFacts | None, foreign: TableFacts | None) -> Inferred:
    """The same in the workspace's spelling of columns, and with the place where they were read."""
    left, right = _spelling(primary), _spelling(foreign)

    def spelled(items: Items) -> Items:
        return tuple(
            replace(
                item,
                primary=left.get(item.primary.casefold(), item.primary),
                foreign=right.get(item.foreign.casefold(), item.foreign),
            )
            for item in items
        )

    noted = (f"Note: {note}." for note in found.notes)
    place = (f"read from: {found.place}",) if found.place else ()
    return replace(
        inferred,
        items=spelled(inferred.items),
        alternatives=tuple(spelled(items) for items in inferred.alternatives),
        evidence=(*inferred.evidence, *place, *found.notes) if inferred.items else (),
        question=" ".join((inferred.question, *noted)) if inferred.question else "",
    )


def _spelling(table: TableFacts | None) -> Mapping[str, str]:
    return {} if table is None else {column.name.casefold(): column.name for column in table.columns}
