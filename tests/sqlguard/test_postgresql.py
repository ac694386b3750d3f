"""PostgreSQL: statements that only read are allowed, and no others."""

from __future__ import annotations

import threading
from typing import Final

import pytest
from postgast import pg_query_pb2

from thresher.sqlguard import Functions, Knowledge, StatementLimits, judge
from thresher.sqlguard.postgresql import nodes

READS: Final = """
    SELECT 1;
    SELECT a.b, a.*, (a).b, (f).c[1:2] FROM t AS a JOIN u USING (id) LEFT JOIN LATERAL (SELECT 2) x ON true
    SELECT count(*) FILTER (WHERE a > 1) OVER w FROM t WINDOW w AS (PARTITION BY b ORDER BY c DESC NULLS LAST)
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), string_agg(DISTINCT y, ',' ORDER BY y) FROM t
    WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r
    WITH t AS MATERIALIZED (SELECT 1 AS a) SELECT * FROM t UNION SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4
    SELECT a, sum(b) FROM t GROUP BY ROLLUP (a), GROUPING SETS ((a), ()) HAVING grouping(a) = 0 LIMIT 5 OFFSET 2
    SELECT DISTINCT ON (a) a, CASE b WHEN 1 THEN 'x' ELSE coalesce(c, nullif(d, 'y')) END FROM t FETCH FIRST 3 ROWS ONLY
    SELECT * FROM t WHERE a IN (SELECT b FROM u) AND c BETWEEN 1 AND 2 AND d LIKE 'x%' AND e IS NOT DISTINCT FROM NULL
    SELECT extract(year FROM now()), trim(both 'x' FROM 'y'), substring('abc' FROM 2), overlay('ab' PLACING 'c' FROM 1)
    SELECT '2020-01-01'::date + interval '1 day', 'x'::varchar(10)[], ROW(1, 2), ARRAY[1, 2] @> '{1}'
    SELECT x FROM generate_series(1, 12) WITH ORDINALITY AS g(x, n), unnest(ARRAY[1, 2]) u
    SELECT * FROM t TABLESAMPLE bernoulli (10) REPEATABLE (1)
    SELECT * FROM json_table('[{"a": 1}]', '$[*]' COLUMNS (a int PATH '$.a' DEFAULT 0 ON EMPTY)) AS j
    SELECT * FROM xmltable('/a' PASSING ('<a/>'::xml) COLUMNS n FOR ORDINALITY, b text PATH 'b') AS x
    SELECT json_object('a': 1), json_value('{}', '$.a' RETURNING int), xmlelement(NAME a, 1), 'x' IS JSON
    SELECT * FROM json_to_record('{}') AS r(a int, b text)
    SELECT random(), gen_random_uuid(), clock_timestamp(), pg_size_pretty(pg_total_relation_size('t'))
    SELECT n.nspname, '{}'::jsonb -> 'a' FROM pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    SELECT column_name FROM information_schema.columns WHERE table_name = 't'
    SELECT 1 OPERATOR(pg_catalog.+) 2, U&"b\\0061r" FROM t
    SELECT lpad(id::text, 8, '0'), repeat('-', 80), repeat('#', (n * 40 / 7)::int), format('%-20s|', name) FROM t
    SELECT string_agg(lpad(id::text, 10, '0'), ', '), array_agg(repeat('*', stars)) FROM t WHERE year = 2024 LIMIT 9999
    SELECT string_agg(format('%s: %s', a, b), ', '), json_agg(g) FROM t, generate_series(1, 1000000) g
    SELECT to_char(d, 'YYYY'), array_agg(d) FROM generate_series('2020-01-01'::date, now(), '1 day') d GROUP BY 1
    SELECT string_agg(repeat('-', 1000), '')
    SELECT * FROM t WHERE id = 5000000000
    SELECT '/*+ text */', "/*+" FROM t -- /*+ comment
    TABLE t
    VALUES (1, 'a'), (2, 'b')
    EXPLAIN (FORMAT json, COSTS off, ANALYZE off) SELECT * FROM t
    EXPLAIN VERBOSE SELECT 1
    SHOW server_version
    SELECT current_setting('TimeZone'), current_user, current_date, version()
"""

