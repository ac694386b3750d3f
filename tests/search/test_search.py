"""Searching: both arms, filters, reasons, and what happens if a part is missing."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from tests.search.encoders import WordEncoder
from tests.search.samples import WORDS, entry, random_entries
from tests.support import Databases
from thresher.core import Caller, InvalidInput, Settings, StoreError, Tenant
from thresher.search import MAX_QUERIES, Entry, Filter, Hit, Inspection, SearchIndex
from thresher.store import Database

KIND = "tool"
TOOLS = (
    "create a git branch",
    "get the current time in a time zone",
    "fetch a web page",
    "send an email to a person",
    "list open pull requests of a repository",
    "convert an amount between two currencies",
)


async def fill(index: SearchIndex, tenant: Tenant) -> None:
    """Six tools of two servers."""
    entries = [
        entry(number, text, facets=frozenset({f"server:{number % 2}"})) for number, text in enumerate(TOOLS, start=1)
    ]
    await index.put(tenant, KIND, entries)


def same(left: tuple[Hit, ...], right: tuple[Hit, ...]) -> bool:
    """Equal ids in equal order, scores to 1e-5."""
    return [hit.id for hit in left] == [hit.id for hit in right] and all(
        a.score == pytest.approx(b.score, abs=1e-5)
        and a.why.dense.rank == b.why.dense.rank
        and a.why.dense.score == pytest.approx(b.why.dense.score, abs=1e-5)
        and a.why.lexical == b.why.lexical
        for a, b in zip(left, right, strict=True)
    )


async def test_the_right_item_comes_first_with_its_reasons(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Ranks and scores in both arms, matched terms strongest first, and the clause are reported."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, ["fetch this web page"], limit=3)
    best = result.hits[0]

    assert best.id == 3
    assert best.why.source == "hybrid"
    assert best.why.dense.rank == best.why.lexical.rank == 1
    assert set(best.why.terms) == {"fetch", "web", "page"}
    assert 0 < best.score <= 1
    assert result.probability == max(hit.score for hit in result.hits)
    assert not result.abstained
    assert result.degraded == ""
    assert result.searched == 6
    assert result.clauses == ("fetch this web page",)
    assert result.embedding_ms >= 0
    assert result.search_ms > 0


async def test_each_query_brings_its_best(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Several phrases are embedded in one batch, and their hits are taken in turn."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, ["send an email", "current time zone"], limit=2)

    assert [(hit.id, hit.why.query) for hit in result.hits] == [(4, 0), (2, 1)]


async def test_a_message_with_two_tasks_is_split(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """The whole is searched first, then each task; `split=False` leaves it whole."""
    await fill(index, tenant)
    message = "Fetch the web page of the museum and then send an email to my sister"

    split = await index.search(caller, KIND, [message], limit=2, threshold=0.0)
    embedded = list(encoder.queries)
    whole = await index.search(caller, KIND, [message], limit=2, threshold=0.0, split=False)

    assert split.clauses[0] == message
    assert len(split.clauses) == 3
    assert {hit.id for hit in split.hits} == {3, 4}
    assert embedded == list(split.clauses)
    assert whole.clauses == (message,)


async def test_a_message_beside_the_queries_lends_context(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """It is embedded with them, and contributes no hits of its own."""
    await fill(index, tenant)

    result = await index.search(
        caller, KIND, ["send it", "look it up"], limit=6, threshold=0.0, message="email the web page"
    )

    assert result.clauses == ("email the web page", "send it", "look it up")
    assert all(hit.why.query > 0 for hit in result.hits)


@pytest.mark.parametrize("limit", [0, 1, 3, 100])
async def test_the_limit_holds(index: SearchIndex, tenant: Tenant, caller: Caller, limit: int) -> None:
    """At most the requested number of hits, all items at most, and 0 still gives the probability."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, ["send an email"], limit=limit, threshold=0.0)

    assert len(result.hits) == min(limit, 6)
    assert result.probability > 0
    assert not result.abstained


