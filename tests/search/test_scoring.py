"""Raw scores of both arms: exact, for every item that the filter lets through, whatever is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.search.encoders import WordEncoder
from tests.search.samples import disagreements, entry, random_entries
from thresher.core import Caller, InvalidInput, Tenant
from thresher.search import Entry, Filter, PutCounts, SearchIndex
from thresher.store import Database

KIND = "document"
PASSAGES = (
    "the singular value decomposition of a matrix",
    "svd is slow for large matrices",
    "weights of observations and groups",
    "the matrix of weights",
)
SYNONYMS = {"SVD": ["singular value decomposition"]}


async def fill(index: SearchIndex, tenant: Tenant, *, embed: bool = True) -> PutCounts:
    """Four passages of a repository, two of another."""
    entries = [
        entry(number, text, facets=frozenset({f"repository:{1 + (number > 4)}"}))
        for number, text in enumerate([*PASSAGES, "weights of paper", "weights of letters"], start=1)
    ]
    return await index.put(tenant, KIND, entries, embed=embed)


FIRST = Filter(frozenset({"repository:1"}))


async def test_every_item_of_the_filter_has_both_scores(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """In order of ids; the inner product with the query's vector, and BM25."""
    await fill(index, tenant)

    scored = await index.score(caller, KIND, "weights of a matrix", filter=FIRST)
    query = (await encoder.embed_queries(["weights of a matrix"]))[0]
    vectors = await encoder.embed_documents(PASSAGES)

    assert scored.ids.tolist() == [1, 2, 3, 4]
    assert scored.dense == pytest.approx(vectors @ query, abs=1e-5)
    assert (scored.lexical > 0).tolist() == [True, False, True, True]
    assert scored.lexical.argmax() == 3
    assert scored.tiers.tolist() == [1, 0, 1, 2]
    assert set(scored.matched(4)) == {"weight", "matrix"}
    assert scored.matched(99) == ()
    assert (scored.search_type, scored.degraded, scored.items) == ("hybrid", "", 6)
    assert scored.embedding_ms > 0
    assert scored.search_ms > 0