REFUSED: Final = [
    ("DELETE FROM t", "writes", "DELETE"),
    ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "writes", "d"),
    ("SELECT * FROM (WITH d AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM d) s", "writes", "d"),
    ("CREATE TABLE t (a int)", "writes", "CREATE"),
    ("EXPLAIN CREATE TABLE x AS SELECT 1", "writes", "EXPLAIN"),
    ("EXPLAIN ANALYZE SELECT 1", "clause", None),
    ("EXPLAIN (ANALYZE, FORMAT json) SELECT 1", "clause", None),
    ("EXPLAIN EXECUTE p", "statement", "EXPLAIN"),
    ("SELECT * INTO x FROM t", "writes", "SELECT"),
    ("SELECT * FROM t FOR UPDATE", "locks", "SELECT"),
    ("SELECT * FROM (SELECT * FROM t FOR KEY SHARE) s", "locks", "SELECT"),
    ("LOCK TABLE t", "locks", "LOCK"),
    ("SELECT 1; DROP TABLE t", "several_statements", "DROP"),
    ("COMMIT", "statement", "COMMIT"),
    ("SET x = 1", "statement", "SET"),
    ("SHOW ALL", "statement", None),
    ("SHOW data_directory", "statement", None),
    ("SELECT $1", "parameter", "$1"),
    ("SELECT pg_sleep(1)", "function", "pg_sleep"),
    ("SELECT inet_server_addr()", "function", "inet_server_addr"),
    ("SELECT pg_relation_filepath('t')", "function", "pg_relation_filepath"),
    ("SELECT pg_tablespace_location(1663)", "function", "pg_tablespace_location"),
    ('SELECT U&"pg\\005fsleep"(1)', "function", 'U'),
    ("SELECT 1 ORDER BY pg_catalog.pg_sleep(1)", "function", "pg_catalog.pg_sleep"),
    ("VALUES (nextval('s'))", "function", "nextval"),
    ("SELECT * FROM ROWS FROM (pg_ls_dir('.'), unnest(ARRAY[1]))", "function", "pg_ls_dir"),
    ("SELECT count(*) FILTER (WHERE lo_unlink(1) = 1) FROM t", "function", "lo_unlink"),
    ("SELECT 1 LIMIT (SELECT setval('s', 1))", "function", "setval"),
    ("SELECT query_to_xml('DROP TABLE t', true, true, '')", "function", "query_to_xml"),
    ("SELECT cron.schedule('a', 'b', 'c')", "function", "cron.schedule"),
    ("SELECT pg_temp.f()", "function", "pg_temp.f"),
    ("SELECT a.b.f(1)", "function", "a.b.f"),
    ("SELECT current_setting('data_directory')", "function", "current_setting"),
    ("SELECT (0.1::float8).pg_sleep", "function", None),
    ("SELECT x.pg_read_file FROM text('PG_VERSION') AS x", "function", "x.pg_read_file"),
    ("SELECT x.current_setting FROM text('data_directory') AS x", "function", "x.current_setting"),
    ("SELECT (array['a'])[1].nextval", "function", None),
    ("SELECT * FROM t TABLESAMPLE system_time (100)", "function", "system_time"),
    ("SELECT 1 OPERATOR(public.+) 2", "operator", "OPERATOR"),
    ("SELECT 1 === 2", "operator", "==="),
    ("SELECT 1 ORDER BY 1 USING ===", "operator", None),
    ("SELECT 1 === ANY (SELECT 2)", "operator", "==="),
    ("SELECT 'x'::mood", "type", "mood"),
    ("SELECT * FROM json_to_record('{}') AS r(a public.mood)", "type", "public.mood"),
    ("SELECT * FROM pg_authid", "relation", "pg_authid"),
    ("SELECT 1 FROM t WHERE EXISTS (TABLE pg_catalog.pg_shadow)", "relation", "pg_catalog.pg_shadow"),
    ("SELECT * FROM pg_stat_activity", "relation", "pg_stat_activity"),
    ("SELECT * FROM extensions.pg_stat_statements", "relation", "extensions.pg_stat_statements"),
    ("SELECT * FROM pg_toast.pg_toast_1", "relation", "pg_toast.pg_toast_1"),
    ("SELECT FROM WHERE", "syntax", "WHERE"),
    ("SELECT * FROM t WHERE a = :name", "syntax", ":"),
    ("-- nothing", "empty", None),
    ("/*+ Set(statement_timeout 0) */ SELECT 1", "comment", "/*+"),
    ("SELECT 'ä', /*+ SeqScan(t) */ 1", "comment", "/*+"),
]  # fmt: skip

