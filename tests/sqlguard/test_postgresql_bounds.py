"""What constants can become: the guard's bound holds against the server's own arithmetic."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import psycopg
import pytest

from tests.support.databases import Databases
from thresher.sqlguard.postgresql.bounds import bound
from thresher.sqlguard.postgresql.grammar import Body, parse

LITERALS: Final = (
    *("0", "1", "2", "7", "10", "100", "1000", "0.5", "0.001", "4.99999", "-3", "-0.01", "1e2", "1_000"),
    *("'12'::int", "' 0x10'::int", "'1e3'::numeric", "'.5'::numeric", "b'101'::int", "x'ff'::int"),
)
ATTEMPTS: Final = 600


def expression(choice: random.Random, depth: int) -> str:
    """Arithmetic over literals."""
    kind = choice.random() if depth else 0.0
    if kind < 0.2:
        return choice.choice(LITERALS)
    inner = expression(choice, depth - 1)
    if kind < 0.7:
        return f"({inner} {choice.choice('+-*/%^')} {expression(choice, depth - 1)})"
    if kind < 0.8:
        return f"({inner})::{choice.choice(('int', 'numeric', 'float8', 'bigint'))}"
    if kind < 0.9:
        return f"(({inner})::int << {choice.randint(-3, 20)})"
    return f"{choice.choice(('abs', 'ceil', 'floor', 'round', 'trunc', 'sign', '-'))}({inner})"


def node(sql: str) -> Body:
    """The tree of an expression."""
    return parse(f"SELECT {sql}")[0]["stmt"]["SelectStmt"]["targetList"][0]["ResTarget"]["val"]


@pytest.fixture(scope="module")
def connection(databases: Databases) -> Iterator[psycopg.Connection]:
    """A server that computes."""
    with psycopg.connect(databases.url("postgres", "thresher_admin"), autocommit=True) as connection:
        yield connection


def test_no_number_is_larger_than_its_bound(connection: psycopg.Connection) -> None:
    """Rounding, signs, bits and overflows included; errors make nothing large."""
    choice = random.Random(6)
    compared, bounded = 0, 0
    wrong: list[str] = []
    for sql in (expression(choice, 4) for _ in range(ATTEMPTS)):
        try:
            row = connection.execute(f"SELECT abs(({sql})::float8)").fetchone()  # type: ignore[arg-type]
        except psycopg.Error:
            continue
        most = bound(node(sql))
        assert row
        assert most is not None
        compared += 1
        bounded += most < float("inf")
        if row[0] > most * 1.000001:
            wrong.append(sql)

    assert wrong == []
    assert compared > ATTEMPTS / 2
    assert bounded > compared / 3


@pytest.mark.parametrize("sql", ["n", "n * 2", "(SELECT 5)", "greatest(n, 1)", "length(a)"])
def test_what_depends_on_rows_has_no_bound(sql: str) -> None:
    """It is looked at otherwise."""
    assert bound(node(sql)) is None


def test_least_is_bounded_by_any_of_its_arguments() -> None:
    """`least(n, 50)` is the way to draw a bar."""
    assert bound(node("least(n, 50, 70)")) == 50
