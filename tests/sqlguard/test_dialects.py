"""Each engine besides PostgreSQL: what only reads is allowed, anything more is refused under its rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.sqlguard.corpora import statements
from thresher.sqlguard import CATALOG_SQL, Dialect, Knowledge, StatementLimits, Verdict, functions_of, judge
from thresher.sqlguard.function_lists import left_out, listed

CORPORA: list[tuple[Dialect, str]] = [
    ("sqlite", "sqlite"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("duckdb", "duckdb"),
    ("oracle", "oracle"),
    ("mssql", "mssql"),
]
DIALECTS: list[Dialect] = [dialect for dialect, _ in CORPORA]


def mode(text: str) -> Knowledge:
    """Return a MySQL session with this `sql_mode`."""
    return Knowledge(options={"sql_mode": text})


@pytest.mark.parametrize(("dialect", "corpus"), CORPORA)
def test_statements_that_only_read_pass_and_others_do_not(dialect: Dialect, corpus: str) -> None:
    """The corpus gives the verdict, and the rule where it matters."""
    wrong: list[tuple[str, Verdict]] = []

    for expected, sql, rule in statements(corpus):
        verdict = judge(sql, dialect)
        if verdict.allowed != (expected == "allow") or (rule and verdict.rule != rule):
            wrong.append((sql, verdict))

    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_has_a_reason_and_a_place_inside_the_text(dialect: Dialect) -> None:
    """The quoted part can be found in the statement."""
    verdict = judge("SELECT 'ä',\n  wipe(1) FROM t", dialect)

    assert (verdict.allowed, verdict.rule) == (False, "function")
    assert verdict.reason
    assert verdict.hint
    assert verdict.place is not None
    assert (verdict.place.line, verdict.place.column, verdict.place.text.lower()) == (2, 3, "wipe")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_verdict_names_relations_and_functions(dialect: Dialect) -> None:
    """Names of queries in WITH are not relations."""
    sql = "WITH x AS (SELECT a FROM s.t) SELECT max(x.a), upper(u.b) FROM x JOIN u ON u.a = x.a"

    verdict = judge(sql, dialect)

    assert verdict.allowed, verdict
    assert set(verdict.tables) == {"s.t", "u"}
    assert set(verdict.functions) == {"max", "upper"}
    assert (verdict.kind, verdict.limited) == ("select", False)


@pytest.mark.parametrize(
    ("dialect", "sql", "limited"),
    [
        ("sqlite", "SELECT a FROM t LIMIT 5", True),
        ("duckdb", "FROM t LIMIT 5", True),
        ("mssql", "SELECT TOP 5 a FROM t", True),
        ("oracle", "SELECT a FROM t FETCH FIRST 5 ROWS ONLY", True),
        ("mysql", "SELECT a FROM (SELECT a FROM t LIMIT 5) x", False),
    ],
)
def test_a_verdict_tells_whether_the_outermost_query_is_limited(dialect: Dialect, sql: str, limited: bool) -> None:
    """A nested limit does not count."""
    verdict = judge(sql, dialect)

    assert (verdict.allowed, verdict.limited) == (True, limited)


@pytest.mark.parametrize(
    ("known", "sql", "allowed"),
    [
        (mode(""), r"SELECT 'a\'b'", True),
        (mode("STRICT_TRANS_TABLES"), r"SELECT 'a\', sleep(5), \'b'", True),
        (mode("NO_BACKSLASH_ESCAPES"), r"SELECT 'a\', sleep(5), '\b'", False),
        (mode("NO_BACKSLASH_ESCAPES"), r"SELECT 'a\'", True),
        (mode("ANSI_QUOTES"), 'SELECT "sleep"(5)', False),
        (mode("ANSI_QUOTES"), 'SELECT "t"."a" FROM "t"', True),
        (mode("ANSI"), r'SELECT "a\" FROM t', True),
        (mode("ORACLE"), "SELECT 1", False),
        (Knowledge(), r"SELECT 'a\'", False),
    ],
)
def test_where_a_string_of_mysql_ends_is_read_as_the_session_is_set(known: Knowledge, sql: str, allowed: bool) -> None:
    """If a setting is unknown, every value of it must agree."""
    verdict = judge(sql, "mariadb", known)

    assert verdict.allowed == allowed, verdict


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect in CATALOG_SQL])
def test_a_function_of_a_user_is_refused_unless_its_owner_allows_it(dialect: Dialect) -> None:
    """Also if it has the name of a built-in one."""
    functions = functions_of(dialect, [("App", "Double"), ("app", "UPPER"), ("app", "other")], own=["app.double"])
    known = Knowledge(functions=functions)

    rules = [
        judge(f"SELECT {call} FROM t", dialect, known).rule for call in ("app.double(1)", "app.other(1)", "upper(a)")
    ]

    assert rules == [None, "function", "shadowed_function"]


def test_a_function_that_oracle_calls_without_brackets_is_refused() -> None:
    """By the catalog if known, else by its qualifier."""
    known = Knowledge(functions=functions_of("oracle", [("APP", "WIPE")]))

    assert judge("SELECT wipe FROM dual", "oracle", known).rule == "function"
    assert judge("SELECT app.wipe FROM dual", "oracle").rule == "function"
    assert judge("SELECT t.wipe FROM t", "oracle", known).allowed


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("start", "middle", "end"),
    [
        ("(", "1", ")"),
        ("- ", "1", ""),
        ("NOT ", "1", ""),
        ("CASE WHEN ", "1", ""),
        ("(SELECT ", "1", ")"),
        ("abs(", "1", ")"),
    ],
)
def test_a_text_that_nests_too_deeply_is_refused(dialect: Dialect, start: str, middle: str, end: str) -> None:
    """Whatever is nested, the process survives."""
    count = 30_000 // (len(start) + len(end))

    verdict = judge(f"SELECT {start * count}{middle}{end * count}", dialect)

    assert not verdict.allowed


@pytest.mark.parametrize(
    ("dialect", "call"),
    [("sqlite", "date"), ("sqlite", "char"), ("mysql", "binary"), ("mariadb", "uuid"), ("mariadb", "`time`")],
)
def test_a_text_that_a_grammar_would_read_again_and_again_is_refused(dialect: Dialect, call: str) -> None:
    """Each level that looks like a type would double or triple the time."""
    few, many = (f"SELECT {(call + ' (') * count}1{')' * count}" for count in (4, 40))

    assert judge(few, dialect).allowed
    assert judge(many, dialect).rule == "too_deep"


@pytest.mark.parametrize(("start", "end"), [("(", " JOIN t ON 1 = 1)"), ("(/*)*/", " JOIN t ON ')' > $x$)$x$)")])
def test_brackets_of_duckdb_are_counted_before_its_grammar_reads_them(start: str, end: str) -> None:
    """Its parser takes minutes for thousands of nested joins."""
    few, many = (f"SELECT * FROM {start * count}t{end * count}" for count in (50, 3_000))

    assert judge(few, "duckdb").allowed
    assert judge(many, "duckdb").rule == "too_deep"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_flat_statement_is_read(dialect: Dialect) -> None:
    """Length alone is not nesting."""
    sql = f"SELECT a FROM t WHERE b IN ({', '.join(map(str, range(5_000)))}) OR {' OR '.join(['c = 1'] * 500)}"

    verdict = judge(sql, dialect)

    assert verdict.allowed, verdict


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_are_judged_alike_from_many_threads(dialect: Dialect) -> None:
    """Threads share no state of a statement."""
    texts = [f"SELECT {'wipe' if index % 2 else 'max'}(a{index}) FROM t" for index in range(40)]

    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(judge, texts, [dialect] * len(texts)))

    assert [verdict.allowed for verdict in verdicts] == [index % 2 == 0 for index in range(40)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_of_functions_tells_why_some_were_left_out(dialect: Dialect) -> None:
    """No name is on both sides, and every one left out has a reason."""
    allowed, refused = listed(dialect).allowed, left_out(dialect)

    assert len(allowed) > 100
    assert not allowed & refused.keys()
    assert all(refused.values()) or dialect == "mysql"


def test_a_limit_of_sizes_is_the_callers() -> None:
    """A smaller limit refuses a smaller number."""
    verdict = judge("SELECT repeat('x', 100)", "mysql", limits=StatementLimits(literal_count=99))

    assert verdict.rule == "cost"


@pytest.mark.parametrize(
    ("dialect", "gathering"),
    [
        ("mysql", "group_concat({})"),
        ("mysql", "json_arrayagg({})"),
        ("mariadb", "json_objectagg(a, {})"),
        ("sqlite", "group_concat({})"),
        ("sqlite", "json_group_array({})"),
        ("duckdb", "list({})"),
        ("duckdb", "string_agg({}, ',')"),
        ("duckdb", "listagg({}, ',')"),
        ("oracle", "listagg({}) WITHIN GROUP (ORDER BY a)"),
        ("oracle", "json_arrayagg({})"),
        ("mssql", "string_agg({}, ',')"),
    ],
)
def test_an_aggregate_gathers_no_large_values(dialect: Dialect, gathering: str) -> None:
    """A value that is small alone is generated for each row, and all are kept."""
    sized = {"sqlite": "printf('%{}d', a)", "mssql": "replicate('x', {})", "oracle": "lpad(a, {})"}
    few, many = (gathering.format(sized.get(dialect, "lpad(a, {}, ' ')").format(size)) for size in (20, 2_000))

    assert judge(f"SELECT {few} FROM t", dialect).allowed
    assert judge(f"SELECT {many} FROM t", dialect).rule == "cost"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_that_is_replaced_again_and_again_is_bounded(dialect: Dialect) -> None:
    """Nested calls multiply each other's results; HTML escaping keeps about the same length."""
    many, escaped = "'x'", "a"
    for character in "xxx":
        many = f"replace({many}, '{character}', '{'x' * 1_500}')"
    for character in "&<>äöüßéèêàâîôû":
        escaped = f"replace({escaped}, '{character}', '-{'+' * 6}')"

    assert judge(f"SELECT {escaped} FROM t", dialect).allowed
    assert judge(f"SELECT {many} FROM t", dialect).rule == "cost"


