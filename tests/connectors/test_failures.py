"""Driver errors: classified, with the database's message, without secrets."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from sqlalchemy.exc import OperationalError

from thresher.connectors.failures import failed
from thresher.core import DatabaseUnavailable, NotFound, QueryFailed, QueryTimeout, ThresherError


class Told(Exception):
    """An error that carries what a driver's would."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(fields)


def postgresql(code: str, message: str, *, hint: str | None = None, position: str | None = None) -> Told:
    """An error of psycopg from the server."""
    told = SimpleNamespace(message_primary=message, message_detail=None, message_hint=hint, statement_position=position)
    return Told(message, sqlstate=code, diag=told)


def oracle(code: str, message: str, offset: int = 0) -> Told:
    """An error of oracledb."""
    return Told(SimpleNamespace(full_code=code, message=f"{code}: {message}\nHelp: https://example.org", offset=offset))


SORTS: list[tuple[str, BaseException, type[ThresherError]]] = [
    ("postgresql", postgresql("57014", "canceling statement due to statement timeout"), QueryTimeout),
    ("postgresql", postgresql("55P03", "canceling statement due to lock timeout"), QueryTimeout),
    ("postgresql", postgresql("28P01", "password authentication failed"), DatabaseUnavailable),
    ("postgresql", postgresql("57P01", "terminating connection"), DatabaseUnavailable),
    ("postgresql", psycopg.OperationalError("connection failed: timeout expired"), DatabaseUnavailable),
    ("postgresql", postgresql("25006", "cannot execute INSERT in a read-only transaction"), QueryFailed),
    ("mysql", pymysql.err.OperationalError(3024, "maximum statement execution time exceeded"), QueryTimeout),
    ("mariadb", pymysql.err.OperationalError(1969, "Query execution was interrupted"), QueryTimeout),
    ("mariadb", pymysql.err.OperationalError(2003, "Can't connect to MySQL server on 'db7'"), DatabaseUnavailable),
    ("mariadb", pymysql.err.ProgrammingError(1146, "Table 'shop.t' doesn't exist"), QueryFailed),
    ("oracle", oracle("ORA-01013", "user requested cancel"), QueryTimeout),
    ("oracle", oracle("DPY-6005", "cannot connect to database (CONNECTION_ID=x)"), DatabaseUnavailable),
    ("oracle", oracle("ORA-00942", "table or view does not exist"), QueryFailed),
    ("mssql", Told("HYT00", "[HYT00] [Microsoft][ODBC Driver 18] Query timeout expired (0)"), QueryTimeout),
    ("mssql", Told("28000", "[28000] Login failed for user 'u'. (18456)"), DatabaseUnavailable),
    ("sqlite", Told("database is locked", sqlite_errorname="SQLITE_BUSY"), DatabaseUnavailable),
    ("sqlite", Told("interrupted", sqlite_errorname="SQLITE_INTERRUPT"), QueryTimeout),
    ("sqlite", Told("file is not a database", sqlite_errorname="SQLITE_NOTADB"), DatabaseUnavailable),
    ("duckdb", duckdb.InterruptException("INTERRUPT Error: Interrupted!"), QueryTimeout),
    ("duckdb", duckdb.IOException('IO Error: Could not set lock on file "/x": PID 5'), DatabaseUnavailable),
    ("duckdb", ConnectionResetError("reset"), DatabaseUnavailable),
    ("duckdb", UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), QueryFailed),
]


@pytest.mark.parametrize(("dialect", "error", "kind"), SORTS, ids=[f"{case[0]} {case[1]}"[:60] for case in SORTS])
def test_an_error_is_told_apart_by_its_number(dialect: str, error: BaseException, kind: type[ThresherError]) -> None:
    """Errors that allow a retry, time-outs, and errors in the statement."""
    assert type(failed(dialect, error)) is kind


