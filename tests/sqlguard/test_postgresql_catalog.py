"""What a live PostgreSQL database adds to the shipped list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import psycopg
import pytest

from tests.support.databases import Databases
from thresher.sqlguard import CATALOG_SQL, Functions, Knowledge, functions_of, judge

MADE: Final = """
    create extension if not exists vector;
    create schema app;
    create schema hidden;
    create table app.item (id int, total int);
    create function public.lower(varchar) returns text language plpgsql as 'begin return 1; end';
    create function hidden.upper(varchar) returns text language plpgsql as 'begin return 1; end';
    create function app.total(app.item) returns int language sql stable as 'select 1';
    create function public.price(int) returns int language sql as 'select 1';
    create function public.two(int, int) returns int language sql as 'select 1';
    create procedure public.clean() language sql as 'select 1';
    create type public.mood as enum ('good', 'bad');
    create domain public.plain as int;
    create domain public.checked as int check (public.price(value) > 0);
    create type hidden.span as range (subtype = int4);
    create function public.later(public.mood, public.mood) returns bool language plpgsql as 'begin return true; end';
    create function public.near(public.mood, int) returns bool language sql immutable as 'select true';
    create operator public.=== (procedure = public.later, leftarg = public.mood, rightarg = public.mood);
    create operator public.<> (procedure = public.near, leftarg = public.mood, rightarg = int);
    create operator hidden.~~~ (procedure = public.later, leftarg = public.mood, rightarg = public.mood);
