"""Sessions with DuckDB files: exact values, nothing within reach but the file, and no trace."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from thresher.connectors import Caps, ConnectorOptions, ForeignKey, SessionTag
from thresher.connectors.connector import DatabaseEngine, DatabaseSession
from thresher.connectors.duckdb.engine import DuckdbEngine
from thresher.core import DatabaseUnavailable, InvalidInput, QueryFailed, QueryTimeout, ThresherError

TAG = SessionTag("test", "thread", 7)
SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, email VARCHAR UNIQUE, born DATE);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id), total DECIMAL(10,2) DEFAULT 1
);
CREATE SCHEMA s;
CREATE TABLE s.part (a INTEGER, b INTEGER, PRIMARY KEY (a, b), c INTEGER AS (a + b));
CREATE TABLE s.piece (a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES s.part (a, b));
CREATE VIEW big AS SELECT id FROM orders WHERE total > 10;
CREATE MACRO lower(x) AS 'mine';
COMMENT ON TABLE orders IS 'what was bought';
COMMENT ON COLUMN orders.total IS 'in euros';
INSERT INTO customer VALUES (1, 'a@example.org', '2000-01-01'), (2, 'b@example.org', NULL);
INSERT INTO orders VALUES (10, 1, 5.5), (11, 1, 20), (12, 2, 30);
"""
ENDLESS = "select sum(a.range * b.range % 7) from range(1000000) a, range(1000000) b"


@contextmanager
def engine_of(file: Path) -> Generator[DatabaseEngine]:
    """An engine that reads a file, as the pool would have it."""
    engine = DuckdbEngine(file, ConnectorOptions(memory_mb=256))
    yield engine
    engine.close()


def problem_of(session: DatabaseSession, sql: str) -> ThresherError:
    """The error of a statement."""
    with pytest.raises(ThresherError) as caught:
        session.run(sql, TAG, Caps())
    return caught.value


def value_of(session: DatabaseSession, expression: str) -> Any:
    """The value of an expression, as JSON."""
    return session.run(f"SELECT {expression}", TAG, Caps()).rows[0][0]


def look_of(folder: Path) -> dict[str, str]:
    """Every file of a folder with its content's hash."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tables of every kind, without a writer."""
    file = tmp_path_factory.mktemp("duck") / "shop.duckdb"
    with duckdb.connect(str(file)) as database:
        database.execute(SHOP)
    return file


@pytest.fixture(scope="module")
def engine(shop: Path) -> Iterator[DatabaseEngine]:
    """An engine that reads it."""
    with engine_of(shop) as engine:
        yield engine


@pytest.fixture
def session(engine: DatabaseEngine) -> Iterator[DatabaseSession]:
    """A session with it."""
    session = engine.open()
    yield session
    session.close()