COSTLY: Final = [
    "SELECT string_agg(repeat('x', 10000), '') FROM generate_series(1, 1000000)",
    "SELECT string_agg(repeat('x', 150) || repeat('y', 150), '') FROM t",
    "SELECT ARRAY(SELECT repeat('x', 5000) FROM t)",
    "SELECT json_arrayagg(rpad(a, 5000)) FROM t",
    "SELECT (SELECT jsonb_agg(repeat('x', 201)) FROM t)",
    "SELECT string_agg(repeat('x', n), '') FROM (VALUES (1000000)) v(n), generate_series(1, 10000)",
    "SELECT string_agg(repeat('x', 100), '') FROM (VALUES (1000000000)) v(n), generate_series(1, v.n)",
    "SELECT xmlagg(xmlelement(name a, repeat('x', 100))) FROM generate_series(1, 20000)",
    f"SELECT string_agg('{'x' * 5000}', '') FROM generate_series(1, 10000)",
    "SELECT array_agg(1) FROM generate_series(1, 10000) a, generate_series(1, 10000) b",
    "WITH a AS (SELECT string_agg(repeat('x', 100), '') s FROM generate_series(1, 9999))"
    " SELECT string_agg(s, '') FROM a, generate_series(1, 9999)",
    "SELECT repeat('x', 100000000)",
    "SELECT repeat('x', 10000 * 10000)",
    "SELECT repeat('x', (10 ^ 9)::int)",
    "SELECT repeat('x', '100000000'::int)",
    "SELECT repeat('x', x'7fffffff'::int)",
    "SELECT repeat('x', 1 << 30)",
    "SELECT repeat('x', power(10, 9)::int)",
    "SELECT repeat('x', hashtext('a'))",
    "SELECT repeat(repeat(repeat('x', 1000), 1000), 1000)",
    "SELECT repeat(replace(repeat('x', 1000), 'x', repeat('y', 1000)), 1000)",
    f"SELECT replace(replace('{'x' * 1500}', 'x', '{'x' * 1500}'), 'x', 'yy')",
    f"SELECT replace(replace(a, 'x', '{'x' * 1500}'), 'x', '{'y' * 1500}') FROM t",
    f"SELECT regexp_replace('{'x' * 1500}', '.', repeat('y', 1500), 'g')",
    f"SELECT array_to_string(string_to_array('{'x,' * 1500}', ','), '{'x' * 1500}')",
    "SELECT replace(CASE WHEN true THEN repeat('x', 9000) END, 'x', repeat('y', 9000)) FROM t",
    "SELECT replace((SELECT 'y' UNION SELECT repeat('x', 9000)), 'x', repeat('y', 9000)) FROM t",
    "SELECT repeat('x', 900000) || repeat('y', 900000)",
    "SELECT repeat('x', n) FROM (VALUES (1000000000)) v(n)",
    "SELECT repeat('x', n) FROM (SELECT 100000 * 100000) v(n)",
    "SELECT repeat('x', (SELECT 1000000000))",
    "SELECT repeat('x', greatest(n, 2000000000)) FROM t",
    "SELECT repeat('x', ' 0x3b9aca00'::int)",
    "SELECT repeat('x', '0x1p30'::float8::int)",
    "SELECT repeat('x', '.5e10'::numeric::int)",
    "SELECT repeat('x', (0 * power(1, 1) + 1000000000)::int)",
    "SELECT repeat('x', (1000 / (5 - 4.999999))::int)",
    "SELECT repeat('x', (0.001 ^ -3)::int)",
    "SELECT repeat('x', (-1)::bit(29)::int)",
    "SELECT repeat('x', 1 << -2)",
    "SELECT repeat('x', (1e30 + 1000000000 - 1e30)::int)",
    "SELECT repeat('x', 500000001::numeric(1, -9)::int)",
    "SELECT repeat('x', '1,000,000,000'::money::numeric::int)",
    "SELECT repeat('x', ('2' || '00000000')::int)",
    "SELECT repeat('x', n) FROM (SELECT power(10, 9)::int) v(n)",
    "SELECT repeat('x', n) FROM (SELECT (1000 / 0.000001)::int) v(n)",
    "SELECT DISTINCT repeat('x', 20000) || n FROM t",
    "SELECT string_agg(lpad(a, 100000), '') FROM t",
    "SELECT lpad('x', 500000000), rpad('y', 2)",
    "SELECT format('%1000000000s', 'x')",
    "SELECT format('%*s', 1000000000, 'x')",
    "SELECT format(a, 'x') FROM t",
    "SELECT array_fill(0, ARRAY[10000, 10000])",
    "SELECT array_fill(0, '{100000000}'::int[])",
    "SELECT array_fill(0, '{0x5f5e100}'::int[])",
    "SELECT array_fill(0, string_to_array('100000000', ',')::int[])",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT * FROM generate_series(-900000, 900000)",
    "SELECT * FROM generate_series(0.0, 1.0, 0.0000001)",
    "SELECT 'x'::bit(80000000)",
    "SELECT 'x'::char(10000000)",
]


