"""Sessions with SQLite files: what they read, what they refuse, and that they leave no trace."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thresher.connectors import Caps, ConnectorOptions, ForeignKey, SessionTag
from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.failures import failed
from thresher.connectors.sqlite.engine import SqliteSession, open_sqlite
from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout, ThresherError

TAG = SessionTag("test", "thread", 7)
OPTIONS = ConnectorOptions(lock_seconds=0.05)
SHOP = """
CREATE TABLE Customer (Id INTEGER PRIMARY KEY, Email NVARCHAR(60) NOT NULL UNIQUE, Born DATE, Note TEXT DEFAULT 'x');
CREATE TABLE "Order" (Id INTEGER PRIMARY KEY, CustomerId INTEGER REFERENCES customer, Total NUMERIC(10,2),
    Twice NUMERIC AS (Total * 2));
CREATE TABLE Line (OrderId INT, No INT, Sku TEXT, PRIMARY KEY (OrderId, No),
    FOREIGN KEY (OrderId) REFERENCES "Order" (Id)) WITHOUT ROWID;
CREATE TABLE Part (OrderId INT, LineNo INT, FOREIGN KEY (OrderId, LineNo) REFERENCES Line);
CREATE UNIQUE INDEX lower_sku ON Line (lower(Sku));
CREATE UNIQUE INDEX some_sku ON Line (Sku) WHERE Sku <> '';
CREATE VIEW Big AS SELECT Id, Total FROM "Order" WHERE Total > 10;
CREATE VIEW Broken AS SELECT * FROM gone;
CREATE VIRTUAL TABLE Words USING fts5(body);
INSERT INTO Words VALUES ('red fox'), ('blue dog');
INSERT INTO Customer VALUES (1, 'a@example.org', '2000-01-01', NULL), (2, 'b@example.org', NULL, 'n');
INSERT INTO "Order" (Id, CustomerId, Total) VALUES (10, 1, 5.5), (11, 1, 20), (12, 2, 30);
"""


def session_of(file: Path, options: ConnectorOptions = OPTIONS) -> SqliteSession:
    """A session with a file, as the pool would open it."""
    address = DatabaseAddress("sqlite", f"sqlite:///{file.name}", "", "", (), None, "", file, {})
    session = open_sqlite(address, options).open()
    assert isinstance(session, SqliteSession)
    return session


def rows_of(session: SqliteSession, sql: str, bind: Sequence[Any] = (), **caps: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    return list(session.run(sql, TAG, Caps(**caps), bind).rows)


def problem_of(session: SqliteSession, sql: str, **caps: Any) -> ThresherError:
    """A statement's error as the pool translates it."""
    with pytest.raises((sqlite3.Error, ThresherError)) as caught:
        rows_of(session, sql, **caps)
    return failed("sqlite", caught.value, sql)


def look_of(folder: Path) -> dict[str, str]:
    """Every file of a folder with its content's hash."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file with tables of every sort."""
    file = tmp_path / "shop %20?.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(SHOP)
    return file


@pytest.fixture
def session(shop: Path) -> Iterator[SqliteSession]:
    """A session with it."""
    session = session_of(shop)
    yield session
    session.close()


def test_rows_come_as_json_with_the_class_of_their_values(session: SqliteSession) -> None:
    """A column's type is that of its first value: SQLite types values, not columns."""
    answer = session.run("SELECT NULL a, 2 b, 2.5 c, 'x' d, x'00' e, 9223372036854775807 f", TAG, Caps())

    assert [(column.name, column.type) for column in answer.columns] == [
        ("a", ""), ("b", "INTEGER"), ("c", "REAL"), ("d", "TEXT"), ("e", "BLOB"), ("f", "INTEGER"),
    ]  # fmt: skip
    assert answer.rows[0][:4] == (None, 2, 2.5, "x")
    assert answer.rows[0][4]["bytes"] == 1
    assert answer.rows[0][5] == "9223372036854775807"


def test_text_that_is_no_utf8_is_shown_as_bytes(session: SqliteSession) -> None:
    """One such value does not spoil the answer."""
    assert rows_of(session, "SELECT CAST(x'ff41' AS TEXT), 'b'")[0][1] == "b"


def test_values_are_bound_and_rows_capped(session: SqliteSession) -> None:
    """The service's own values are bound, and the caps hold."""
    answer = session.run('SELECT Id FROM "Order" WHERE Id > ? ORDER BY Id', TAG, Caps(rows=1, skip=1), (9,))

    assert (answer.rows, answer.truncated, answer.more) == (((11,),), "rows", True)