@pytest.mark.parametrize(
    ("dialect", "error"),
    [
        ("duckdb", duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data of size 2.0 GiB")),
        ("duckdb", MemoryError("std::bad_alloc")),
        ("postgresql", MemoryError()),
    ],
)
def test_a_lack_of_memory_is_said_with_what_to_do(dialect: str, error: BaseException) -> None:
    """Whichever part of the driver met it."""
    problem = failed(dialect, error)

    assert type(problem) is QueryFailed
    assert "needs more memory" in problem.message
    assert "substr" in problem.hint


def test_the_message_is_the_databases_own_with_the_place() -> None:
    """The position is given as line and column; the database's hint is the hint."""
    error = postgresql("42703", 'column "x" does not exist', hint='Perhaps "y".', position="10")

    problem = failed("postgresql", error, "select\n  x from t")

    assert problem.message == 'column "x" does not exist (line 2, column 3)'
    assert problem.hint == 'Perhaps "y".'


def test_a_wrapper_is_taken_off() -> None:
    """SQLAlchemy's own text holds the statement and its values: only the driver's error is read."""
    inner = pymysql.err.ProgrammingError(1054, "Unknown column 'x' in 'field list'")

    problem = failed("mysql", OperationalError("select secret", {"password": "hunter2"}, inner))

    assert problem.message == "Unknown column 'x' in 'field list'"


def test_numbers_and_trimmings_of_a_driver_are_left_out() -> None:
    """The rest is a sentence."""
    told = Told(
        "42S22",
        "[42S22] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]Invalid column name 'x'. (207) (SQLExecDirectW)",
    )

    assert failed("mssql", told).message == "Invalid column name 'x'. (207)"
    assert failed("oracle", oracle("ORA-00904", '"X": invalid identifier', 7), "select x").message == (
        '"X": invalid identifier (line 1, column 8)'
    )


@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "oracle", "mssql", "sqlite", "duckdb"])
def test_no_credential_and_no_host_is_shown(dialect: str) -> None:
    """An address in a message loses its password; a failed sign-in shows neither host nor user."""
    shown = str(failed(dialect, Told("bad: postgresql://ann:hunter2@db/x password=hunter2")))
    refused = str(failed("postgresql", Told('connection to server at "db7" failed: authentication failed for "ann"')))

    assert "hunter2" not in shown
    assert "db7" not in refused
    assert "ann" not in refused


def test_sqlite_finds_the_word_that_it_names() -> None:
    """The position is reported if the word occurs once, and not if it occurs twice."""
    database = sqlite3.connect(":memory:")
    said: list[str] = []
    for sql in ("select 1,\n abc", "select abc, abc", "select 1 frm t"):
        with pytest.raises(sqlite3.Error) as caught:
            database.execute(sql)
        said.append(failed("sqlite", caught.value, sql).message)
    database.close()

    assert said == [
        "no such column: abc (line 2, column 2)",
        "no such column: abc",
        'near "t": syntax error (line 1, column 14)',
    ]


def test_duckdbs_caret_becomes_line_and_column() -> None:
    """Also where the line is so long that DuckDB shows only a part of it."""
    long = f"select {','.join('1' for _ in range(200))}, zz from range(3)"
    said: list[str] = []
    for sql in ("select 1,\n  foo from range(3)", long):
        with pytest.raises(duckdb.Error) as caught:
            duckdb.execute(sql)
        said.append(failed("duckdb", caught.value, sql).message)

    assert said[0].endswith("(line 2, column 3)")
    assert said[1].endswith(f"(line 1, column {long.index('zz') + 1})")


def test_an_error_of_ours_stays_itself() -> None:
    """It was said well already."""
    error = NotFound("There is no such file.")

    assert failed("sqlite", error) is error


def test_a_message_without_end_is_cut() -> None:
    """One line, some hundred characters."""
    message = failed("sqlite", Told("no such thing\n" * 10_000)).message

    assert len(message) < 700
    assert "\n" not in message


@pytest.mark.parametrize(
    ("dialect", "error"),
    [
        ("sqlite", Told("file is not a database", sqlite_errorname="SQLITE_NOTADB")),
        ("sqlite", Told("database disk image is malformed", sqlite_errorname="SQLITE_CORRUPT_INDEX")),
        ("sqlite", Told("unable to open database file", sqlite_errorname="SQLITE_CANTOPEN")),
        ("duckdb", duckdb.IOException('IO Error: The file "/x" exists, but it is not a valid DuckDB database file!')),
        ("duckdb", duckdb.IOException('IO Error: Cannot open file "/x": Permission denied')),
    ],
)
def test_a_file_is_not_told_of_as_a_server(dialect: str, error: BaseException) -> None:
    """The hint for a wrong file does not mention hosts and ports."""
    told = failed(dialect, error)

    assert isinstance(told, DatabaseUnavailable)
    assert "file" in str(told).lower()
    assert "host" not in str(told).lower()
