"""The engines' own verdicts: a bare driver session in a read-only transaction, with a role that may write.

None of our code is involved: the engine itself decides what is a write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final

import duckdb
import psycopg
import pymysql
from sqlalchemy import make_url

from tests.hostile_sql.engines import Live

Referee = Callable[[str], str]
"""Runs a statement and returns the engine's error if it was a write or connected elsewhere, else nothing."""

_READ_ONLY: Final = 1792
"""MariaDB: cannot execute statement in a READ ONLY transaction."""
_NOT_READS: Final = ("read-only", "readonly", "Permission Error", "disabled by configuration", "not authorized")


@contextmanager
def referee(live: Live) -> Iterator[Referee]:
    """Return the referee of an engine."""
    with {
        "postgresql": _postgresql,
        "sqlite": _sqlite,
        "duckdb": _duckdb,
        "mariadb": _mariadb,
    }[live.name](live.url) as judge:
        yield judge


@contextmanager
def _postgresql(url: str) -> Iterator[Referee]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set statement_timeout = '300ms'")
        connection.execute("set default_transaction_read_only = on")

        def run(sql: str) -> str:
            try:
                connection.execute("begin read only")
                connection.execute(sql.encode(), prepare=True).fetchmany(3)
            except psycopg.errors.ReadOnlySqlTransaction as error:
                return str(error)
            except psycopg.Error:
                return ""
            finally:
                connection.execute("rollback")
            return ""

        yield run


@contextmanager
def _sqlite(url: str) -> Iterator[Referee]:
    with closing(sqlite3.connect(f"file:{url.removeprefix('sqlite:///')}?mode=ro", uri=True)) as connection:
        yield lambda sql: _telling(lambda: connection.execute(sql).fetchmany(3), sqlite3.Error)


@contextmanager
def _duckdb(url: str) -> Iterator[Referee]:
    settings: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false"}
    with duckdb.connect(url.removeprefix("duckdb:///"), read_only=True, config=settings) as connection:
        yield lambda sql: _telling(lambda: connection.execute(sql).fetchmany(3), duckdb.Error)


def _telling(run: Callable[[], object], errors: type[Exception]) -> str:
    try:
        run()
    except errors as error:
        return str(error) if any(words in str(error) for words in _NOT_READS) else ""
    return ""


@contextmanager
def _mariadb(url: str) -> Iterator[Referee]:
    address = make_url(url)
    with closing(
        pymysql.connect(
            host=address.host,
            port=address.port or 3306,
            unix_socket=address.query.get("unix_socket"),
            user=address.username,
            password=str(address.password),
            database=address.database,
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("set session max_statement_time = 0.3")

        def run(sql: str) -> str:
            try:
                cursor.execute("start transaction read only")
                cursor.execute(sql)
                cursor.fetchmany(3)
            except pymysql.Error as error:
                return str(error) if error.args and error.args[0] == _READ_ONLY else ""
            finally:
                connection.rollback()
            return ""

        yield run
