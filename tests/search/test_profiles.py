"""The background of usual words: a probability means the same for a collection of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.background import table
from tests.search.samples import entry
from thresher.core import Caller, Tenant
from thresher.demo.catalogue import read_catalogue
from thresher.search import SearchIndex
from thresher.search.lexical.bm25 import (
    NO_BACKGROUND,
    REFERENCE,
    TOOL_BACKGROUND,
    TOOL_WORDS,
    Background,
    inverse_frequency,
    shares_of,
)

HALF = Background({"usual": 0.5})


def test_a_word_in_every_item_of_a_small_collection_still_says_something() -> None:
    """Both tools of a time server contain "time"; among all tools it is not common."""
    assert TOOL_BACKGROUND.idf("timezon", 2, 2) > 20 * inverse_frequency(2, 2)
    assert TOOL_BACKGROUND.idf("timezon", 2, 2) > TOOL_BACKGROUND.idf("time", 2, 2) > TOOL_BACKGROUND.idf("api", 2, 2)


@pytest.mark.parametrize("items", [REFERENCE, 5 * REFERENCE, 100 * REFERENCE])
def test_a_large_collection_is_brought_to_the_reference(items: int) -> None:
    """The same share of items gives the same idf, and the background does not count."""
    assert HALF.idf("usual", items, items // 50) == pytest.approx(inverse_frequency(REFERENCE, REFERENCE // 50))


def test_the_idf_does_not_jump_where_filling_up_ends() -> None:
    """One more item never changes the decision."""
    assert HALF.idf("usual", REFERENCE - 1, 40) == pytest.approx(HALF.idf("usual", REFERENCE, 40), rel=0.02)


@given(st.integers(0, 10**6), st.data(), st.sampled_from(["usual", "rare", ""]))
def test_an_idf_stays_within_its_bounds(items: int, data: st.DataObject, term: str) -> None:
    """Never negative, never above that of an absent term; more items never raise it."""
    fewer, more = sorted(data.draw(st.tuples(st.integers(0, items), st.integers(0, items))))

    assert 0 <= HALF.idf(term, items, more) <= HALF.idf(term, items, fewer) <= inverse_frequency(REFERENCE, 0)


def test_a_table_reads_as_shares() -> None:
    """Comments and empty lines are skipped."""
    assert shares_of("# remark\n250 api id\n\n15 page\n") == {"api": 0.25, "id": 0.25, "page": 0.015}


def test_the_shipped_table_is_what_the_catalogue_gives() -> None:
    """`python -m benchmarks.fits words` was run after the last change of catalogue, texts or terms."""
    assert TOOL_WORDS.read_text(encoding="utf-8") == table(read_catalogue())


def test_a_kind_without_sample_has_no_usual_words() -> None:
    """Its small collections are extended with items that share nothing with them."""
    assert NO_BACKGROUND.idf("api", 10, 10) == inverse_frequency(REFERENCE, 10)
    assert NO_BACKGROUND.idf("api", 10, 10) > TOOL_BACKGROUND.idf("api", 10, 10)


async def test_few_items_are_as_likely_as_many(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """The probability hardly changes when hundreds of foreign items are added, though BM25 grows."""
    await index.put(tenant, "tool", [entry(1, "get the current time in a zone"), entry(2, "convert a time to a zone")])

    alone = await index.search(caller, "tool", ["current time zone"], limit=1, threshold=0.0)
    await index.put(tenant, "tool", [entry(10 + number, f"juggle ball{number} slowly") for number in range(300)])
    among = await index.search(caller, "tool", ["current time zone"], limit=1, threshold=0.0)

    assert alone.hits[0].id == among.hits[0].id == 1
    assert among.hits[0].why.lexical.score > 4 * alone.hits[0].why.lexical.score
    assert among.probability == pytest.approx(alone.probability, abs=0.05)


async def test_the_kind_decides_which_words_are_usual(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """A word that every tool uses says less about a tool than about an item of another kind."""
    found = {}
    for kind in ("tool", "other"):
        await index.put(tenant, kind, [entry(1, "list the api"), entry(2, "juggle a ball")])
        found[kind] = await index.search(caller, kind, ["api list"], limit=1, threshold=0.0)

    assert found["tool"].hits[0].why.lexical == found["other"].hits[0].why.lexical
    assert found["tool"].probability < found["other"].probability
