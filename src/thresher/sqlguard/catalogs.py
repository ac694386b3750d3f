"""What a live database adds to the lists that ship: the statement to ask it with, and how its rows are read.

Invariant: pure; whoever holds a session runs the statement and hands the rows over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from thresher.sqlguard import duckdb, mssql, mysql, oracle, postgresql
from thresher.sqlguard.lists import with_users
from thresher.sqlguard.records import Dialect, Functions

_Reader: TypeAlias = Callable[[Iterable[Sequence[Any]], Collection[str]], Functions]

CATALOG_SQL: Final[Mapping[Dialect, str]] = {
    "postgresql": postgresql.CATALOG_SQL,
    "mysql": mysql.CATALOG_SQL,
    "mariadb": mysql.CATALOG_SQL,
    "duckdb": duckdb.CATALOG_SQL,
    "oracle": oracle.CATALOG_SQL,
    "mssql": mssql.CATALOG_SQL,
}
"""One statement for each dialect whose users can add functions, to be run in a session like those of queries."""

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
