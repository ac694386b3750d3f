"""Tenants: small ones lose no hits, and none can find out what another has."""

from __future__ import annotations

import re
import secrets

import numpy as np
import pytest

from tests.search.encoders import DIMENSION, WordEncoder, vector_of
from tests.search.samples import WORDS, entry, random_entries
from thresher.core import Caller, Settings, Tenant
from thresher.search import Filter, SearchIndex, queries
from thresher.search.queries import run
from thresher.store import Database

KIND = "tool"
CROWD = """
INSERT INTO item (tenant_id, kind, id, facets, hash, terms, length, version)
SELECT current_setting('app.tenant')::int, 'tool', g, '{server:1}', '\\x00', ARRAY[w.word], 6, 1
FROM generate_series(%(first)s::bigint, %(last)s::bigint) g, LATERAL (SELECT (%(words)s::text[])[1 + g %% 30]) w (word)
"""
CROWD_POSTINGS = """
INSERT INTO posting (tenant_id, kind, term, id, frequency, length)
SELECT current_setting('app.tenant')::int, 'tool', terms[1], id, 2, 6 FROM item WHERE kind = 'tool'
"""
CROWD_VECTORS = """
INSERT INTO item_vector (tenant_id, kind, model, id, part, hash, vector)
SELECT current_setting('app.tenant')::int, 'tool', %(model)s, i.id, 0, '\\x00',
       (%(vectors)s::text[])[1 + i.id %% 20]::vector
FROM item i WHERE i.kind = 'tool'
"""
CROWD_TOTALS = """
INSERT INTO collection (tenant_id, kind, model, version, items, total_length)
SELECT current_setting('app.tenant')::int, 'tool', %(model)s, 1, count(*), sum(length) FROM item WHERE kind = 'tool'
"""
CROWD_STATISTICS = """
INSERT INTO term_stat (tenant_id, kind, term, documents)
SELECT current_setting('app.tenant')::int, 'tool', term, count(*) FROM posting WHERE kind = 'tool' GROUP BY term
"""


async def crowd(database: Database, tenant: Tenant, encoder: WordEncoder, items: int) -> None:
    """Fill a tenant by SQL alone, with vectors close to those of the tests' queries."""
    vectors = ["[" + ",".join(map(str, vector_of(word, encoder.salt).tolist())) + "]" for word in WORDS[:20]]
    values: dict[str, object] = {
        "words": WORDS[:30],
        "first": 1,
        "last": items,
        "model": encoder.name,
        "vectors": vectors,
    }
    async with database.transaction(tenant) as connection:
        for statement in (CROWD, CROWD_POSTINGS, CROWD_VECTORS, CROWD_TOTALS, CROWD_STATISTICS):
            await run(connection, statement, {name: values[name] for name in re.findall(r"%\((\w+)\)", statement)})


@pytest.fixture
def both(index: SearchIndex, bare_index: SearchIndex) -> tuple[SearchIndex, SearchIndex]:
    """Answers from the copy and from the database."""
    return index, bare_index


async def test_a_tenant_sees_no_trace_of_fifty_thousand_items_of_another(
    both: tuple[SearchIndex, SearchIndex],
    database: Database,
    encoder: WordEncoder,
    tenant: Tenant,
    other_tenant: Tenant,
) -> None:
    """Ids and scores are identical before and after."""
    await both[0].put(tenant, KIND, random_entries(200))

    async def answers() -> list[object]:
        found: list[object] = []
        for used in both:
            for phrase in ("create a chart", "weather"):
                result = await used.search(Caller(tenant), KIND, [phrase], limit=10, threshold=0.0)
                found.append((result.hits, result.probability, result.searched))
        return found

    await answers()
    await both[0].settle()
    before = await answers()
    await crowd(database, other_tenant, encoder, 50_000)
    after = await answers()

    assert after == before


@pytest.mark.parametrize("share", [0.005, 0.05, 0.5])
async def test_filters_lose_no_hits_whatever_share_a_tenant_owns(
    both: tuple[SearchIndex, SearchIndex],
    database: Database,
    encoder: WordEncoder,
    tenant: Tenant,
    other_tenant: Tenant,
    share: float,
) -> None:
    """Recall against exact search is 1 with a server filter and removed items."""
    mine = 20 if share == 0.005 else 200
    await crowd(database, other_tenant, encoder, int(mine / share) - mine)
    entries = [
        entry(made.id, made.texts[0], facets=frozenset({f"server:{made.id % 5}"})) for made in random_entries(mine)
    ]
    await both[0].put(tenant, KIND, entries)
    gone = {made.id for made in entries if made.id % 10 == 3}
    await both[0].remove(tenant, KIND, gone)
    allowed = {made.id: made.texts[0] for made in entries if made.id % 5 in (2, 3) and made.id not in gone}

    servers = Filter(frozenset({"server:2", "server:3"}))
    for phrase in WORDS[:10]:
        query = vector_of(phrase, encoder.salt)
        cosines = {number: float(vector_of(text, encoder.salt) @ query) for number, text in allowed.items()}
        for used in both:
            result = await used.search(
                Caller(tenant),
                KIND,
                [phrase],
                limit=mine,
                threshold=0.0,
                filter=servers,
            )
            assert result.searched == len(allowed)
            assert {hit.id for hit in result.hits} == set(allowed)
            assert {hit.id: hit.why.dense.score for hit in result.hits} == pytest.approx(cosines, abs=1e-5)
        await both[0].settle()


