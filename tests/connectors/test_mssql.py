"""Sessions with SQL Server, by what would be sent to it: neither server nor driver can be had in a test."""

from __future__ import annotations

import datetime as dt
import struct
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import sqlglot

from tests.fakes.drivers import Error, Recorder
from thresher.connectors import Caps, SessionTag, mssql_catalog, read_address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.mssql_catalog import beginning, connection_text, moment
from thresher.core import InvalidInput, StatementRefused

TAG = SessionTag("Claude Desktop", "t", 4711)
_PARSED = ("TABLES", "COLUMNS", "KEYS", "FOREIGN_KEYS", "STAMP", "WHO", "WRITABLE", "SESSION")


class Odbc:
    """The driver's module, and its connections by the text that they were made with."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.connections: list[Recorder] = []

    def connect(self, text: str, **options: Any) -> Recorder:
        """Take down the text."""
        self.texts.append(text)
        self.connections.append(Recorder(answer))
        self.connections[-1].autocommit = options["autocommit"]
        return self.connections[-1]


def answer(statement: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """A small database."""
    known: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]] = {
        mssql_catalog.WHO: (("A",), [("Microsoft SQL Server 2022\n\tmore", "reader", "shop", "dbo")]),
        mssql_catalog.STAMP: (("S",), [("5-2026",)]),
        mssql_catalog.TABLES: (("A",), [("dbo", "emp", "table", None, 14)]),
        mssql_catalog.COLUMNS: (("A",), [("dbo", "emp", "id", "int", "int", False, "identity", None)]),
        mssql_catalog.KEYS: (("A",), [("dbo", "emp", "pk", True, "id")]),
        mssql_catalog.WRITABLE: (("A",), [("INSERT in this database",)]),
    }
    if statement == "dear":
        raise Error("42000", "[42000] the estimated cost exceeds the threshold (8649) (SQLExecDirectW)")
    if statement.startswith("select id"):
        return ("id",), [(number,) for number in range(5)]
    return known.get(statement, ((), []))


@pytest.fixture
def odbc(monkeypatch: pytest.MonkeyPatch) -> Odbc:
    """A driver that takes down what it is asked for."""
    odbc = Odbc()
    module = ModuleType("pyodbc")
    module.connect, module.Error, module.pooling = odbc.connect, Error, True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyodbc", module)
    monkeypatch.delitem(sys.modules, "thresher.connectors.mssql", raising=False)
    return odbc


@pytest.fixture
def session(odbc: Odbc) -> Any:
    """A session by that driver."""
    address = read_address("mssql+pyodbc://reader:correct%7Dhorse@h/shop?Encrypt=strict")
    session = import_module("thresher.connectors.mssql").open_mssql(address, ConnectorOptions()).open()
    yield session
    sys.modules.pop("thresher.connectors.mssql", None)


@pytest.mark.parametrize("name", _PARSED)
def test_statements_over_the_catalog_are_t_sql(name: str) -> None:
    """Each is one statement of SQL Server's dialect that only reads."""
    parsed = sqlglot.parse(getattr(mssql_catalog, name), dialect="tsql")

    assert len(parsed) == 1
    assert isinstance(parsed[0], sqlglot.exp.Query)


def test_a_question_has_a_session_of_its_own(session: Any, odbc: Odbc) -> None:
    """Settings first, one statement, stopped at the cap, rolled back and closed; no driver's pool keeps it."""
    rows = session.run("select id from emp", TAG, Caps(rows=2, seconds=1.2))
    session.run("select id from emp", TAG, Caps())
    log = odbc.connections[0].log

    assert log[0].startswith("set nocount on; set xact_abort on; set quoted_identifier on;")
    assert log[1:] == ["select id from emp", "cancel", "rollback", "close"]
    assert (rows.rows, rows.more, odbc.connections[0].timeout) == (((0,), (1,)), True, 2)
    assert (len(odbc.connections), odbc.connections[0].autocommit) == (2, False)
    assert sys.modules["pyodbc"].pooling is False


def test_the_server_is_told_who_asks_and_that_only_reading_is_meant(session: Any, odbc: Odbc) -> None:
    """APP and CONTEXT_INFO hold the tag; a password with a brace begins no option of its own."""
    session.describe(TAG)

    assert "ApplicationIntent={ReadOnly}" in odbc.texts[0]
    assert "APP={thresher Claude_Desktop t #4711}" in odbc.texts[0]
    assert "PWD={correct}}horse};" in odbc.texts[0]
    assert "Encrypt={strict}" in odbc.texts[0]
    assert f"set context_info 0x{b'thresher Claude_Desktop t #4711'.hex()}" in odbc.connections[0].log[0]


def test_a_plan_is_made_in_a_session_that_runs_nothing(session: Any, odbc: Odbc) -> None:
    """SHOWPLAN is on until the session ends."""
    session.explain("select id from emp", TAG, 5)

    assert odbc.connections[0].log[1:] == ["set showplan_all on", "select id from emp", "rollback", "close"]


def test_what_the_server_holds_too_dear_is_refused(session: Any) -> None:
    """Its cost limit is the guard's rule `cost`."""
    with pytest.raises(StatementRefused) as caught:
        session.run("dear", TAG, Caps())

    assert caught.value.rule == "cost"


def test_schema_and_health_are_read(session: Any) -> None:
    """Rows of the catalog become tables; rights are reported."""
    schema, health = session.reflect(10), session.health()

    assert (schema.default_schema, schema.stamp, schema.version) == ("dbo", "5-2026", "Microsoft SQL Server 2022")
    assert (schema.tables[0].name, schema.tables[0].primary_key) == ("emp", ("id",))
    assert (health.user, health.database, health.writable) == ("reader", "shop", ("INSERT in this database",))


def test_knowledge_tells_how_quotes_are_read(session: Any) -> None:
    """Double quotes are names."""
    assert session.knowledge().options == {"quoted_identifier": "on"}


def test_an_address_needs_a_user(odbc: Odbc) -> None:
    """The account that runs this process is never used to sign in."""
    with pytest.raises(InvalidInput):
        import_module("thresher.connectors.mssql").open_mssql(read_address("mssql://h/shop"), ConnectorOptions())
    sys.modules.pop("thresher.connectors.mssql", None)


def test_bounds_are_written_as_the_server_takes_them() -> None:
    """Milliseconds for locks, whole seconds for costs, none for no bound."""
    assert "set lock_timeout 500; set query_governor_cost_limit 2147483647;" in beginning("x", 0.5, 1e12)
    assert "set query_governor_cost_limit 0;" in beginning("x", 0.5, None)
    assert connection_text({"A": "x;y", "B": "}"}) == "A={x;y};B={}}}"


def test_a_moment_keeps_its_zone() -> None:
    """ODBC hands over a `datetimeoffset` in bytes."""
    raw = struct.pack("<6hI2h", 2024, 2, 29, 23, 59, 58, 123_456_700, -5, -30)

    assert moment(raw).isoformat() == "2024-02-29T23:59:58.123456-05:30"
    assert moment(raw).utcoffset() == dt.timedelta(hours=-5, minutes=-30)
