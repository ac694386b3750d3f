"""Sizes of DuckDB's values: literals, lambdas and subquery columns that generate large values are refused."""

from __future__ import annotations

import duckdb
import pytest

from thresher.sqlguard import judge
from thresher.sqlguard.duckdb_sizes import RULED
from thresher.sqlguard.function_lists import listed

MANY = "x" * 1_500
DOUBLING = ", ".join(f"c{index + 1} AS (SELECT s || s AS s FROM c{index})" for index in range(40))
HEXED = "hex(" * 25 + "'x'" + ")" * 25


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT length(replace(replace(replace('x', 'x', '{MANY}'), 'x', '{MANY}'), 'x', '{MANY}'))",
        f"SELECT length(regexp_replace(regexp_replace('{MANY}', '.', '{MANY}', 'g'), '.', '{MANY}', 'g'))",
        f"SELECT array_to_string(range(1, 9000)::varchar[], '{MANY}')",
        f"SELECT list_select(['{MANY * 2}'], [{', '.join(['1'] * 2_000)}])",
        f"SELECT {HEXED}",
        "SELECT json_pretty(repeat('[', 5000) || repeat(']', 5000))",
        "SELECT damerau_levenshtein(repeat('x', 9000), repeat('y', 9000))",
    ],
)
def test_a_value_made_of_literals_is_as_long_as_their_product(sql: str) -> None:
    """Even if no number states its length."""
    assert judge(sql, "duckdb").rule == "cost"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(list_reduce(range(1, 31)::varchar[], lambda a, b: a || a))",
        "SELECT reduce(['x', 'y'], lambda a, b: concat(a, b, a)) FROM t",
        "SELECT array_reduce(a, lambda x, y: replace(x, 'a', 'bb')) FROM t",
        "SELECT list_transform(range(5000), lambda x: list_transform(range(5000), lambda y: x * y))",
        "SELECT [[x * y FOR y IN range(5000)] FOR x IN range(5000)]",
        "SELECT list_filter(range(5000), lambda x: len(list_transform(range(5000), lambda y: x * y)) > 1)",
    ],
)
def test_a_lambda_runs_for_each_element(sql: str) -> None:
    """Its result counts once per element; a result that names itself twice doubles each time."""
    assert judge(sql, "duckdb").rule == "cost"


@pytest.mark.parametrize(
    "sql",
    [
        f"WITH c0 AS (SELECT 'x' AS s), {DOUBLING} SELECT length(s) FROM c40",
        f"WITH a AS (SELECT '{MANY}' AS s), b AS (SELECT replace(s, 'x', '{MANY}') AS s FROM a) SELECT s FROM b",
        f"SELECT replace(s, 'x', s) FROM (VALUES ('{MANY}', 1)) AS v (s, n)",
        "SELECT repeat('x', 900) AS a, replace(a, 'x', a) AS b, replace(b, 'x', a) AS c",
        f"SELECT replace(COLUMNS(*), 'x', '{MANY}') FROM (SELECT '{MANY}' AS s)",
        "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT length(s) FROM r",
        "WITH RECURSIVE r AS (SELECT 'x' AS s, 1 AS n UNION ALL SELECT concat(q.s, q.s), n + 1 FROM r q) FROM r",
    ],
)
def test_a_column_of_a_subquery_is_as_long_as_what_is_behind_it(sql: str) -> None:
    """A chain of queries grows like a chain of calls."""
    assert judge(sql, "duckdb").rule == "cost"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list_transform(tags, lambda x: x || '!'), [x + 1 FOR x IN range(1000)] FROM t",
        "SELECT list_reduce(l, lambda a, b: a + b), list_reduce(l, lambda a, b: a || ', ' || b, 'x') FROM t",
        "SELECT reduce(l, lambda a, b: CASE WHEN a > b THEN a ELSE b END) FROM t",
        "SELECT string_agg(replace(replace(replace(a, '&', '&amp;'), '<', '&lt;'), '\"', '&quot;'), ',') FROM t",
        "SELECT lower(regexp_replace(trim(regexp_replace(a, '[^a-z0-9]+', '-', 'g')), '^-|-$', '', 'g')) FROM t",
        "SELECT json_pretty(a), to_json(b), json_object('a', a, 'b', b), levenshtein(a, 'abc') FROM t",
        "SELECT a FROM (SELECT concat_ws(', ', a, b) AS a FROM (SELECT trim(a) AS a, b FROM t))",
        f"SELECT replace(a, 'x', 'y') FROM t WHERE b = '{MANY * 10}'",
        f"SELECT length({' || '.join(['a'] * 200)}) FROM t",
        "WITH RECURSIVE r AS (SELECT id, name, name AS path FROM t UNION ALL SELECT c.id, c.name,"
        " r.path || '/' || r.name || c.name FROM t c JOIN r ON c.p = r.id) SELECT path FROM r",
    ],
)
def test_what_reads_rows_is_not_taken_for_what_makes_large_values(sql: str) -> None:
    """Columns count as short, sums as sums, and a path grows by one name per step."""
    verdict = judge(sql, "duckdb")

    assert verdict.allowed, verdict


