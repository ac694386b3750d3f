"""Prefetching: a search whose filter comes later finds the same."""

from __future__ import annotations

import asyncio

import pytest

from tests.search.samples import entry
from tests.search.test_search import KIND, TOOLS, same
from thresher.core import Caller, Tenant
from thresher.search import Filter, SearchIndex
from thresher.store import Database

QUESTION = ["fetch a page and create a branch"]


@pytest.mark.parametrize("facets", [None, frozenset({"server:0"}), frozenset({"server:1"}), frozenset({"server:9"})])
@pytest.mark.parametrize("kept", [True, False])
async def test_what_was_read_ahead_gives_the_same_hits(
    index: SearchIndex,
    bare_index: SearchIndex,
    tenant: Tenant,
    caller: Caller,
    kept: bool,
    facets: frozenset[str] | None,
) -> None:
    """With and without a copy in the process, under any filter and none."""
    index = index if kept else bare_index
    entries = [entry(number, text, facets=frozenset({f"server:{number % 2}"})) for number, text in enumerate(TOOLS, 1)]
    await index.put(tenant, KIND, entries)
    await index.search(caller, KIND, QUESTION, limit=1)
    await index.settle()

    prefetched = index.prefetch(caller, KIND, QUESTION)
    told = await index.search(
        caller, KIND, QUESTION, limit=9, filter=Filter(facets=facets), threshold=0, prefetched=prefetched
    )
    plain = await index.search(caller, KIND, QUESTION, limit=9, filter=Filter(facets=facets), threshold=0)

    assert same(told.hits, plain.hits)
    assert (told.searched, told.abstained, told.clauses) == (plain.searched, plain.abstained, plain.clauses)


async def test_what_is_read_ahead_for_nothing_costs_no_connection(
    index: SearchIndex, database: Database, tenant: Tenant, caller: Caller
) -> None:
    """Closed before it is done, and after: the pool keeps its connections."""
    await index.search(caller, KIND, QUESTION, limit=1)
    before = await _connections(database, tenant)
    for _ in range(20):
        begun, done = (index.prefetch(caller, KIND, QUESTION) for _ in range(2))
        await asyncio.sleep(0)
        begun.close()
        await asyncio.wait([begun.reading, done.reading])
        done.close()

    assert before <= await _connections(database, tenant)


async def _connections(database: Database, tenant: Tenant) -> set[int]:
    async with database.transaction(tenant) as connection:
        rows = await connection.exec_driver_sql(
            "select pid from pg_stat_activity where datname = current_database() and usename = current_user"
        )
        return {row.pid for row in rows}