@pytest.mark.parametrize("sql", [line.strip() for line in READS.strip().splitlines()])
def test_a_statement_that_only_reads_passes(sql: str) -> None:
    """Every clause of SELECT, the catalog, JSON, XML, realistic sizes."""
    verdict = judge(sql, "postgresql")

    assert (verdict.allowed, verdict.rule, verdict.reason) == (True, None, "")


@pytest.mark.parametrize(("sql", "rule", "word"), REFUSED, ids=[sql for sql, *_ in REFUSED])
def test_a_refused_statement_names_the_rule_and_the_place(sql: str, rule: str, word: str | None) -> None:
    """Wherever the offending part is."""
    verdict = judge(sql, "postgresql")

    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert verdict.reason
    assert word is None or (verdict.place is not None and verdict.place.text == word)


@pytest.mark.parametrize("sql", COSTLY)
def test_sizes_that_no_answer_needs_are_refused(sql: str) -> None:
    """Whatever arithmetic produces the number."""
    assert judge(sql, "postgresql").rule == "cost"


def test_every_other_statement_of_the_grammar_is_refused() -> None:
    """Three kinds of statements are read; all others are refused by their kind."""
    kinds = {name for name in pg_query_pb2.DESCRIPTOR.message_types_by_name if name.endswith("Stmt")}

    assert kinds & nodes.KINDS.keys() == {"SelectStmt"}
    assert len(kinds) > 100


def test_the_list_of_kinds_is_the_grammars() -> None:
    """Each listed field matches the grammar: none with nodes below it counts as plain."""
    kinds = pg_query_pb2.DESCRIPTOR.message_types_by_name
    wrong: list[str] = []
    for kind, fields in nodes.KINDS.items():
        known = {name: field for field in kinds[kind].fields for name in (field.name, field.json_name)}
        for name in fields.keys() - {"location"}:
            below = known[name].message_type
            holds = nodes.PLAIN if below is None else nodes.NODES if below.name == "Node" else below.name
            if holds != fields[name] and kind != "A_Const":
                wrong.append(f"{kind}.{name}")

    assert wrong == []
    assert {holds for fields in nodes.KINDS.values() for holds in fields.values()} <= {"", "*", *nodes.KINDS}