def test_replacements_of_different_characters_do_not_multiply() -> None:
    """HTML escaping keeps about the same length; repeated replacement does not."""
    escaped, grown = "a", "a"
    for character in '&<>"äöüßéèêàâîôûç':
        escaped = f"replace({escaped}, '{character}', '-{'+' * 6}')"
        grown = f"replace({grown}, '+', '{'+' * 6}')"

    assert judge(f"SELECT string_agg({escaped}, ',') FROM t", "duckdb").allowed
    assert judge(f"SELECT {grown} FROM t", "duckdb").rule == "cost"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT regexp_replace(a, '.', '{MANY}', 'g') FROM t",
        "SELECT repeat(a, 9000) FROM t",
        f"SELECT array_to_string(a, '{MANY}') FROM t",
    ],
)
def test_a_column_is_not_taken_for_one_character(sql: str) -> None:
    """Its values multiply like literals, once per row."""
    assert judge(sql, "duckdb").rule == "cost"


def test_an_aggregate_gathers_no_values_made_of_literals() -> None:
    """It would keep one for each row."""
    sql = "SELECT string_agg(replace(repeat('x', 100), 'x', '0123456789'), '') FROM range(1000000)"

    assert judge(sql, "duckdb").rule == "cost"


def test_every_further_name_of_a_function_has_its_rule() -> None:
    """The aliases come from the engine's catalog."""
    calls = {
        "list_transform": "{}(range(5000), lambda x: range(5000))",
        "list_filter": "{}(range(5000), lambda x: len(range(5000)) > x)",
        "list_reduce": "{}(range(50)::varchar[], lambda a, b: a || a)",
        "list_resize": "{}([1], 100000000)",
        "list_aggregate": "{}(range(9000)::varchar[], 'string_agg', repeat('x', 9000))",
        "string_agg": "{}(a, repeat('x', 9000)) FROM t",
        "list_select": "{}(['" + MANY + "'], range(9000))",
        "levenshtein": "{}(repeat('x', 9000), repeat('x', 9000))",
    }
    with duckdb.connect() as database:
        names = dict(database.execute("SELECT DISTINCT lower(function_name), lower(alias_of) FROM duckdb_functions()"
                                      " WHERE alias_of IS NOT NULL").fetchall())  # fmt: skip
    renamed = {name: of for name, of in names.items() if of in RULED and name in listed("duckdb").allowed}
    templates = {of: calls.get(of, "{}(" * 30 + "'" + MANY + "'" + ")" * 30) for of in renamed.values()}

    rules = {name: judge("SELECT " + templates[of].replace("{}", name), "duckdb").rule for name, of in renamed.items()}

    assert {"apply", "list_apply", "array_apply", "array_transform", "reduce", "array_reduce"} <= rules.keys()
    assert set(rules.values()) == {"cost"}, rules


def test_every_rule_is_for_a_function_of_the_engine() -> None:
    """A misspelt name, or an alias, would have no effect."""
    with duckdb.connect() as database:
        rows = database.execute("SELECT DISTINCT lower(function_name), alias_of FROM duckdb_functions()").fetchall()
    own = {name for name, alias_of in rows if alias_of is None}

    assert own >= RULED
