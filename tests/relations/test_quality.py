"""How well and how fast relations are found; `benchmarks/relations.py` has the figures."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import pytest

from benchmarks.data import folder
from benchmarks.relations import synthetic
from benchmarks.schema_notation import read_notation
from tests.support.databases import Databases
from thresher.evaluation import figures_of, read_database, try_relations
from thresher.knowledge.databases import find_relations


@pytest.mark.parametrize(("schemas", "f1"), [("tuned", 0.97), ("held_out", 0.94), ("known", 1.0), ("public", 0.9)])
def test_most_hidden_keys_of_schemas_in_many_styles_are_found(schemas: str, f1: float) -> None:
    """On names, types and primary keys alone."""
    figures = figures_of([try_relations(schema.name, schema.tables) for schema in read_notation(schemas)])

    assert (figures.f1 or 0) >= f1


@pytest.fixture(scope="module")
def data() -> Path:
    """Sample databases."""
    try:
        return folder().parent / "databases"
    except SystemExit as missing:
        pytest.skip(str(missing))


@pytest.mark.bench_data
@pytest.mark.parametrize("with_data", [False, True])
async def test_the_hidden_keys_of_a_sqlite_database_are_found(data: Path, with_data: bool) -> None:
    """Chinook: roles, a self reference, a table of pairs."""
    subject = await read_database(f"sqlite:///{data / 'chinook' / 'chinook.sqlite'}", samples=with_data)
    figures = figures_of([try_relations(subject.name, subject.tables, subject.profiles)])

    assert (figures.declared, figures.f1) == (11, 1.0)


@pytest.mark.bench_data
async def test_the_hidden_keys_of_a_postgresql_database_are_found(data: Path, databases: Databases) -> None:
    """Northwind: a verb, a self reference, empty tables, columns of the same name and another type."""
    name = "northwind"
    await databases.admin(f"create database {name} template template0")
    await databases.admin((data / "northwind" / "northwind_postgres.sql").read_text(), name)
    try:
        subject = await read_database(databases.url(name, "thresher_admin"))
    finally:
        await databases.drop(name)
    alone = figures_of([try_relations(subject.name, subject.tables)])
    with_data = figures_of([try_relations(subject.name, subject.tables, subject.profiles)])

    assert (alone.declared, alone.f1) == (13, 1.0)
    assert with_data.f1 == 1.0


def test_two_hundred_tables_take_less_than_a_second() -> None:
    """With three keys each; the time of this process's work, whatever else runs."""
    tables = synthetic(200)
    started = time.process_time()
    found = find_relations([*tables])
    spent = time.process_time() - started

    assert spent < 1
    assert found == []  # all keys are declared


def test_the_work_grows_with_the_tables_and_not_with_their_pairs() -> None:
    """Five times the tables would take 25 times the calls if all pairs were looked at."""

    def calls(size: int) -> int:
        """Calls of functions: the same in each run, whatever else the machine does."""
        tables, counted, before = synthetic(size), itertools.count(), sys.getprofile()
        sys.setprofile(lambda _frame, event, _given: next(counted) if event in _CALLS else None)
        try:
            try_relations("synthetic", tables)
        finally:
            sys.setprofile(before)
        return next(counted)

    assert calls(750) < 8 * calls(150)


_CALLS = frozenset({"call", "c_call"})