def test_what_is_read_and_called_is_told() -> None:
    """Names as written, without visible WITH queries, and functions in lower case."""
    verdict = judge(
        'WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a, s."T") SELECT PG_CATALOG.Lower(x) FROM b, c LIMIT 1',
        "postgresql",
    )

    assert verdict.kind == "select"
    assert verdict.tables == ("a", "s.T", "c")
    assert verdict.functions == ("pg_catalog.lower",)
    assert verdict.limited


@pytest.mark.parametrize(
    ("sql", "kind", "limited"),
    [
        ("SELECT 1 LIMIT ALL", "select", False),
        ("(SELECT 1 LIMIT 1) UNION SELECT 2", "select", False),
        ("VALUES (1) FETCH FIRST ROW ONLY", "values", True),
        ("EXPLAIN SELECT 1", "explain", False),
        ("SHOW search_path", "show", False),
    ],
)
def test_the_kind_and_the_own_limit_are_told(sql: str, kind: str, limited: bool) -> None:
    """So that the caller knows what to expect."""
    verdict = judge(sql, "postgresql")

    assert (verdict.kind, verdict.limited) == (kind, limited)


def test_places_are_counted_in_characters() -> None:
    """The grammar counts bytes."""
    verdict = judge("SELECT 'äöü€',\n  pg_sleep(1)", "postgresql")

    assert verdict.place
    assert (verdict.place.offset, verdict.place.line, verdict.place.column) == (17, 2, 3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1" + "+1" * 49_000,
        "SELECT " + "(" * 49_000 + "1",
        "SELECT 1" + "::a" * 33_000,
        "SELECT " + "(SELECT " * 80 + "1" + ")" * 80,
        "SELECT 1" + " UNION SELECT 1" * 300,
    ],
    ids=["additions", "parentheses", "casts", "queries", "unions"],
)
def test_deep_statements_are_refused_in_any_thread(sql: str) -> None:
    """The parser does not check the stack; a thread with a small one survives."""
    verdicts: list[str | None] = []
    usual = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: verdicts.append(judge(sql, "postgresql").rule))
        thread.start()
    finally:
        threading.stack_size(usual)
    thread.join()

    assert verdicts == ["too_deep"]


def test_chains_that_people_write_are_not_deep() -> None:
    """Fifty columns joined by `||`, twenty tables, a thousand numbers."""
    chain = " || ".join(f"coalesce(c{number}, '')" for number in range(50))
    joins = " ".join(f"JOIN t{number} USING (id)" for number in range(1, 20))
    numbers = ", ".join(map(str, range(1000)))

    verdict = judge(f"SELECT {chain} FROM t0 {joins} WHERE id IN ({numbers})", "postgresql")

    assert verdict.allowed


def test_limits_are_the_callers() -> None:
    """Of depth and sizes."""
    limits = StatementLimits(depth=5, literal_count=10)

    assert judge("SELECT 1 + (2 + (3 + (4 + 5)))", "postgresql", limits=limits).rule == "too_deep"
    assert judge("SELECT repeat('x', 11)", "postgresql", limits=limits).rule == "cost"


def test_a_session_that_reads_backslashes_otherwise_gets_none() -> None:
    """The grammar follows the standard; in such a session texts with backslashes are refused."""
    odd = Knowledge(options={"standard_conforming_strings": "off"})

    assert judge(r"SELECT '\'", "postgresql").allowed
    assert judge(r"SELECT '\'; DROP TABLE t; --'", "postgresql", odd).rule == "syntax"


