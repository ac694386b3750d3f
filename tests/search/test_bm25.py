"""BM25: the formula, against PyPI bm25s and against the index."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict

import bm25s
import numpy as np
import pytest

from tests.search.samples import WORDS, entry
from thresher.core import Caller, Tenant
from thresher.search import SearchIndex, queries
from thresher.search.lexical.bm25 import (
    K1,
    B,
    Totals,
    inverse_frequency,
    matched_terms,
    postings_of,
    rows_of,
    score_texts,
)
from thresher.search.lexical.terms import query_terms, terms
from thresher.search.queries import run
from thresher.search.reading import EVERYWHERE
from thresher.store import Database


def corpus(items: int, seed: int) -> list[str]:
    """Texts of different length, some words common, some rare."""
    chance = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return [" ".join(chance.choices(WORDS, weights, k=chance.randint(1, 30))) for _ in range(items)]


def reference(texts: list[str], query: list[str]) -> np.ndarray:
    """The scores of bm25s for every text, with our tokens."""
    retriever = bm25s.BM25(method="lucene", k1=K1, b=B)
    retriever.index([terms(text) for text in texts], show_progress=False)
    return np.asarray(retriever.get_scores(query))


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_those_of_bm25s(seed: int) -> None:
    """The same tokens give the same scores."""
    texts = corpus(200, seed)
    counts = [Counter(terms(text)) for text in texts]
    lengths = np.array([sum(count.values()) for count in counts], np.float32)
    totals = Totals(len(texts), float(lengths.sum()))
    query = query_terms("create a report of the weather, send it by mail")
    postings = {}
    for term in query:
        holders = np.array([place for place, count in enumerate(counts) if count[term]], np.int64)
        frequencies = np.array([counts[place][term] for place in holders], np.float32)
        if len(holders):
            postings[term] = postings_of(totals, len(holders), holders, frequencies, lengths[holders])

    scores = score_texts([query], postings, np.arange(len(texts)))[0]

    assert scores == pytest.approx(reference(texts, [term for term in query if term in postings]), abs=1e-4)


async def test_the_index_ranks_as_bm25s_does(index: SearchIndex, bare_index: SearchIndex, tenant: Tenant) -> None:
    """Scores and order of the lexical arm through PostgreSQL, after items were changed and removed."""
    texts = corpus(150, 9)
    await index.put(tenant, "tool", [entry(number, text) for number, text in enumerate(corpus(150, 10))])
    await index.put(tenant, "tool", [entry(number, text) for number, text in enumerate([*texts, "gone " * 40])])
    await index.remove(tenant, "tool", [150])

    for query in ("create a report", "song map chart", "delete the weather page"):
        expected = reference(texts, query_terms(query))
        for used in (index, bare_index):
            result = await used.search(Caller(tenant), "tool", [query], limit=150, threshold=0.0)
            found = {hit.id: hit.why.lexical for hit in result.hits}
            assert len(found) >= 100
            for number, arm in found.items():
                assert (arm.score or 0.0) == pytest.approx(expected[number], abs=1e-4)
                if arm.rank is not None:
                    assert arm.rank == 1 + int((expected > expected[number] + 1e-6).sum())


def test_a_term_in_every_item_says_almost_nothing() -> None:
    """The idf falls with the number of items, and never below 0."""
    values = [inverse_frequency(100, holders) for holders in (1, 10, 50, 100, 120)]

    assert values == sorted(values, reverse=True)
    assert values[-1] >= 0


def test_ids_outside_the_universe_are_dropped() -> None:
    """A filter applies to the words too."""
    found, rows = rows_of(np.array([1, 5, 9]), np.array([5, 7, 9]))

    assert found.tolist() == [1, 2]
    assert rows.tolist() == [0, 2]
    assert rows_of(np.array([1]), np.empty(0, np.int64))[0].tolist() == []


def test_matched_terms_stand_strongest_first() -> None:
    """The rarer term comes first; a term that the item does not contain is left out."""
    totals = Totals(100, 1000.0)
    one = np.ones(2, np.float32)
    postings = {
        "common": postings_of(totals, 90, np.array([3, 4]), one, 10 * one),
        "rare": postings_of(totals, 2, np.array([3, 4]), one, 10 * one),
        "other": postings_of(totals, 2, np.array([5, 6]), one, 10 * one),
    }

    assert matched_terms(["common", "other", "rare", "unknown"], postings, 4) == ("rare", "common")


@pytest.mark.parametrize("universe", [[2, 4], list(range(40))])
def test_another_idf_takes_the_place_of_the_tenants_own(universe: list[int]) -> None:
    """The same items and frequencies with other weights, whether the universe or the postings are longer."""
    ids, one = np.arange(0, 20, 2), np.ones(10, np.float32)
    postings = {
        "held": postings_of(Totals(40, 400.0), 10, ids, one, 10 * one),
        "everywhere": postings_of(Totals(5, 50.0), 10, ids, one, 10 * one),
    }

    own = score_texts([["held"], ["everywhere"]], postings, np.array(universe))
    other = score_texts([["held"], ["everywhere"]], postings, np.array(universe), lambda _, entry: 2 * entry.idf)

    assert own[0].any()
    assert np.flatnonzero(own[0]).tolist() == [place for place, number in enumerate(universe) if number in ids]
    assert other == pytest.approx(2 * own)


def test_an_empty_collection_has_a_mean_length() -> None:
    """Nothing is divided by zero."""
    assert Totals(0, 0.0).average_length == 1.0


@pytest.mark.parametrize(
    ("budget", "expected"), [(1, {"rare"}), (3, {"rare", "pair"}), (100, {"rare", "pair", "each"})]
)
async def test_the_commonest_terms_are_left_out_beyond_the_budget(
    index: SearchIndex, database: Database, tenant: Tenant, budget: int, expected: set[str]
) -> None:
    """Terms are read rarest first until their postings reach the budget; the rarest is always read."""
    texts = ["each pair rare", "each pair", *["each"] * 8]
    await index.put(tenant, "tool", [entry(number, text) for number, text in enumerate(texts)])
    terms_asked = ["each", "pair", "rare", "none"]
    values = {"kind": "tool", "user": None, "terms": terms_asked, "budget": budget} | asdict(EVERYWHERE)

    async with database.transaction(tenant) as connection:
        rows = await run(connection, queries.READ, values)

    assert {row[4] for row in rows if row[6]} == expected
    assert all(len(row[7]) == 0 for row in rows if not row[6])
