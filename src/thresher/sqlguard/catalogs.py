"""What a live database adds to the lists that ship: the statement to ask it with, and how its rows are read.

Invariant: pure; whoever holds a session runs the statement and hands the rows over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from thresher.sqlguard import postgresql
from thresher.sqlguard.lists import with_users
from thresher.sqlguard.records import Dialect, Functions

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