"""


@pytest.fixture(scope="module")
async def rows(databases: Databases) -> AsyncIterator[list[tuple[object, ...]]]:
    """Return the catalog of a database with all kinds of user-defined objects."""
    name = await databases.create()
    url = databases.url(name, "thresher_admin")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(MADE)  # type: ignore[arg-type]
        await connection.execute("set search_path = public, app")
        found = await (await connection.execute(CATALOG_SQL["postgresql"])).fetchall()  # type: ignore[arg-type]
    yield found
    await databases.drop(name)


def known(rows: list[tuple[object, ...]], *own: str) -> Functions:
    """Return what the guard knows from the catalog."""
    functions = functions_of("postgresql", rows, own)
    assert functions
    return functions


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("SELECT count(*), upper('a'), now(), information_schema._pg_truetypid(NULL, NULL)", None),
        ("SELECT lower('A'::varchar)", "shadowed_function"),
        ("SELECT pg_catalog.lower('A')", None),
        ("SELECT public.lower('A')", "function"),
        ("SELECT price(1)", "function"),
        ("SELECT public.price(1)", "function"),
        ("SELECT i.total FROM app.item i", "function"),
        ("SELECT i.price FROM app.item i", None),
        ("SELECT (i.id).price FROM app.item i", "function"),
        ("SELECT i.price FROM abs(1) i", "function"),
        ("SELECT abs.price FROM abs(1)", "function"),
        ("SELECT f.price FROM ROWS FROM (abs(1), abs(2)) AS f", "function"),
        ("SELECT current_date.price FROM current_date", "syntax"),
        ('SELECT "current_date".price FROM current_date', "function"),
        ("SELECT total, price, i.two FROM app.item i", None),
        ("SELECT 'good'::mood, 1::plain, '{good}'::public.mood[], '[1,2]'::hidden.span", None),
        ("SELECT 1::checked", "type"),
        ("SELECT NULL::app.item", "type"),
        ("SELECT 'good'::mood === 'bad'", "operator"),
        ("SELECT 1 <> 2", "operator"),
        ("SELECT 1 OPERATOR(pg_catalog.<>) 2", None),
        ("SELECT 1 WHERE 1 IN (SELECT 2)", None),
        ("SELECT '[1]'::vector <> '[2]'::vector", "operator"),
        ("SELECT '[1]'::vector < '[2]'::vector", None),
        ("SELECT 1 OPERATOR(hidden.~~~) 2", "operator"),
        ("SELECT '[1,2]'::vector <=> '[1,3]', l2_distance('[1]', '[2]'), public.vector_dims('[1]')", None),
        ("SELECT nextval('s')", "function"),
    ],
)
def test_what_users_made_is_judged_by_what_it_is(rows: list[tuple[object, ...]], sql: str, rule: str | None) -> None:
    """Functions are refused; types that hold values and reviewed extensions are allowed."""
    verdict = judge(sql, "postgresql", Knowledge(known(rows)))

    assert (verdict.allowed, verdict.rule) == (rule is None, rule)


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1 IN (SELECT 2)", "SELECT 1 NOT IN (SELECT 2)", "SELECT (1, 2) IN (SELECT 1, 2)", "SELECT 1 IN (1, 2)"],
)
def test_in_calls_the_operator_of_users(rows: list[tuple[object, ...]], sql: str) -> None:
    """PostgreSQL looks up `=` by its unqualified name, for lists and queries."""
    made = ("operator", "public", "=", "", True, False, False, False)

    assert judge(sql, "postgresql", Knowledge(known(rows))).allowed
    assert judge(sql, "postgresql", Knowledge(known([*rows, made]))).rule == "operator"


def test_functions_that_are_allowed_by_name_pass(rows: list[tuple[object, ...]]) -> None:
    """With their schema, or unqualified if no other function of that name is visible."""
    knowledge = Knowledge(known(rows, "public.price", "total"))

    verdict = judge(
        "SELECT price(1), public.price(2), app.total(i), i.total, i.price FROM app.item i", "postgresql", knowledge
    )

    assert verdict.allowed
    assert known(rows).own.isdisjoint({"public.price", "app.total"})


def test_the_list_is_cut_to_what_the_server_has(rows: list[tuple[object, ...]]) -> None:
    """Functions of newer versions are dropped; functions not on the shipped list are never added."""
    own = [row for row in rows if row[0] == "own"]
    fewer = [row for row in own if row[2] != "json_agg"] + [("own", "", "new_thing", "", True, True, False, False)]

    functions = known(fewer)

    assert "json_agg" not in functions.allowed
    assert "new_thing" not in functions.allowed
    assert "count" in functions.allowed


@pytest.mark.parametrize(
    ("schema", "name", "extension", "is_plain", "is_allowed"),
    [
        ("public", "similarity", "pg_trgm", True, True),
        ("public", "set_limit", "pg_trgm", False, False),
        ("public", "uuid_generate_v4", "uuid-ossp", False, True),
        ("public", "replace", "citext", True, True),
        ("public", "replace", "", True, False),
        ("public", "dblink", "dblink", False, False),
        ("public", "xpath_table", "xml2", True, False),
        ("pg_catalog", "pg_file_write", "adminpack", False, False),
        ("pg_catalog", "count", "", True, False),
    ],
)
def test_extensions_pass_where_they_were_reviewed(
    rows: list[tuple[object, ...]], schema: str, name: str, extension: str, is_plain: bool, is_allowed: bool
) -> None:
    """Those that connect elsewhere, run SQL or write files do not; nor does anything added to pg_catalog."""
    own = [found for found in rows if found[0] == "own"]
    functions = known([*own, ("function", schema, name, extension, True, is_plain, False, False)])

    verdict = judge(f"SELECT {name}('a')", "postgresql", Knowledge(functions))

    assert verdict.allowed == is_allowed


def test_a_function_that_is_not_seen_needs_its_schema(rows: list[tuple[object, ...]]) -> None:
    """An extension may be in its own schema."""
    own = [found for found in rows if found[0] == "own"]
    functions = known([*own, ("function", "ext", "similarity", "pg_trgm", False, True, False, False)])

    assert judge("SELECT ext.similarity('a', 'b')", "postgresql", Knowledge(functions)).allowed
    assert not judge("SELECT public.similarity('a', 'b')", "postgresql", Knowledge(functions)).allowed


def test_other_engines_are_not_asked() -> None:
    """Their lists apply as shipped."""
    assert functions_of("sqlite", []) is None