VALUES: list[tuple[str, Any]] = [
    ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
    ("1.50::DECIMAL(10,2)", "1.50"),
    ("1.1::FLOAT", 1.1),
    ("'nan'::DOUBLE", "NaN"),
    ("'-inf'::FLOAT", "-Infinity"),
    ("INTERVAL '1 year 2 months -3 days 25 hours 0.5 seconds'", "P1Y2M-3DT25H0.5S"),
    ("-INTERVAL '5 seconds'", "PT-5S"),
    ("INTERVAL '-14 months'", "P-1Y-2M"),
    ("DATE 'infinity'", "infinity"),
    ("TIMESTAMP '2020-01-02 03:04:05.6'", "2020-01-02T03:04:05.6"),
    ("TIMESTAMP_NS '2020-01-02 03:04:05.123456789'", "2020-01-02T03:04:05.123456789"),
    ("TIMESTAMPTZ '2020-01-02 03:04:05+02'", "2020-01-02T01:04:05+00:00"),
    ("TIMESTAMP '290000-01-01'", "290000-01-01T00:00:00"),
    ("'10:00:00+02'::TIMETZ", "10:00:00+02:00"),
    ("[INTERVAL '1 month', NULL]", ["P1M", None]),
    ("{'a': DATE '2020-01-01', 'b \"c': [1.1::FLOAT]}", {"a": "2020-01-01", 'b "c': [1.1]}),
    ("MAP {1: TIMESTAMPTZ '2020-01-01 00:00:00+00'}", {"1": "2020-01-01T00:00:00+00:00"}),
    ("MAP {[1]: DATE '2020-01-01'}", {"key": [[1]], "value": ["2020-01-01"]}),
    ("[1.1::FLOAT, 2]::FLOAT[2]", [1.1, 2.0]),
    ("'{\"a\": 0.10000000000000000001}'::JSON", {"a": "0.10000000000000000001"}),
    ("union_value(k := TIMESTAMPTZ '2020-01-01 00:00:00+00')", "2020-01-01 00:00:00+00"),
    ("{'a': 1.5}::VARIANT", {"a": 1.5}),
    ("row(TIMESTAMPTZ '2020-01-01 00:00:00+00', 1)", ["2020-01-01 00:00:00+00", 1]),
    ("'a'::ENUM('a', 'b')", "a"),
    ("'101'::BIT", "101"),
    ("NULL::DATE", None),
    ("'\\xff'::BLOB", {"bytes": 1, "sha256": hashlib.sha256(b"\xff").hexdigest()}),
    ("uuid()::VARCHAR = NULL", None),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[expression[:40] for expression, _ in VALUES])
def test_a_value_keeps_what_the_driver_would_round(session: DatabaseSession, expression: str, expected: Any) -> None:
    """Months stay months, infinity stays infinity, nanoseconds stay."""
    assert value_of(session, expression) == expected


def test_columns_bear_their_own_names_and_types(session: DatabaseSession) -> None:
    """Also where two are named alike, and behind a semicolon with a comment."""
    answer = session.run("SELECT 1 AS a, INTERVAL '1 day' AS a; -- that is all", TAG, Caps())

    assert [(column.name, column.type) for column in answer.columns] == [("a", "INTEGER"), ("a", "INTERVAL")]
    assert answer.rows == ((1, "P1D"),)


def test_rows_keep_their_order_up_to_the_caps(session: DatabaseSession) -> None:
    """The engine makes no more rows than are read; an order holds."""
    answer = session.run("SELECT range AS n FROM range(100000) ORDER BY n DESC", TAG, Caps(rows=2, skip=3))

    assert (answer.rows, answer.truncated) == (((99996,), (99995,)), "rows")


def test_reads_of_every_sort_are_let_through(session: DatabaseSession) -> None:
    """Bare FROM, VALUES, pivots, descriptions, plans, bound values."""
    reads = {
        "FROM orders ORDER BY id": 10,
        "VALUES (4)": 4,
        "WITH x AS (SELECT 5 AS n) FROM x": 5,
        "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)": 2,
        "DESCRIBE orders": "id",
        "SHOW TABLES": "big",
        "SUMMARIZE customer": "id",
        "EXPLAIN SELECT 1": "physical_plan",
    }

    assert {sql: session.run(sql, TAG, Caps()).rows[0][0] for sql in reads} == reads
    assert session.run("SELECT id FROM orders WHERE id > ? ORDER BY id", TAG, Caps(), [10]).rows == ((11,), (12,))