async def test_what_lies_beside_a_filter_changes_no_score(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """A repository gives the same answer alone and among others."""
    await fill(index, tenant)
    before = await index.score(caller, KIND, "weights of groups", filter=FIRST)
    await index.put(tenant, KIND, [entry(n, "weights", facets=frozenset({"repository:3"})) for n in range(20, 60)])

    after = await index.score(caller, KIND, "weights of groups", filter=FIRST)

    assert after.ids.tolist() == before.ids.tolist()
    assert np.argsort(after.lexical).tolist() == np.argsort(before.lexical).tolist()
    assert after.lexical[after.lexical > 0].min() > 0


async def test_copy_and_database_give_the_same_scores(
    index: SearchIndex, bare_index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """With and without a filter."""
    await index.put(tenant, KIND, random_entries(60))
    await index.score(caller, KIND, "warm")
    await index.settle()

    held = await index.score(caller, KIND, "create a chart of prices")
    read = await bare_index.score(caller, KIND, "create a chart of prices")

    assert held.ids.tolist() == read.ids.tolist()
    assert held.dense == pytest.approx(read.dense, abs=1e-5)
    assert held.lexical.tolist() == read.lexical.tolist()


@pytest.mark.parametrize("search_type", ["text", "semantic"])
async def test_an_arm_without_a_say_adds_nothing(
    index: SearchIndex, tenant: Tenant, caller: Caller, search_type: str
) -> None:
    """A weighted sum of both arms is valid for every search type."""
    await fill(index, tenant)

    scored = await index.score(caller, KIND, "weights", search_type=search_type)  # type: ignore[arg-type]

    assert scored.search_type == search_type
    assert (scored.dense is None) == (search_type == "text")
    assert scored.lexical.any() == (search_type == "text")


async def test_a_text_search_asks_no_encoder(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """It works without the encoder, and is not degraded."""
    await fill(index, tenant)
    encoder.broken = True

    scored = await index.score(caller, KIND, "weights of groups", search_type="text")

    assert scored.degraded == ""
    assert scored.ids[scored.by_words.argmax()] == 3
    assert scored.embedding_ms == 0


async def test_a_semantic_search_falls_back_to_words_and_says_so(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """If the encoder is not available."""
    await fill(index, tenant)
    encoder.broken = True

    scored = await index.score(caller, KIND, "weights of groups", search_type="semantic")

    assert scored.search_type == "text"
    assert "words alone" in scored.degraded
    assert scored.ids[scored.lexical.argmax()] == 3


async def test_items_are_found_by_words_before_they_are_embedded(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """A put without embedding does not call the encoder; a later one with embedding does."""
    put = await fill(index, tenant, embed=False)
    asked = len(encoder.documents)
    bare = await index.score(caller, KIND, "groups", filter=FIRST)
    await index.put(tenant, KIND, [entry(4, PASSAGES[3], facets=frozenset({"repository:1"}))])
    partly = await index.score(caller, KIND, "groups", search_type="semantic", filter=FIRST)

    assert (put, asked) == (PutCounts(kept=6), 0)
    assert (bare.dense, bare.search_type) == (None, "text")
    assert bare.ids[bare.lexical.argmax()] == 3
    assert partly.dense is not None
    assert np.isnan(partly.dense).tolist() == [True, True, True, False]
    assert partly.lexical.argmax() == 2
    assert "3 of 4" in partly.degraded


async def test_texts_that_the_cache_holds_have_vectors_at_once(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Without a call of the encoder."""
    await fill(index, tenant)
    asked = len(encoder.documents)
    await fill(index, other_tenant, embed=False)

    scored = await index.score(Caller(other_tenant), KIND, "weights")

    assert len(encoder.documents) == asked
    assert scored.dense is not None
    assert not np.isnan(scored.dense).any()


async def test_statistics_hold_after_puts_without_vectors(
    index: SearchIndex, database: Database, tenant: Tenant
) -> None:
    """Whatever is put, with or without embedding."""
    await index.put(tenant, KIND, random_entries(20), embed=False)
    await index.put(tenant, KIND, random_entries(10, seed=2))
    await index.put(tenant, KIND, random_entries(12, seed=3), embed=False)

    assert await disagreements(database, tenant, KIND) == []


@pytest.mark.parametrize("others", [0, 40])
async def test_coverage_means_the_same_in_every_size(
    index: SearchIndex, tenant: Tenant, caller: Caller, others: int
) -> None:
    """All words give 1, a rare word counts more than a common one, and an absent word counts as missing."""
    await fill(index, tenant, embed=False)
    await index.put(tenant, KIND, [entry(n, f"something else {n}") for n in range(20, 20 + others)], embed=False)

    whole = await index.score(caller, KIND, "slow svd", search_type="text")
    half = await index.score(caller, KIND, "slow spaceships", search_type="text")

    assert whole.coverage[:4] == pytest.approx([0, 1, 0, 0])
    assert half.coverage[1] == pytest.approx(0.47, abs=0.03)


async def test_synonyms_are_found_in_both_directions(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """An acronym finds its words, all of them together, and they find it."""
    await fill(index, tenant)

    acronym = await index.score(caller, KIND, "svd", search_type="text", synonyms=SYNONYMS)
    words = await index.score(caller, KIND, "singular value decomposition", search_type="text", synonyms=SYNONYMS)
    without = await index.score(caller, KIND, "svd", search_type="text")

    assert acronym.tiers.tolist() == [2, 2, 0, 0, 0, 0]
    assert acronym.lexical[0] > 0
    assert words.tiers.tolist() == [2, 2, 0, 0, 0, 0]
    assert (without.lexical > 0).tolist() == [False, True, False, False, False, False]


@pytest.mark.parametrize("first", [0, 100, 250])
async def test_a_filter_reads_what_it_needs_and_misses_nothing(
    index: SearchIndex, bare_index: SearchIndex, tenant: Tenant, caller: Caller, first: int
) -> None:
    """Also if a copy gives the id range and other items arrive inside it."""
    label = frozenset({"repository:7"})
    others = random_entries(300)
    await index.put(tenant, KIND, [other for other in others if not first <= other.id < first + 50])
    mine = random_entries(50, seed=5, first=max(first, 1))
    await index.put(tenant, KIND, [replace(one, facets=label) for one in mine[5:]])
    await index.score(caller, KIND, "warm")
    await index.settle()

    for late in ([], mine[:5], [entry(1000, "create a chart of prices")]):
        await bare_index.put(tenant, KIND, [replace(one, facets=label) for one in late])
        held = await index.score(caller, KIND, "create a chart of prices", filter=Filter(label))
        read = await bare_index.score(caller, KIND, "create a chart of prices", filter=Filter(label))

        assert held.ids.tolist() == read.ids.tolist()
        assert held.dense == pytest.approx(read.dense, abs=1e-5)
        assert held.lexical == pytest.approx(read.lexical, abs=1e-5)


async def test_context_is_scored_beside_the_question(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """It does not change the question's own scores."""
    await fill(index, tenant)

    plain = await index.score(caller, KIND, "weights")
    scored = await index.score(caller, KIND, "weights", context="groups of observations")

    assert scored.dense == pytest.approx(plain.dense)
    assert scored.lexical.tolist() == plain.lexical.tolist()
    assert scored.context_dense is not None
    assert scored.context_lexical is not None
    assert scored.context_lexical.argmax() == 2
    assert (plain.context_dense, plain.context_lexical) == (None, None)


async def test_only_what_the_caller_may_see_is_scored(index: SearchIndex, tenant: Tenant) -> None:
    """Other users' and other tenants' items are left out."""
    await index.put(tenant, KIND, [entry(1, "common text"), entry(2, "text of ann", owner="ann")])

    everybody = await index.score(Caller(tenant), KIND, "text")
    ann = await index.score(Caller(tenant, "ann"), KIND, "text")

    assert (everybody.ids.tolist(), ann.ids.tolist()) == ([1], [1, 2])


async def test_an_unknown_kind_scores_nothing(index: SearchIndex, caller: Caller) -> None:
    """This is not an error."""
    scored = await index.score(caller, "never", "anything", context="at all")

    assert len(scored.ids) == len(scored.lexical) == len(scored.tiers) == len(scored.by_words) == 0
    assert scored.dense is None


@pytest.mark.parametrize("query", ["", " \n"])
async def test_a_blank_question_is_refused(index: SearchIndex, caller: Caller, query: str) -> None:
    """With a hint."""
    with pytest.raises(InvalidInput) as caught:
        await index.score(caller, KIND, query)

    assert caught.value.hint


async def test_an_entry_of_several_texts_is_scored_by_its_best(
    index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """Like in a search."""
    await index.put(tenant, KIND, [Entry(1, ("alpha beta", "gamma delta"))])

    scored = await index.score(caller, KIND, "gamma delta")

    assert scored.dense == pytest.approx([1.0], abs=1e-4)


async def test_all_words_come_before_some(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """In a text search an item with every word comes first, however rare a word of another is."""
    texts = ["zebra zebra zebra", "the common word stands here", "common", "common things", "word of mouth"]
    await index.put(tenant, KIND, [entry(number, text) for number, text in enumerate(texts)], embed=False)

    scored = await index.score(caller, KIND, "common word", search_type="text")
    rare = await index.score(caller, KIND, "common word zebra", search_type="text")

    assert scored.by_words.argmax() == 1
    assert scored.tiers.tolist() == [0, 2, 1, 1, 1]
    assert rare.tiers.max() == 1
    assert rare.unknown == ()


@pytest.mark.parametrize(
    ("query", "guess"),
    [
        ("decompos", "decomposit"),
        ("decompositoin of observatoins", "decomposit"),
        ("decompositionn", "decomposit"),
        ("dekomposition", "decomposit"),
    ],
)
async def test_a_word_that_nobody_holds_is_guessed_at(
    index: SearchIndex, tenant: Tenant, caller: Caller, query: str, guess: str
) -> None:
    """By its prefix, or by one typo; the guess is reported."""
    await fill(index, tenant)

    scored = await index.score(caller, KIND, query, search_type="text")

    assert (guess,) in scored.guesses.values()
    assert scored.lexical[0] > 0
    assert scored.degraded == ""


@pytest.mark.parametrize("query", ["even", "grup", "zzzzzzzz", "12345678", "ab"])
async def test_short_or_strange_words_are_not_guessed_at(
    index: SearchIndex, tenant: Tenant, caller: Caller, query: str
) -> None:
    """One letter makes another word of them."""
    await index.put(tenant, KIND, [entry(1, "event of a group, abcdefgh 1234567")])

    scored = await index.score(caller, KIND, query, search_type="text")

    assert scored.guesses == ({"even": ("event",)} if query == "even" else {})


async def test_a_hybrid_search_leaves_unknown_words_to_the_meaning(
    index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """Nothing is guessed if the encoder answers."""
    await fill(index, tenant)

    scored = await index.score(caller, KIND, "decompositoin")

    assert scored.guesses == {}
    assert scored.unknown == ("decompositoin",)
    assert not scored.lexical.any()


class TextSource:
    """Returns texts by their ids, and records the requested ids."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = dict(enumerate(texts, start=1))
        self.asked: list[int] = []

    async def __call__(self, ids: Sequence[int]) -> dict[int, str]:
        """The texts of some ids."""
        self.asked += ids
        return {number: self.texts[number] for number in ids}


QUOTABLE = ("the weights of groups", "groups of weights", "other text", "Weights\nof groups, again")


@pytest.mark.parametrize("quotation", ['"weights of groups"', "“Weights of  Groups”", "«weights, of groups»"])
async def test_a_quotation_is_found_word_for_word(
    index: SearchIndex, tenant: Tenant, caller: Caller, quotation: str
) -> None:
    """Only texts that hold its words are read; case, spaces and punctuation do not count."""
    await index.put(tenant, KIND, [entry(number, text) for number, text in enumerate(QUOTABLE, start=1)])
    read = TextSource(QUOTABLE)

    scored = await index.score(caller, KIND, f"where are {quotation}?", search_type="text", texts_of=read)
    plain = await index.score(caller, KIND, f"where are {quotation}?", search_type="text")

    assert scored.tiers.tolist() == [3, 2, 0, 3]
    assert sorted(read.asked) == [1, 2, 4]
    assert set(np.argsort(-scored.by_words)[:2].tolist()) == {0, 3}
    assert (scored.lexical > plain.lexical).tolist() == [True, False, False, True]
    assert scored.degraded == ""


async def test_a_quotation_that_stands_nowhere_says_so(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Its words are searched instead."""
    await index.put(tenant, KIND, [entry(number, text) for number, text in enumerate(QUOTABLE, start=1)])

    scored = await index.score(caller, KIND, '"groups weights" "nothing of it"', texts_of=TextSource(QUOTABLE))

    assert '"groups weights", "nothing of it"' in scored.degraded
    assert scored.tiers.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '""',
        '"" ""',
        '"unclosed words',
        "it's 5\" long",
        "a AND (b OR NOT c)",
        "title:x^2 ~ * ? + - && ||",
        "%s \\",
        "\0\ud800",
    ],
)
async def test_nothing_in_a_query_is_syntax(index: SearchIndex, tenant: Tenant, caller: Caller, query: str) -> None:
    """Odd quotation marks and operators of other search engines are plain text."""
    await index.put(tenant, KIND, [entry(number, text) for number, text in enumerate(QUOTABLE, start=1)])

    scored = await index.score(caller, KIND, query, search_type="text", texts_of=TextSource(QUOTABLE))

    assert len(scored.lexical) == 4
    assert scored.degraded == ""