WRITES = [
    "INSERT INTO Customer VALUES (3, 'c', NULL, NULL)",
    "DELETE FROM Customer",
    "UPDATE Customer SET Note = 1",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE TEMP VIEW v AS SELECT 1",
    "DROP TABLE Customer",
    "ALTER TABLE Customer RENAME TO c",
    "ATTACH ':memory:' AS m",
    "ATTACH '/tmp/thresher-attached.db' AS m",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '/tmp/thresher-vacuumed.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "PRAGMA writable_schema = 1",
    "PRAGMA query_only = OFF",
    "PRAGMA user_version = 5",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA wal_checkpoint",
    "PRAGMA database_list",
    "PRAGMA hard_heap_limit",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA foreign_keys = ON",
    "PRAGMA optimize",
    "UPDATE sqlite_master SET sql = 'x'",
    "INSERT INTO Words(Words) VALUES ('optimize')",
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT sqlite_log(1, 'x')",
    "SELECT sql FROM sqlite_stmt",
    "SELECT file FROM pragma_database_list",
    "SELECT * FROM pragma_user_version('5')",
    "SELECT 1; DROP TABLE Customer",
    "EXPLAIN DELETE FROM Customer",
]


@pytest.mark.parametrize(
    "call",
    [
        "instr({}, {})",
        "replace({}, {}, 'y')",
        '"Instr"({}, {})',
        "ltrim({}, {})",
        "rtrim({}, {})",
        '"trim"({}, {})',
        "ltrim(/*)*/ {}, {})",
        "ltrim(')' || {}, {})",
        "json_patch({}, {})",
        "{} LIKE '%' || {}",
        "{} GLOB '*' || {}",
    ],
)
def test_long_texts_are_not_searched_in_each_other(session: SqliteSession, call: str) -> None:
    """SQLite takes the product of their lengths and cannot be interrupted; other values may be long."""
    long = "hex(zeroblob(200000))"

    problem = problem_of(session, f"SELECT {call.format(long, long)}")

    assert re.search("too big|too complex", problem.message)
    assert rows_of(session, f"SELECT length({long} || {long})") == [(800_000,)]
    assert rows_of(session, "SELECT instr('abc', 'c'), replace('abc', 'c', 'd')") == [(3, "abd")]
    assert rows_of(session, "SELECT trim('xabcx', 'x'), 'abc' LIKE '%c'") == [("abc", 1)]
    assert rows_of(session, f"SELECT length(trim(h)) FROM (SELECT {long} AS h)") == [(400_000,)]


def test_views_search_no_long_texts_in_each_other_either(shop: Path) -> None:
    """A statement's limits include the views that it reads."""
    searched = "SELECT instr(h || h, h || '1') AS x FROM (SELECT hex(zeroblob(400000)) AS h)"
    with closing(sqlite3.connect(shop)) as database:
        database.executescript(
            f"""CREATE VIEW deep AS {searched}; CREATE VIEW outer AS SELECT x FROM Deep;
            CREATE VIEW "a""b" AS {searched};
            CREATE TABLE made (h, k TEXT AS
            (rtrim(h || h, h || '1')), l AS/**/ (instr(h || h || h, h || '1')));
            INSERT INTO made (h) VALUES (hex(zeroblob(300000)));"""
        )

    with closing(session_of(shop)) as session:
        for query in ("* FROM deep", '* FROM "OUTER"', '* FROM "a""b"', "k FROM made", "l FROM made"):
            assert "too big" in problem_of(session, f"SELECT {query}").message
        assert rows_of(session, "SELECT length(hex(zeroblob(400000)))") == [(800_000,)]


@pytest.mark.parametrize("sql", WRITES)
def test_what_is_no_read_is_refused_by_the_session_itself(session: SqliteSession, shop: Path, sql: str) -> None:
    """Without any guard before it: nothing changes, and the session answers the next question."""
    before = look_of(shop.parent)

    problem = problem_of(session, sql)

    assert isinstance(problem, QueryFailed)
    assert look_of(shop.parent) == before
    assert session.reset()
    assert rows_of(session, "SELECT count(*) FROM Customer") == [(2,)]


def test_reads_of_every_sort_are_let_through(session: SqliteSession) -> None:
    """Window functions, recursion, documents, full text, and pragmas that only report."""
    reads = {
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT sum(x) FROM r": 6,
        "SELECT value FROM json_each('[7]')": 7,
        "SELECT body FROM Words WHERE Words MATCH 'fox'": "red fox",
        'SELECT row_number() OVER (ORDER BY Id) FROM "Order"': 1,
        "SELECT name FROM pragma_table_info('Customer')": "Id",
        "PRAGMA user_version": 0,
        "PRAGMA table_info(Customer)": 0,
        "SELECT count(*) FROM sqlite_master WHERE name = 'Big'": 1,
        "VALUES (4)": 4,
    }

    assert {sql: rows_of(session, sql)[0][0] for sql in reads} == reads