def test_what_users_made_is_refused_by_what_is_known_of_it() -> None:
    """Shadowed names, operators in any clause, functions as fields; allowed ones by name."""
    functions = Functions(
        allowed=frozenset({"lower", "count"}),
        shadowed=frozenset({"lower", "json_value"}),
        own=frozenset({"app.total"}),
        operators=frozenset({"=", "<="}),
        types=frozenset({"mood"}),
        fields=frozenset({"danger", "value"}),
        row_fields=frozenset({"danger"}),
    )
    statements = """
        SELECT lower('A')
        SELECT pg_catalog.lower('A')
        SELECT app.total(1), total(2)
        SELECT upper('a')
        SELECT 'x'::mood
        SELECT 'x'::_mood
        SELECT t.danger FROM t
        SELECT danger FROM t
        SELECT (t).danger FROM t
        SELECT t.value FROM t
        SELECT (t.a).value FROM t
        SELECT t.value FROM count('a') t
        SELECT 1 = 2
        SELECT 1 IN (2)
        SELECT 1 BETWEEN 2 AND 3
        SELECT CASE 1 WHEN 2 THEN 3 END
        SELECT 1 FROM a JOIN b USING (c)
        SELECT 1 FROM a NATURAL JOIN b
        SELECT 1 OPERATOR(pg_catalog.=) 2
        SELECT 1 <=> 2
        SELECT json_value('{}', '$.a')
    """.strip().splitlines()

    rules = [judge(sql, "postgresql", Knowledge(functions)).rule for sql in statements]

    assert rules == [
        *("shadowed_function", None, None, "function"),
        *(None, None, "function", None, "function"),
        *(None, "function", "function"),
        *("operator", "operator", "operator", "operator"),
        *("operator", "operator", None),
        *(None, "shadowed_function"),
    ]