async def test_a_threshold_nobody_reaches_abstains(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Nothing fits: no hits, and the best probability is reported."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, ["send an email"], limit=3, threshold=1.0)

    assert result.hits == ()
    assert result.abstained
    assert 0 < result.probability < 1


async def test_what_is_no_hit_can_be_inspected(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """With its rank and why it is none; items that a filter excludes are not among it."""
    await fill(index, tenant)
    query, every = ["send an email"], Inspection(len(TOOLS))

    plain = await index.search(caller, KIND, query, limit=1)
    one = await index.search(caller, KIND, query, limit=1, inspection=every)
    named = await index.search(caller, KIND, query, limit=1, inspection=Inspection(0, frozenset({3, 99})))
    none = await index.search(caller, KIND, query, limit=9, threshold=1.0, inspection=every)
    odd = Filter(frozenset({"server:1"}))
    filtered = await index.search(caller, KIND, query, limit=9, filter=odd, inspection=Inspection(9, frozenset({4})))

    assert same(plain.hits, one.hits)
    assert plain.ranked == ()
    assert [(item.rank, item.dropped) for item in one.ranked] == [(1, ""), *((n, "limit") for n in range(2, 7))]
    assert one.ranked[0].hit == one.hits[0]
    assert [(item.hit.id, item.dropped) for item in named.ranked] == [(4, ""), (3, "limit")]
    assert (none.hits, none.threshold, {item.dropped for item in none.ranked}) == ((), 1.0, {"abstained"})
    assert 4 not in [item.hit.id for item in filtered.ranked]


async def test_what_lies_far_behind_is_hardly_needed(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """A clear best is probably needed, and the others are not."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, ["send an email to a person"], limit=6)

    assert result.hits[0].id == 4
    assert result.hits[0].need > 0.5
    assert max(hit.need for hit in result.hits[1:]) < 0.1


@pytest.mark.parametrize("kind", ["never", KIND])
async def test_an_empty_index_gives_nothing(index: SearchIndex, caller: Caller, kind: str) -> None:
    """An unknown kind and an emptied one: no hits, abstained, nothing searched."""
    if kind == KIND:
        await index.put(caller.tenant, kind, [entry(1, "text")])
        await index.remove(caller.tenant, kind, [1])

    result = await index.search(caller, kind, ["anything"], limit=5)

    assert (result.hits, result.abstained, result.probability, result.searched) == ((), True, 0.0, 0)


@pytest.mark.parametrize("queries", [[], [""], [" \n\t", ""], ["x"] * (MAX_QUERIES + 1)])
async def test_nothing_to_search_for_is_an_error(index: SearchIndex, caller: Caller, queries: list[str]) -> None:
    """No query, blank ones, or too many are refused with a hint."""
    with pytest.raises(InvalidInput) as caught:
        await index.search(caller, KIND, queries, limit=5)

    assert caught.value.hint


@pytest.mark.parametrize(("limit", "threshold"), [(-1, None), (5, -0.1), (5, 1.1)])
async def test_numbers_out_of_range_are_refused(
    index: SearchIndex, caller: Caller, limit: int, threshold: float | None
) -> None:
    """A negative limit, or a threshold that is not a probability."""
    with pytest.raises(InvalidInput):
        await index.search(caller, KIND, ["text"], limit=limit, threshold=threshold)


@pytest.mark.parametrize(
    "text",
    [
        "the of and to",
        "😀😀😀",
        "查询东京的天气",
        "a\0b\ud800c",
        "%s %(x)s {} '; drop table item; --",
        "?!.,;",
        "x" * 1_000_000,
    ],
)
async def test_any_text_can_be_asked(index: SearchIndex, tenant: Tenant, caller: Caller, text: str) -> None:
    """Stop words alone, emoji, other scripts, broken characters, SQL, punctuation, a megabyte."""
    await fill(index, tenant)

    result = await index.search(caller, KIND, [text], limit=3, threshold=0.0)

    assert len(result.hits) == 3
    assert len(result.clauses) >= 1


async def test_a_megabyte_of_text_is_cut_and_says_so(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """Head and tail are read, in windows; a tool keeps its best window; what was left out is reported."""
    await fill(index, tenant)
    text = "nothing to see " * 70_000 + "send an email to a person"

    result = await index.search(caller, KIND, [text], limit=1, threshold=0.0, split=False)

    found = result.hits[0]
    assert found.id == 4
    assert set(found.why.terms) == {"send", "email", "person"}
    assert found.why.dense.rank == found.why.lexical.rank == 1
    assert "characters" in result.degraded
    assert 1 < len(encoder.queries) <= 8
    assert any("send an email" in query for query in encoder.queries[-2:])


async def test_owned_items_are_for_their_owner_alone(index: SearchIndex, tenant: Tenant) -> None:
    """Others, and callers without a name, see the shared ones."""
    await index.put(tenant, KIND, [entry(1, "common chart"), entry(2, "chart of ann", owner="ann")])

    async def seen(user: str | None) -> set[int]:
        result = await index.search(Caller(tenant, user), KIND, ["chart"], limit=5, threshold=0.0)
        return {hit.id for hit in result.hits}

    assert await seen("ann") == {1, 2}
    assert await seen("bob") == await seen(None) == {1}


async def test_the_copy_and_the_database_give_the_same_answers(
    index: SearchIndex, bare_index: SearchIndex, tenant: Tenant
) -> None:
    """Ids and scores, for one and several phrases, with owners and filters, and items of several vectors."""
    facets = [frozenset({f"server:{number % 7}"}) for number in range(300)]
    owners = [None, None, "ann"]
    entries = [
        Entry(made.id, (*made.texts, "extra words")[: 1 + made.id % 2], (), made.fields, label, owners[made.id % 3])
        for made, label in zip(random_entries(300), facets, strict=True)
    ]
    await index.put(tenant, KIND, entries)
    await index.search(Caller(tenant), KIND, ["warm up"], limit=1)
    await index.settle()

    for caller in (Caller(tenant), Caller(tenant, "ann")):
        for allowed in (Filter(), Filter(frozenset({"server:1", "server:2"})), Filter(frozenset())):
            for phrases in ([WORDS[3]], ["create a chart", "send mail", "weather in a city " * 200]):
                copy = await index.search(caller, KIND, phrases, limit=10, filter=allowed, threshold=0.0)
                database = await bare_index.search(caller, KIND, phrases, limit=10, filter=allowed, threshold=0.0)
                assert same(copy.hits, database.hits)
                assert copy.searched == database.searched
                assert copy.probability == pytest.approx(database.probability, abs=1e-5)


async def test_a_change_shows_in_the_next_search(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """An outdated copy is updated or not used: never an old answer."""
    await fill(index, tenant)
    await index.search(caller, KIND, ["warm up"], limit=1)
    await index.settle()

    for number in range(10, 20):
        await index.put(tenant, KIND, [entry(number, f"juggle ball{number}")])
        result = await index.search(caller, KIND, [f"juggle ball{number}"], limit=1, threshold=0.0)
        assert result.hits[0].id == number
        await index.remove(tenant, KIND, [number])
        result = await index.search(caller, KIND, [f"juggle ball{number}"], limit=9, threshold=0.0)
        assert number not in {hit.id for hit in result.hits}
        assert result.searched == 6


async def test_another_process_writes_and_this_one_sees_it(
    index: SearchIndex, database: Database, encoder: WordEncoder, settings: Settings, caller: Caller
) -> None:
    """The collection's version decides, not this process's memory of its own writes."""
    other = SearchIndex(database, encoder, settings)
    await fill(index, caller.tenant)
    await index.search(caller, KIND, ["warm up"], limit=1)
    await index.settle()

    await other.put(caller.tenant, KIND, [entry(77, "juggle three balls")])
    result = await index.search(caller, KIND, ["juggle"], limit=1, threshold=0.0)

    assert result.hits[0].id == 77
    await other.close()


async def test_copies_stay_within_their_memory(database: Database, encoder: WordEncoder, settings: Settings) -> None:
    """The least recently used copy is dropped; one above the limit is never made; answers stay right."""
    index = SearchIndex(database, encoder, settings.model_copy(update={"vector_memory_mb": 1}))
    tenants = [await database.tenant(f"memory-{secrets.token_hex(4)}") for _ in range(3)]
    large = await database.tenant(f"large-{secrets.token_hex(4)}")
    for tenant in tenants:
        await index.put(tenant, KIND, random_entries(2000))
    await index.put(large, KIND, random_entries(6000))

    for tenant in [*tenants, large, tenants[0]]:
        result = await index.search(Caller(tenant), KIND, ["create a chart"], limit=1, threshold=0.0)
        await index.settle()
        assert index.copied_bytes <= 1024 * 1024
        assert len(result.hits) == 1

    assert index.copied_bytes > 0
    await index.close()


async def test_without_an_encoder_words_alone_answer(
    index: SearchIndex, bare_index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """The answer says that it is degraded, and why."""
    await fill(index, tenant)
    encoder.broken = True

    for used in (index, bare_index):
        result = await used.search(caller, KIND, ["send an email"], limit=3)
        assert result.hits[0].id == 4
        assert result.hits[0].why.source == "lexical"
        assert "words alone" in result.degraded
        assert "Mend it." in result.degraded


async def test_without_a_database_the_last_copy_answers(
    databases: Databases, encoder: WordEncoder, settings: Settings
) -> None:
    """By meaning alone, with a note; without a copy, the store's error is raised."""
    name = await databases.create()
    database = await databases.open(name)
    index = SearchIndex(database, encoder, settings)
    tenant, stranger = await database.tenant("here"), await database.tenant("elsewhere")
    await fill(index, tenant)
    await index.search(Caller(tenant), KIND, ["warm up"], limit=1)
    await index.settle()
    await databases.admin(f"alter database {name} with allow_connections false")
    await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

    result = await index.search(Caller(tenant), KIND, ["send an email"], limit=3)

    assert result.hits[0].id == 4
    assert "database does not answer" in result.degraded
    with pytest.raises(StoreError):
        await index.search(Caller(stranger), KIND, ["send an email"], limit=3)
    encoder.broken = True
    with pytest.raises(StoreError, match="Neither"):
        await index.search(Caller(tenant), KIND, ["send an email"], limit=3)
    await index.close()
    await database.close()
    await databases.drop(name)


async def test_many_searches_at_once_agree(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Fifty callers get the same answer as one."""
    await index.put(tenant, KIND, random_entries(200))
    alone = await index.search(caller, KIND, ["create a chart"], limit=5, threshold=0.0)

    results = await asyncio.gather(
        *(index.search(caller, KIND, ["create a chart"], limit=5, threshold=0.0) for _ in range(50))
    )

    assert all(same(result.hits, alone.hits) for result in results)


async def test_a_group_with_several_fitting_items_comes_first(
    index: SearchIndex, bare_index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """The server's other tools support a tool, in the copy and in the database."""
    texts = ["show the map of a city", "draw the map of a city", "print the map of a city", "boil an egg"]
    await index.put(
        tenant,
        KIND,
        [entry(number, text, facets=frozenset({"server:maps"})) for number, text in enumerate(texts[:3])]
        + [entry(9, texts[3], facets=frozenset({"server:kitchen"}))],
    )
    await index.search(caller, KIND, ["warm up"], limit=1)
    await index.settle()

    hits = [await used.search(caller, KIND, ["map of a city"], limit=4, threshold=0.0) for used in (index, bare_index)]

    assert hits[0].hits[-1].id == 9
    assert same(hits[0].hits, hits[1].hits)