def test_a_statement_without_end_is_stopped_by_its_time(session: SqliteSession) -> None:
    """The engine itself looks at the clock; the session goes on."""
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"

    assert isinstance(problem_of(session, endless, seconds=0.05), QueryTimeout)
    assert rows_of(session, "SELECT 1") == [(1,)]


def test_a_statement_is_cancelled_from_another_thread(session: SqliteSession) -> None:
    """As the pool does when its caller goes; a cancel when nothing runs harms nothing."""
    session.cancel()
    timer = threading.Timer(0.05, session.cancel)
    timer.start()

    problem = problem_of(
        session, "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r"
    )

    timer.join()
    assert isinstance(problem, QueryTimeout)
    assert rows_of(session, "SELECT 1") == [(1,)]


def test_closing_below_a_running_statement_frees_nothing_that_it_reads(shop: Path) -> None:
    """The statement ends first; closing below it once brought the process down."""
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT hex(x) FROM r WHERE x < 0"
    ended: list[str] = []

    def read(session: SqliteSession) -> None:
        ended.append(problem_of(session, endless, seconds=20).code)

    for _ in range(10):
        session = session_of(shop)
        thread = threading.Thread(target=read, args=(session,))
        thread.start()
        while thread.is_alive():
            session.cancel()
            if session._at_work.locked():
                session.close()
        thread.join()
        session.close()

    assert ended == ["query_timeout"] * 10


def test_a_session_that_is_closed_under_a_statement_ends_it_first(shop: Path) -> None:
    """The driver would free memory that the statement reads: closing cancels it, and the pool closes again."""
    session = session_of(shop)
    timer = threading.Timer(0.05, session.close)
    timer.start()

    problem = problem_of(
        session, "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r"
    )

    timer.join()
    assert isinstance(problem, QueryTimeout)
    session.close()
    with pytest.raises(sqlite3.ProgrammingError):
        session.health()


def test_memory_has_an_end(session: SqliteSession) -> None:
    """A text without end fails by its length, and so does a blob."""
    problems = [
        problem_of(session, sql) for sql in ("SELECT randomblob(1000000000)", "SELECT zeroblob(70000000) || 'x'")
    ]

    assert [type(problem) for problem in problems] == [QueryFailed, QueryFailed]


def test_the_schema_tells_keys_of_every_sort(session: SqliteSession) -> None:
    """Composite keys, keys that name no column, other cases, unique columns, generated ones, broken views."""
    schema = session.reflect(100)

    tables = {table.name: table for table in schema.tables}
    assert set(tables) == {"Big", "Broken", "Customer", "Line", "Order", "Part", "Words"}
    assert tables["Customer"].unique == (("Email",),)
    assert tables["Order"].foreign_keys == (ForeignKey("", ("CustomerId",), "", "Customer", ("Id",)),)
    assert tables["Part"].foreign_keys == (ForeignKey("", ("OrderId", "LineNo"), "", "Line", ("OrderId", "No")),)
    assert (tables["Line"].primary_key, tables["Line"].unique) == (("OrderId", "No"), ())
    assert [(column.name, column.default) for column in tables["Order"].columns if column.default] == [
        ("Id", "identity"),
        ("Twice", "generated"),
    ]
    assert (tables["Broken"].kind, tables["Broken"].columns) == ("view", ())
    assert tables["Big"].kind == "view"
    assert tables["Customer"].columns[1].length == 60
    assert tables["Order"].rows == 12
    assert replace(schema, tables=()).left_out == 0


def test_a_schema_beyond_the_limit_says_so(session: SqliteSession) -> None:
    """The first tables are there, and how many are not."""
    schema = session.reflect(2)

    assert (len(schema.tables), schema.left_out) == (2, 5)


def test_the_stamp_changes_with_the_schema_alone(session: SqliteSession, shop: Path) -> None:
    """Rows change nothing, a table does, and so does another file in the old one's place."""
    first = session.stamp()
    with closing(sqlite3.connect(shop)) as database:
        database.execute("DELETE FROM Customer")
        database.commit()
        same = session.stamp()
        database.execute("CREATE TABLE new (a)")
        other = session.stamp()
    replacement = shop.with_suffix(".new")
    replacement.write_bytes(shop.read_bytes())
    replacement.replace(shop)

    assert first == same
    assert len({first, other, session.stamp()}) == 3


def test_profiles_tell_values_of_base_tables(session: SqliteSession) -> None:
    """Counts, bounds and values; a view is not looked at, an unknown column is left out."""
    schema = session.reflect(100)
    wanted = [("", "Order", "CustomerId"), ("", "Customer", "Id"), ("", "Big", "Id"), ("", "Customer", "Gone")]

    found = session.profiles(schema, wanted, 5.0)

    assert set(found.columns) == set(wanted[:2])
    profile = found.columns["", "Order", "CustomerId"]
    assert (profile.count, profile.nulls, profile.distinct, profile.low, profile.high) == (3, 0, 2, 1, 2)
    assert (profile.values, profile.complete) == (frozenset({"1", "2"}), True)
    assert found.rows == {("", "Order"): 3, ("", "Customer"): 2}


