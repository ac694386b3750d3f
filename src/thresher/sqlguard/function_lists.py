"""What a live database adds to the lists that ship: the statement to ask it with, and how its rows are read.

Invariant: pure; whoever holds a session runs the statement and hands the rows over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from thresher.sqlguard import postgresql
from thresher.sqlguard.records import Dialect, Functions


@cache
def listed(dialect: Dialect) -> Functions:
    """The functions that may be called where nothing is known of the database.

    Args:
        dialect: One of those whose list names functions only.
    """
    return Functions(frozenset(name for kind, name, _ in _lines(dialect) if kind == "function"))


def with_users(dialect: Dialect, rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions:
    """The list that ships, and what the users of a database added.

    Args:
        dialect: Its engine.
        rows: Schema and name of each of their functions.
        own: Those of them that who set up the connection allows, as `schema.name`.
    """
    allowed = listed(dialect).allowed
    users = {(str(schema).lower(), str(name).lower()) for schema, name, *_ in rows}
    names = frozenset(name for _, name in users)
    known = {f"{schema}.{name}" for schema, name in users}
    fields = names if dialect == "oracle" else frozenset[str]()
    return Functions(allowed, names & allowed, frozenset(name.lower() for name in own) & known, fields=fields)


@cache
def left_out(dialect: Dialect) -> dict[str, str]:
    """Functions that were looked at and left out, with the reason."""
    return {name: why for kind, name, why in _lines(dialect) if kind == "refused"}


@cache
def _lines(dialect: Dialect) -> tuple[tuple[str, str, str], ...]:
    """Kind, name and reason of every line of a list."""
    text = files("thresher.sqlguard").joinpath("functions", f"{dialect}.txt").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple((line[0], line[1], line[2] if len(line) > 2 else "") for line in lines)


_Reader: TypeAlias = Callable[[Iterable[Sequence[Any]], Collection[str]], Functions]

_MYSQL: Final = "select routine_schema, routine_name from information_schema.routines where routine_type = 'FUNCTION'"
_ORACLE: Final = """
    select owner, object_name from all_objects where object_type = 'FUNCTION' and oracle_maintained = 'N'
    union select s.owner, s.synonym_name from all_synonyms s join all_objects o
        on o.owner = s.table_owner and o.object_name = s.table_name
        where o.object_type = 'FUNCTION' and o.oracle_maintained = 'N'
"""
_MSSQL: Final = """
    select s.name, o.name from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
    where o.type in ('FN', 'IF', 'TF', 'FS', 'FT', 'AF')
"""

CATALOG_SQL: Final[Mapping[Dialect, str]] = {
    "postgresql": postgresql.CATALOG_SQL,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "duckdb": "select distinct schema_name, function_name from duckdb_functions() where not internal",
    "oracle": _ORACLE,
    "mssql": _MSSQL,
}
"""One statement for each dialect whose users can add functions, to be run in a session like those of queries:
for those beside PostgreSQL, schema and name of each function of a user (in Oracle, also other names for them)."""

_READERS: Final[Mapping[Dialect, _Reader]] = {
    dialect: postgresql.functions_of if dialect == "postgresql" else functools.partial(with_users, dialect)
    for dialect in CATALOG_SQL
}


def functions_of(dialect: Dialect, rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions | None:
    """Which functions a database has that only compute or read.

    Args:
        dialect: Its engine.
        rows: Of the statement in `CATALOG_SQL`.
        own: Functions of users that who set up the connection allows, as `schema.name`.

    Returns:
        None where the engine is not asked: the list that ships counts.
    """
    reader = _READERS.get(dialect)
    return reader(rows, own) if reader else None
