"""Sessions with Oracle, by what would be sent to it: no server of it can be had in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oracledb
import pytest
import sqlglot

from tests.fakes.drivers import Recorder
from thresher.connectors import Caps, SessionTag, oracle, read_address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.oracle import OracleSession, arguments, open_oracle, without_semicolon
from thresher.core import InvalidInput, StatementRefused

TAG = SessionTag("Claude Desktop", "thread/" + "x" * 60, 4711)
_PARSED = (
    "TABLES",
    "COLUMNS",
    "KEYS",
    "FOREIGN_KEYS",
    "STAMP",
    "DEFAULT_SCHEMA",
    "WHO",
    "WRITABLE",
    "SESSION",
    "ESTIMATE",
)


def answer(statement: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """A small database that expects little of every statement."""
    known: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]] = {
        oracle.ESTIMATE: (("COST", "ROWS"), [(12, 5)]),
        oracle.STAMP: (("S",), [("3-20260101000000-99",)]),
        oracle.DEFAULT_SCHEMA: (("S",), [("HR",)]),
        oracle.TABLES: (("A",), [("HR", "EMP", "table", "people", 14)]),
        oracle.COLUMNS: (("A",), [("HR", "EMP", "ID", "NUMBER(6,0)", None, 0, "identity", None)]),
        oracle.KEYS: (("A",), [("HR", "EMP", "PK", 1, "ID")]),
        oracle.WHO: (("A", "B"), [("HR", "XE")]),
        oracle.WRITABLE: (("A",), [("CREATE TABLE",)]),
        oracle.PLAN: (("PLAN_TABLE_OUTPUT",), [("| 0 | SELECT STATEMENT |",)]),
    }
    if statement.startswith("select id"):
        return ("ID",), [(number,) for number in range(5)]
    return known.get(statement, ((), []))


def session_over(recorder: Recorder, **options: Any) -> OracleSession:
    """A session over a connection that takes down what is sent."""
    return OracleSession(recorder, ConnectorOptions(**options))


@pytest.mark.parametrize("name", _PARSED)
def test_statements_over_the_catalog_are_oracle(name: str) -> None:
    """Each is one statement of Oracle's dialect that only reads."""
    parsed = sqlglot.parse(getattr(oracle, name), dialect="oracle")

    assert len(parsed) == 1
    assert isinstance(parsed[0], sqlglot.exp.Query)


def test_a_statement_runs_in_a_transaction_that_only_reads() -> None:
    """Planned and rolled back first, since a plan is written; then READ ONLY, and rolled back again."""
    recorder = Recorder(answer)
    rows = session_over(recorder).run("select id from emp;", TAG, Caps(rows=2, seconds=1.5))

    assert recorder.log == [
        "explain plan set statement_id = 'thresher_4711' for select id from emp",
        oracle.ESTIMATE,
        "rollback",
        "set transaction read only",
        "select id from emp",
        "rollback",
    ]
    assert (rows.rows, rows.more, recorder.call_timeout) == (((0,), (1,)), True, 1500)


def test_a_session_is_tagged_within_the_servers_bounds() -> None:
    """MODULE, ACTION and CLIENT_INFO are cut to what Oracle keeps; the audit id is never cut."""
    recorder = Recorder(answer)
    session_over(recorder).describe(TAG)

    assert recorder.module == "thresher Claude_Desktop"
    assert (len(recorder.action) <= 32, recorder.action.endswith(" #4711")) == (True, True)
    assert (len(recorder.clientinfo) <= 64, recorder.clientinfo.endswith(" #4711")) == (True, True)


def test_what_is_too_dear_is_refused_before_it_runs() -> None:
    """The planner's cost counts."""
    recorder = Recorder(answer)
    with pytest.raises(StatementRefused):
        session_over(recorder, most_cost=10).run("select id from emp", TAG, Caps())

    assert "select id from emp" not in recorder.log


def test_a_statement_without_a_plan_says_itself_what_is_wrong() -> None:
    """If EXPLAIN PLAN fails, the answer is the statement's own error."""

    def broken(statement: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        if statement.startswith(("explain", "selec ")):
            raise oracledb.DatabaseError(statement[:6])
        return answer(statement)

    recorder = Recorder(broken)
    with pytest.raises(oracledb.DatabaseError, match="selec "):
        session_over(recorder).run("selec 1", TAG, Caps())

    assert recorder.log[-1] == "rollback"


def test_a_plan_is_shown_and_forgotten() -> None:
    """The plan's rows are rolled back."""
    recorder = Recorder(answer)
    plan = session_over(recorder).explain("select id from emp", TAG, 5)

    assert plan.rows == (("| 0 | SELECT STATEMENT |",),)
    assert recorder.log[-1] == "rollback"
    assert "set transaction read only" not in recorder.log


def test_the_schema_is_put_together() -> None:
    """Rows of the catalog become tables."""
    schema = session_over(Recorder(answer)).reflect(10)

    assert (schema.default_schema, schema.stamp) == ("HR", "3-20260101000000-99")
    assert (schema.tables[0].name, schema.tables[0].primary_key, schema.tables[0].rows) == ("EMP", ("ID",), 14)
    assert schema.tables[0].columns[0].family == "integer"


def test_health_and_reset() -> None:
    """Rights are reported; the state of packages is removed between requests."""
    recorder = Recorder(answer)
    session = session_over(recorder)
    health = session.health()

    assert (health.ok, health.user, health.writable) == (True, "HR", ("CREATE TABLE",))
    assert session.reset()
    assert recorder.log[-1] == oracle.FORGET
    assert session.knowledge().version == (19, 3, 0, 0, 0)


def test_the_driver_is_told_where_and_who() -> None:
    """A service or a SID, TLS where it is asked for; a user is needed."""
    options = ConnectorOptions()
    service = arguments(read_address("oracle://u:p@h:1522/?service_name=X&protocol=tcps"), options)
    sid = arguments(read_address("oracle://u:p@h/XE"), options)

    assert (service["service_name"], service["protocol"], service["port"]) == ("X", "tcps", 1522)
    assert (sid["sid"], sid["protocol"], sid["program"]) == ("XE", "tcp", "thresher")
    oracledb.ConnectParams(**{name: value for name, value in service.items() if name != "sid"})
    with pytest.raises(InvalidInput):
        open_oracle(read_address("oracle://h/XE"), options)


def test_a_semicolon_is_taken_off() -> None:
    """Only the last one, only at the end."""
    assert without_semicolon("select ';' from dual ;\n") == "select ';' from dual "
    assert without_semicolon("select 1 from dual") == "select 1 from dual"
