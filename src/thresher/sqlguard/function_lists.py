"""Which functions may be called: the lists that ship for each engine, and what a live database adds to them.

Invariant: pure, and a name that is not listed is refused. The lists are data (`functions/*.txt`), made from the
engines' catalogs and manuals and reviewed line by line. The owner of a session runs the statement in `CATALOG_SQL`.
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
    """Return the functions that may be called if nothing is known about the database.

    Args:
        dialect: A dialect whose list names only functions.
    """
    return Functions(frozenset(name for kind, name, _ in _lines(dialect) if kind == "function"))


def with_users(dialect: Dialect, rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions:
    """Return the shipped list combined with the users' functions of a database.

    Args:
        dialect: Its engine.
        rows: Schema and name of each user function.
        own: User functions that the owner of the connection allows, as `schema.name`.
    """
    allowed = listed(dialect).allowed
    users = {(str(schema).lower(), str(name).lower()) for schema, name, *_ in rows}
    names = frozenset(name for _, name in users)
    known = {f"{schema}.{name}" for schema, name in users}
    fields = names if dialect == "oracle" else frozenset[str]()
    return Functions(allowed, names & allowed, frozenset(name.lower() for name in own) & known, fields=fields)


@cache
def left_out(dialect: Dialect) -> dict[str, str]:
    """Return the functions that were reviewed and left out, with reasons."""
    return {name: why for kind, name, why in _lines(dialect) if kind == "refused"}


@cache
def _lines(dialect: Dialect) -> tuple[tuple[str, str, str], ...]:
    """Return kind, name and reason of every line of a list."""
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
"""A statement for each dialect whose users can add functions, to be run in a session like those of queries. Except for
PostgreSQL it returns schema and name of each user function (in Oracle also its synonyms).
"""

_READERS: Final[Mapping[Dialect, _Reader]] = {
    dialect: postgresql.functions_of if dialect == "postgresql" else functools.partial(with_users, dialect)
    for dialect in CATALOG_SQL
}


def functions_of(dialect: Dialect, rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions | None:
    """Return which functions of a database only compute or read.

    Args:
        dialect: Its engine.
        rows: Result of the statement in `CATALOG_SQL`.
        own: User functions that the owner of the connection allows, as `schema.name`.

    Returns:
        The functions; None if the engine is not asked and the shipped list applies.
    """
    reader = _READERS.get(dialect)
    return reader(rows, own) if reader else None