def test_a_plan_is_told_without_running(session: SqliteSession) -> None:
    """One line a step, indented below what it belongs to."""
    plan = session.explain('SELECT * FROM "Order" o JOIN Customer c ON c.Id = o.CustomerId', TAG, 1.0)

    assert [row[0] for row in plan.rows] == ["SCAN o", "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)"]


def test_a_file_that_others_write_is_read_as_it_is_now(tmp_path: Path) -> None:
    """A file in WAL mode: no file is left beside it, and rows of a writer are seen, before and after its end."""
    file = tmp_path / "log.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (a)")
    before = look_of(tmp_path)
    session = session_of(file)
    count = "SELECT count(*) FROM t"

    seen = rows_of(session, count)
    untouched = look_of(tmp_path) == before
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("INSERT INTO t VALUES (1)")
        seen += rows_of(session, count)
        database.execute("INSERT INTO t VALUES (2)")
        seen += rows_of(session, count)
    session.close()

    assert untouched
    assert seen == [(0,), (1,), (2,)]


def test_a_named_pipe_in_place_of_the_file_is_refused_at_once(tmp_path: Path) -> None:
    """Opening it would wait for a writer, beyond every time-out."""
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("create table t (a)")
    session = session_of(file)
    file.unlink()
    os.mkfifo(file)

    problem = problem_of(session, "select 1")

    assert isinstance(problem, DatabaseUnavailable)
    assert "cannot be read" in problem.message


def test_a_file_that_is_locked_says_so(shop: Path, session: SqliteSession) -> None:
    """After the time that a lock is waited for."""
    with closing(sqlite3.connect(shop, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        problem = problem_of(session, "SELECT * FROM Customer")

    assert isinstance(problem, DatabaseUnavailable)
    assert "locked" in problem.message
    assert rows_of(session, "SELECT count(*) FROM Customer") == [(2,)]


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    """A file of something else, a folder, and one that is gone."""
    text = tmp_path / "a.txt"
    text.write_text("no database at all, but long enough to be looked at" * 30)
    problems: list[ThresherError] = []
    for file in (text, tmp_path, tmp_path / "gone.db"):
        with pytest.raises((sqlite3.Error, ThresherError)) as caught:
            session_of(file).health()
        problems.append(failed("sqlite", caught.value))

    assert {type(problem) for problem in problems} == {DatabaseUnavailable}
    assert not any(str(tmp_path) in str(problem) for problem in problems)


def test_a_session_describes_itself(session: SqliteSession) -> None:
    """It shows the tag and the settings of the session."""
    told = dict(session.describe(TAG).rows)

    assert (told["client"], told["thread"], told["audit_id"]) == ("test", "thread", "7")
    assert (told["query_only"], told["trusted_schema"], told["opened"]) == ("1", "0", "read-only")
    assert session.health().ok


def test_shadow_tables_of_a_missing_module_are_left_out(tmp_path: Path) -> None:
    """SQLite marks only those of the modules that it has; a table of the same beginning stays."""
    file = tmp_path / "vectors.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript("""
            CREATE TABLE docs_chunks (a); CREATE TABLE docs_vector_chunks00 (a); CREATE TABLE docs_authors (a);
            CREATE TABLE other_chunks (a); PRAGMA writable_schema = on;
            INSERT INTO sqlite_master VALUES ('table', 'docs', 'docs', 0, 'CREATE VIRTUAL TABLE docs USING vec0(a)');
        """)
    with closing(session_of(file)) as session:
        names = [table.name for table in session.reflect(100).tables]

    assert names == ["docs", "docs_authors", "other_chunks"]


def test_a_table_that_only_another_module_would_shadow_stays(tmp_path: Path) -> None:
    """A module that cannot be used here hides its own shadow tables, and none that is called like another's."""
    file = tmp_path / "places.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript("""
            CREATE TABLE docs_info (a); CREATE TABLE docs_data (a); CREATE TABLE docs_node (a);
            CREATE TABLE loose_data (a); PRAGMA writable_schema = on;
            INSERT INTO sqlite_master VALUES
              ('table', 'docs', 'docs', 0, 'CREATE VIRTUAL TABLE docs USING "RTREE"(a, b, c)'),
              ('table', 'loose', 'loose', 0, 'CREATE VIRTUAL TABLE loose USING unheard_of(a)');
        """)
    with closing(session_of(file)) as session:
        names = [table.name for table in session.reflect(100).tables]

    assert names == ["docs", "docs_data", "docs_info", "loose", "loose_data"]