@pytest.mark.parametrize("sql", ["SELECT * FROM Item_Seq", "SELECT minimum_value FROM `shop`.`item_seq`, t"])
def test_a_sequence_is_not_read_as_a_table(sql: str) -> None:
    """MariaDB would show its current value."""
    knowledge = Knowledge(sequences=frozenset({"item_seq", "shop.item_seq"}))

    assert judge(sql, "mariadb", knowledge).rule == "relation"
    assert judge(sql.replace("eq", "et"), "mariadb", knowledge).allowed


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ("seq_1_to_1000000", None),
        ("seq_1_to_1000000000_step_1000", None),
        ("seq_1_to_1000000000", "cost"),
        ("`SEQ_1000000000_to_1`", "cost"),
    ],
)
def test_rows_made_of_nothing_are_counted(table: str, rule: str | None) -> None:
    """Tables of MariaDB's sequence engine exist as soon as they are named."""
    assert judge(f"SELECT seq FROM {table}", "mariadb").rule == rule


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT pg_stat_get_backend_client_addr(1)"),
        ("postgresql", "SELECT client_addr FROM pg_stat_replication"),
        ("duckdb", "SELECT path FROM duckdb_databases()"),
        ("duckdb", "FROM duckdb_databases"),
        ("duckdb", "SUMMARIZE duckdb_databases"),
        ("duckdb", "SELECT file FROM pragma_database_list"),
        ("duckdb", "SELECT install_path FROM duckdb_extensions()"),
        ("duckdb", "FROM duckdb_extension_repositories()"),
        ("sqlite", "SELECT file FROM pragma_database_list"),
        ("mysql", "SELECT user()"),
        ("mariadb", "SELECT session_user()"),
        ("mssql", "SELECT host_name()"),
        ("oracle", "SELECT userenv('TERMINAL') FROM dual"),
    ],
)
def test_no_path_and_no_address_is_told(dialect: Dialect, sql: str) -> None:
    """Neither of the server and its files nor of the client."""
    assert judge(sql, dialect).rule in {"function", "relation"}