REFUSED = [
    "INSERT INTO customer VALUES (3, 'c', NULL)",
    "CREATE TABLE t (a INT)",
    "CREATE TEMP TABLE t (a INT)",
    "CREATE SECRET (TYPE s3)",
    "DROP TABLE orders",
    "ATTACH ':memory:' AS m",
    "ATTACH '{folder}/new.db' AS m",
    "COPY orders TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet'",
    "EXPORT DATABASE '{folder}/out'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "RESET ALL",
    "SET VARIABLE x = 1",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA profiling_output = '{folder}/p.json'",
    "CALL enable_logging()",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "VACUUM",
    "PREPARE p AS SELECT 1",
    "BEGIN",
    "COMMIT",
    "USE s",
    "SELECT 1; DROP TABLE orders",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT * FROM read_blob('{folder}/*')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM TAG",
    "SELECT getenv('HOME')",
    "",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_no_read_is_refused_by_the_session_itself(
    session: DatabaseSession, shop: Path, tmp_path: Path, sql: str
) -> None:
    """Without any guard before it: no file is read or written, nothing changes, and the session goes on."""
    (tmp_path / "secret.csv").write_text("a\nhidden\n")
    before = look_of(shop.parent), look_of(tmp_path)

    problem = problem_of(session, sql.format(folder=tmp_path))

    assert isinstance(problem, QueryFailed | InvalidInput)
    assert "hidden" not in str(problem)
    assert (look_of(shop.parent), look_of(tmp_path)) == before
    assert session.run("SELECT count(*) FROM orders", TAG, Caps()).rows == ((3,),)


def test_a_place_is_told_in_the_statement_as_it_was_given(session: DatabaseSession) -> None:
    """Not in what is sent around it."""
    first = problem_of(session, "SELECT id, gone FROM orders")
    second = problem_of(session, "SELECT id,\n  'x'::INTEGER FROM orders")

    assert first.message.endswith("(line 1, column 12)")
    assert second.message.endswith("(line 2, column 6)")


def test_a_statement_is_cancelled_from_another_thread(session: DatabaseSession) -> None:
    """As the pool does when the time is up; a cancel when nothing runs harms nothing."""
    session.cancel()
    timer = threading.Timer(0.05, session.cancel)
    timer.start()

    problem = problem_of(session, ENDLESS)

    timer.join()
    assert isinstance(problem, QueryTimeout)
    assert value_of(session, "1") == 1


def test_a_session_that_is_closed_under_a_statement_ends_it(shop: Path) -> None:
    """The process ends with it; the session answers no more, the next one does."""
    with engine_of(shop) as engine:
        session = engine.open()
        timer = threading.Timer(0.5, session.close)
        timer.start()
        problem = problem_of(session, ENDLESS)
        timer.join()
        answer = value_of(engine.open(), "1")

        assert isinstance(problem, QueryTimeout)
        assert answer == 1
        with pytest.raises(DatabaseUnavailable):
            session.health()


def test_memory_has_an_end(session: DatabaseSession) -> None:
    """Nothing is put off to disk instead."""
    problem = problem_of(session, "SELECT length(list(range)) FROM range(100000000)")

    assert isinstance(problem, QueryFailed)
    assert "memory" in problem.message


def test_the_schema_tells_keys_comments_and_views(session: DatabaseSession) -> None:
    """Composite keys, generated columns, other schemas, comments."""
    tables = {f"{table.schema}.{table.name}": table for table in session.reflect(100).tables}

    assert set(tables) == {"main.customer", "main.orders", "main.big", "s.part", "s.piece"}
    assert tables["s.piece"].foreign_keys[0].target_columns == ("a", "b")
    assert tables["main.orders"].foreign_keys == (
        ForeignKey(tables["main.orders"].foreign_keys[0].name, ("customer_id",), "main", "customer", ("id",)),
    )
    assert (tables["s.part"].primary_key, tables["main.customer"].unique) == (("a", "b"), (("email",),))
    assert tables["s.part"].columns[2].default == "generated"
    assert (tables["main.orders"].comment, tables["main.orders"].columns[2].comment) == ("what was bought", "in euros")
    assert (tables["main.orders"].columns[2].family, tables["main.orders"].columns[2].length) == ("decimal", 10)
    assert (tables["main.big"].kind, tables["main.orders"].rows) == ("view", 3)


def test_a_schema_beyond_the_limit_says_so(session: DatabaseSession) -> None:
    """The first tables are there, and how many are not."""
    schema = session.reflect(2)

    assert (len(schema.tables), schema.left_out) == (2, 3)


def test_profiles_tell_values_of_base_tables(session: DatabaseSession) -> None:
    """Counts, bounds and values; a view is not looked at."""
    schema = session.reflect(100)

    found = session.profiles(schema, [("main", "orders", "customer_id"), ("main", "big", "id")], 5.0)

    profile = found.columns["main", "orders", "customer_id"]
    assert (profile.count, profile.nulls, profile.distinct, profile.low, profile.high) == (3, 0, 2, 1, 2)
    assert (profile.values, profile.complete, found.rows) == (frozenset({"1", "2"}), True, {("main", "orders"): 3})


def test_the_file_is_free_between_questions(tmp_path: Path) -> None:
    """A writer gets in; the stamp changes with definitions alone, and the next question reads what was written."""
    file = tmp_path / "own.duckdb"
    stamps: list[str] = []
    with engine_of(file) as engine:
        for statement in ("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", "COMMENT ON TABLE t IS 'new'"):
            with duckdb.connect(str(file)) as database:
                database.execute(statement)
            stamps.append(engine.open().stamp())

    assert stamps[0] == stamps[1] != stamps[2]


def test_a_file_that_somebody_writes_is_locked(tmp_path: Path) -> None:
    """The message says so, and shows no path."""
    file = tmp_path / "own.duckdb"
    with duckdb.connect(str(file)), engine_of(file) as engine, pytest.raises(DatabaseUnavailable) as caught:
        engine.open().stamp()

    assert "locked" in caught.value.message
    assert str(tmp_path) not in str(caught.value)


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    """A file of something else, a folder, and one that is gone."""
    text = tmp_path / "a.txt"
    text.write_text("no database at all" * 1_000)
    problems: list[str] = []
    for file in (text, tmp_path, tmp_path / "gone.duckdb"):
        with engine_of(file) as engine, pytest.raises(DatabaseUnavailable) as caught:
            engine.open().health()
        problems.append(str(caught.value))

    assert not any(str(tmp_path) in problem for problem in problems)


def test_a_session_describes_itself(session: DatabaseSession) -> None:
    """The tag and what the session is set to."""
    told = dict(session.describe(TAG).rows)

    assert (told["client"], told["audit_id"], told["enable_external_access"]) == ("test", "7", "False")
    assert (told["lock_configuration"], told["TimeZone"], told["access_mode"]) == ("True", "UTC", "read_only")
    assert session.health().ok
    assert session.knowledge().version[0] == 2


def test_sessions_beside_each_other_share_their_settings(engine: DatabaseEngine, session: DatabaseSession) -> None:
    """The second finds them locked, and is as safe as the first."""
    busy = threading.Thread(target=problem_of, args=(session, ENDLESS))
    busy.start()
    other = engine.open()
    told = dict(other.describe(TAG).rows)
    problem = problem_of(other, "SET GLOBAL enable_external_access = true")
    session.cancel()
    busy.join()

    assert (told["lock_configuration"], told["TimeZone"]) == ("True", "UTC")
    assert isinstance(problem, InvalidInput)


def test_a_plan_is_told_without_running(session: DatabaseSession) -> None:
    """A line a row."""
    plan = session.explain(ENDLESS, TAG, 1.0)

    assert len(plan.rows) > 3


def test_a_database_of_sqlite_is_told_apart(tmp_path: Path) -> None:
    """DuckDB itself would ask for an extension that no session may load."""
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE t (a)")

    with engine_of(file) as engine, pytest.raises(DatabaseUnavailable, match="SQLite"):
        engine.open().health()


def test_the_tables_of_a_full_text_index_are_left_out(tmp_path: Path) -> None:
    """The extension keeps them in a schema beside the table; a schema of people's stays."""
    file = tmp_path / "docs.duckdb"
    with closing(duckdb.connect(str(file))) as database:
        database.execute("""
            CREATE TABLE docs (id INTEGER); CREATE SCHEMA fts_main_docs;
            CREATE TABLE fts_main_docs.dict (termid BIGINT); CREATE TABLE fts_main_docs.terms (docid BIGINT);
            CREATE SCHEMA fts_mine; CREATE TABLE fts_mine.dict (a INTEGER);
        """)
    with engine_of(file) as engine, closing(engine.open()) as session:
        names = [(table.schema, table.name) for table in session.reflect(100).tables]

    assert names == [("fts_mine", "dict"), ("main", "docs")]