DOUBLED: Final = {
    "subqueries": "SELECT length(a) FROM (SELECT " + "a||a AS a FROM (SELECT " * 25 + "'x' AS a" + ") s" * 25 + ") s",
    "without names": "SELECT s.x FROM (SELECT " + "s.x||s.x FROM (SELECT " * 25 + "'x'" + ") s(x)" * 25 + ") s(x)",
    "whole rows": "SELECT s FROM (SELECT " + "s.a||s.a AS a FROM (SELECT " * 25 + "'x' AS a" + ") s" * 25 + ") s",
    "union": "SELECT a FROM (SELECT "
    + "a||a AS a FROM (SELECT " * 25
    + "'x' AS a UNION ALL SELECT 'y'"
    + ") s" * 25
    + ") s",
    "stars": "SELECT a FROM (SELECT * FROM (SELECT " * 1
    + "a||a AS a FROM (SELECT * FROM (SELECT " * 20
    + "'x' AS a"
    + ") s) s" * 20
    + ") s) s",
    "joins": "SELECT a FROM (SELECT "
    + "s.a||u.b AS a, s.a AS b FROM t CROSS JOIN (SELECT " * 1
    + "a||a AS a, a AS b FROM (SELECT " * 20
    + "'x' AS a"
    + ") s" * 20
    + ") s CROSS JOIN t AS u) s",
    "with": "WITH c0 AS (SELECT 'x' AS x)"
    + "".join(f", c{n} AS (SELECT x||x AS x FROM c{n - 1})" for n in range(1, 20))
    + " SELECT x FROM c19",
    "plans": "WITH c0 AS NOT MATERIALIZED (SELECT 1 AS x)"
    + "".join(f", c{n} AS NOT MATERIALIZED (SELECT a.x FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 20))
    + " SELECT x FROM c19",
    "ordered": "SELECT a FROM (SELECT " + "a||a AS a FROM (SELECT " * 20 + "'x' AS a" + " ORDER BY 1) s" * 20 + ") s",
    "distinct": "SELECT a FROM (SELECT " + "DISTINCT a||a AS a FROM (SELECT " * 20 + "'x' AS a" + ") s" * 20 + ") s",
    "grouped": "SELECT a FROM (SELECT " + "a||a AS a FROM (SELECT " * 20 + "'x' AS a" + " GROUP BY 1) s" * 20 + ") s",
    "having": "SELECT a FROM (SELECT "
    + "a||a AS a FROM (SELECT " * 20
    + "'x' AS a"
    + ") s GROUP BY a HAVING a = 'x'" * 20
    + ") s",
    "inside with": "SELECT a FROM ("
    + "WITH c AS (" * 20
    + "SELECT 'x' AS a"
    + ") SELECT a||a AS a FROM c" * 20
    + ") s",
    "between": "SELECT " + "(" * 10 + "a" + " BETWEEN SYMMETRIC 0 AND 1)::int" * 10 + " FROM t",
    "in": "SELECT " + "(" * 18 + "a" + " IN (a, b))::int" * 18 + " FROM t",
    "rows": "SELECT " + "((ROW(" * 16 + "a" + ", 1) IN (ROW(0, 0), ROW(1, 1)))::int)" * 16 + " FROM t",
    "subqueries of a comparison": "SELECT ((" * 8
    + "SELECT 1 AS a"
    + ") BETWEEN SYMMETRIC 0 AND 1)::int AS a LIMIT 1" * 8,
    "twice in a star": "SELECT a FROM ("
    + "SELECT y||y AS a FROM (SELECT * FROM (SELECT a, a FROM (" * 20
    + "SELECT 'x' AS a"
    + ") q) s) AS w(x, y)" * 20
    + ") s",
    "whole rows with names twice": "SELECT s::text AS a FROM (SELECT a, a FROM (" * 20
    + "SELECT 'x' AS a"
    + ") q) s" * 20,
    "aggregates": "SELECT a FROM (SELECT " + "max(a || a) AS a FROM (SELECT " * 20 + "'x' AS a" + ") s" * 20 + ") s",
    "a table of the name": "SELECT a FROM ("
    + "".join(f"WITH t{n} AS (SELECT a FROM (" for n in range(20))
    + "SELECT 'x' AS a"
    + "".join(f") s WHERE a IN (SELECT a FROM t{n})) SELECT a||a AS a FROM t{n}" for n in reversed(range(20)))
    + ") s",
    "where": "SELECT 1 FROM (SELECT " + "a||a AS a FROM (SELECT " * 20 + "'x' AS a" + ") s" * 20 + ") s WHERE a = 'x'",
    "outer": "SELECT (SELECT a||a) FROM (SELECT " + "a||a AS a FROM (SELECT " * 20 + "'x' AS a" + ") s" * 20 + ") s",
}


@pytest.mark.parametrize("sql", DOUBLED.values(), ids=DOUBLED)
def test_what_the_planner_would_copy_without_an_end_is_refused(sql: str) -> None:
    """It exhausts the server's memory, past every time-out, before the statement runs."""
    verdict = judge(sql, "postgresql")

    assert (verdict.allowed, verdict.rule) == (False, "cost")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM (SELECT " + "a||a AS a FROM (SELECT " * 6 + "'x' AS a" + ") s" * 6 + ") s",
        "SELECT a FROM (SELECT " + "a||a AS a FROM (SELECT " * 25 + "'x' AS a" + " OFFSET 0) s" * 25 + ") s",
        "SELECT n FROM (SELECT " + "sum(n + n) AS n FROM (SELECT " * 9 + "1 AS n" + " GROUP BY 1) s" * 9 + ") s",
        "WITH c0 AS (SELECT 'x' AS x)"
        + "".join(f", c{n} AS (SELECT a.x||b.x AS x FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 20))
        + " SELECT x FROM c19",
        "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + n FROM r WHERE n < 9) SELECT n + n FROM r",
    ],
)
def test_what_is_planned_in_one_piece_is_not_counted_as_copied(sql: str) -> None:
    """Few levels, and queries that are planned separately."""
    assert judge(sql, "postgresql").allowed