def conditions_removed(statement: str) -> str:
    """Statements with every WHERE replaced by one that lets all rows through."""
    return re.sub(r"\bWHERE\b", "WHERE true OR", statement)


@pytest.mark.parametrize(
    "name",
    [
        "READ",
        "DENSE",
        "LIVING",
        "TRAITS",
        "HEAD",
        "CHANGED",
        "ALL_IDS",
        "VECTORS",
        "VECTOR_BYTES",
        "STATE",
        "OLD_TERMS",
        "PENDING",
        "COUNT_PENDING",
        "COUNT_EMBEDDED",
        "NEAR_TERMS",
    ],
)
async def test_without_any_condition_a_tenant_still_sees_nothing_of_another(
    index: SearchIndex, database: Database, encoder: WordEncoder, tenant: Tenant, other_tenant: Tenant, name: str
) -> None:
    """Row-level security, not our WHERE, keeps tenants apart."""
    await index.put(tenant, KIND, random_entries(5))
    vector = np.full(DIMENSION, 0.1, np.float32)
    values: dict[str, object] = {
        "kind": KIND,
        "terms": WORDS,
        "user": None,
        "facets": None,
        "budget": 10**9,
        "low": -1,
        "high": 10**9,
        "most": 10**9,
        "slips": WORDS,
        "above": "",
        "below": "z",
        "model": encoder.name,
        "since": -1,
        "ids": list(range(10)),
        "vectors": [vector],
        "after": -1,
        "limit": 100,
    }
    statement = conditions_removed(getattr(queries, name))

    async with database.transaction(other_tenant) as connection:
        rows = await run(connection, statement, values)
    async with database.transaction(tenant) as connection:
        own = await run(connection, statement, values)

    assert not any(
        isinstance(value, str) or (isinstance(value, np.ndarray) and len(value)) for row in rows for value in row
    )
    assert len(rows) <= 1
    assert own


@pytest.mark.parametrize(
    "name",
    [
        "DELETE_ITEMS",
        "DELETE_VECTORS",
        "DELETE_POSTINGS",
        "DROP_STATISTICS",
        "ADD_TOTALS",
        "RAISE_VERSIONS",
        "FLIP",
        "DELETE_OTHER_MODELS",
    ],
)
async def test_without_any_condition_a_write_reaches_no_other_tenant(
    bare_index: SearchIndex, database: Database, encoder: WordEncoder, tenant: Tenant, other_tenant: Tenant, name: str
) -> None:
    """The rows of the tenant are the same before and after."""
    await bare_index.put(tenant, KIND, random_entries(5))
    before = await bare_index.search(Caller(tenant), KIND, ["create"], limit=9, threshold=0.0)
    values: dict[str, object] = {
        "kind": KIND,
        "terms": WORDS,
        "ids": list(range(10)),
        "items": 7,
        "length": 7.0,
        "version": 99,
        "model": "x",
    }
    values["terms"] = [WORDS[0]] * 10 if name == "DELETE_POSTINGS" else WORDS

    async with database.transaction(other_tenant) as connection:
        await run(connection, conditions_removed(getattr(queries, name)), values)
    after = await bare_index.search(Caller(tenant), KIND, ["create"], limit=9, threshold=0.0)

    assert after.hits == before.hits
    assert after.searched == before.searched == 5


async def test_copies_are_never_shared(database: Database, encoder: WordEncoder, settings: Settings) -> None:
    """Two tenants with the same ids each find their own."""
    index = SearchIndex(database, encoder, settings)
    first, second = [await database.tenant(f"copy-{secrets.token_hex(4)}") for _ in range(2)]
    await index.put(first, KIND, [entry(1, "paint a wall")])
    await index.put(second, KIND, [entry(1, "boil an egg")])

    for _ in range(2):
        for tenant, text in ((first, "paint a wall"), (second, "boil an egg")):
            result = await index.search(Caller(tenant), KIND, [text], limit=1, threshold=0.0)
            assert result.hits[0].why.dense.score == pytest.approx(1.0, abs=1e-4)
            await index.settle()
    await index.close()
