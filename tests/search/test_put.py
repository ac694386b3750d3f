"""Writing the index: what is counted, kept, repeated and never half-written."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.embedding_server import DIMENSION, EmbeddingServer
from tests.search.encoders import WordEncoder
from tests.search.samples import disagreements, entry, random_entries, random_text
from tests.support import Databases
from thresher.core import Caller, InvalidInput, Settings, Tenant
from thresher.embedding.cache import QueryCache
from thresher.embedding.openai import OpenAIEncoder
from thresher.search import Entry, PutCounts, SearchIndex
from thresher.search.queries import run
from thresher.store import Database

KIND = "tool"


async def found(index: SearchIndex, caller: Caller, text: str) -> list[int]:
    """Ids for a phrase, best first."""
    result = await index.search(caller, KIND, [text], limit=10, threshold=0.0)
    return [hit.id for hit in result.hits]


async def matched(index: SearchIndex, caller: Caller, text: str) -> list[int]:
    """Ids of the items that share a term with a phrase."""
    result = await index.search(caller, KIND, [text], limit=10, threshold=0.0)
    return [hit.id for hit in result.hits if hit.why.terms]


async def models(database: Database, tenant: Tenant) -> tuple[str, set[str]]:
    """The model in use, and those that have vectors."""
    async with database.transaction(tenant) as connection:
        serving = await run(connection, "SELECT model FROM collection WHERE kind = %(kind)s", {"kind": KIND})
        stored = await run(connection, "SELECT DISTINCT model FROM item_vector WHERE kind = %(kind)s", {"kind": KIND})
    return serving[0][0], {row[0] for row in stored}


async def test_new_entries_are_embedded_and_unchanged_ones_kept(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant
) -> None:
    """A second put of the same entries does not call the encoder."""
    entries = random_entries(20)

    first = await index.put(tenant, KIND, entries)
    asked = len(encoder.documents)
    second = await index.put(tenant, KIND, entries)

    assert first == PutCounts(embedded=20)
    assert second == PutCounts(kept=20)
    assert len(encoder.documents) == asked


async def test_only_a_changed_entry_is_written_again(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """The old words of a changed entry are gone, the new ones are found."""
    await index.put(tenant, KIND, [entry(1, "draw a chart"), entry(2, "send a mail")])

    counts = await index.put(tenant, KIND, [entry(1, "book a flight"), entry(2, "send a mail")])
    hits = (await index.search(caller, KIND, ["chart"], limit=5, threshold=0.0)).hits

    assert counts == PutCounts(embedded=1, kept=1)
    assert all(not hit.why.terms for hit in hits)
    assert (await found(index, caller, "flight"))[0] == 1


async def test_vectors_come_from_the_cache_for_another_tenant(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Equal texts are embedded once for all tenants; nothing is embedded again after a restart."""
    entries = random_entries(10, seed=3)
    await index.put(tenant, KIND, entries)
    encoder.documents.clear()

    counts = await index.put(other_tenant, KIND, entries)

    assert counts == PutCounts(kept=10)
    assert encoder.documents == []


async def test_new_labels_alone_embed_nothing(index: SearchIndex, encoder: WordEncoder, tenant: Tenant) -> None:
    """Facets and owner are written again, with the existing vectors."""
    await index.put(tenant, KIND, [entry(1, "draw a chart")])
    encoder.documents.clear()

    counts = await index.put(tenant, KIND, [entry(1, "draw a chart", facets=frozenset({"server:1"}), owner="ann")])

    assert counts == PutCounts(kept=1)
    assert encoder.documents == []


async def test_weighted_texts_become_one_vector(
    index: SearchIndex, encoder: WordEncoder, database: Database, tenant: Tenant, caller: Caller
) -> None:
    """The inner product with the stored vector is the weighted sum of those with each text."""
    texts, weights = ("draw chart", "plot numbers as a picture"), (0.4, 0.6)
    await index.put(tenant, KIND, [Entry(1, texts, weights, {"text": "draw"})])

    hit = (await index.search(caller, KIND, ["plot a chart"], limit=1, threshold=0.0)).hits[0]
    vectors = await encoder.embed_documents([*texts, "plot a chart"])

    expected = float(weights[0] * vectors[0] @ vectors[2] + weights[1] * vectors[1] @ vectors[2])
    assert hit.why.dense.score == pytest.approx(expected, abs=1e-5)


async def test_an_item_with_several_texts_keeps_its_best(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Without weights each text is a vector, and a query is compared with the nearest."""
    await index.put(tenant, KIND, [Entry(1, ("alpha beta", "gamma delta")), Entry(2, ("alpha gamma",))])

    hits = (await index.search(caller, KIND, ["gamma delta"], limit=2, threshold=0.0)).hits

    assert hits[0].id == 1
    assert hits[0].why.dense.score == pytest.approx(1.0, abs=1e-4)


async def test_of_entries_with_one_id_the_last_counts(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """A batch may contain an id twice."""
    counts = await index.put(tenant, KIND, [entry(1, "draw a chart"), entry(1, "send a mail")])

    assert counts == PutCounts(embedded=1)
    assert (await index.search(caller, KIND, ["mail"], limit=5)).searched == 1


async def test_an_empty_batch_does_nothing(index: SearchIndex, tenant: Tenant) -> None:
    """No work and no collection."""
    assert await index.put(tenant, KIND, []) == PutCounts()


@pytest.mark.parametrize(
    "bad",
    [
        Entry(1),
        Entry(1, (" \n",)),
        Entry(1, ("text",), (0.5, 0.5)),
        Entry(1, ("text",), facets=frozenset({"a\x1fb"})),
        Entry(1, ("text",), owner="a\0b"),
    ],
)
async def test_an_entry_that_cannot_be_stored_is_refused(index: SearchIndex, tenant: Tenant, bad: Entry) -> None:
    """The whole batch is refused before anything is written."""
    with pytest.raises(InvalidInput):
        await index.put(tenant, KIND, [entry(2, "good"), bad])

    assert (await index.search(Caller(tenant), KIND, ["good"], limit=1)).searched == 0


async def test_strange_texts_are_stored_and_found(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Emoji, other scripts, null characters, lone surrogates and a megabyte in one word."""
    texts = [
        "😀 🎉",
        "查询天气预报",
        "погода в городе",
        "null\0inside",
        "lone \ud800 surrogate",
        "x" * 1_000_000,
        "ﬁle",
    ]

    await index.put(tenant, KIND, [entry(number, text) for number, text in enumerate(texts)])

    assert await matched(index, caller, "天气") == [1]
    assert await matched(index, caller, "ПОГОДА") == [2]
    assert await matched(index, caller, "inside null") == [3]
    assert await matched(index, caller, "surrogate") == [4]
    assert await matched(index, caller, "file") == [6]


async def test_progress_is_told_after_every_batch(index: SearchIndex, tenant: Tenant) -> None:
    """The last report says that everything is done."""
    reports: list[tuple[int, int]] = []

    await index.put(tenant, KIND, random_entries(600), progress=lambda done, total: reports.append((done, total)))

    assert [total for _, total in reports] == [600] * len(reports)
    assert len(reports) > 1
    assert reports[-1] == (600, 600)


async def test_remove_counts_what_was_there(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Unknown and repeated ids are skipped."""
    await index.put(tenant, KIND, random_entries(5))

    removed = await index.remove(tenant, KIND, [1, 2, 2, 99])

    assert removed == 2
    assert await index.remove(tenant, "never", [1]) == 0
    assert (await index.search(caller, KIND, ["chart"], limit=5)).searched == 3


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_statistics_equal_a_recount_after_random_writes(
    index: SearchIndex, database: Database, tenant: Tenant, seed: int
) -> None:
    """Nothing drifts, whatever is put, put again and removed, in any order."""
    chance = random.Random(seed)
    for _ in range(12):
        ids = chance.sample(range(40), chance.randint(1, 15))
        if chance.random() < 0.3:
            await index.remove(tenant, KIND, ids)
        else:
            await index.put(tenant, KIND, [entry(number, random_text(chance)) for number in ids])

    assert await disagreements(database, tenant, KIND) == []


async def test_concurrent_writers_keep_the_statistics_exact(
    index: SearchIndex, database: Database, tenant: Tenant, caller: Caller
) -> None:
    """Writers of one tenant and kind run one after another while searches continue."""

    async def write(seed: int) -> None:
        for turn in range(3):
            await index.put(tenant, KIND, random_entries(30, seed=seed * 10 + turn, first=seed * 15))
            await index.remove(tenant, KIND, range(seed * 15, seed * 15 + 5))

    async def look() -> None:
        for _ in range(10):
            await index.search(caller, KIND, ["create a chart"], limit=5)

    await asyncio.gather(*(write(seed) for seed in range(4)), look(), look())

    assert await disagreements(database, tenant, KIND) == []


async def test_a_failing_encoder_leaves_words_to_find_and_the_next_put_mends(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """Entries are indexed by their words at once and embedded by a later put."""
    entries = [*random_entries(4), entry(9, "sing a song")]
    encoder.broken = True
    broken = await index.put(tenant, KIND, entries)
    by_words = await index.search(caller, KIND, ["song"], limit=1)

    encoder.broken = False
    bare = await index.search(caller, KIND, ["song"], limit=1)
    mended = await index.put(tenant, KIND, entries)
    whole = await index.search(caller, KIND, ["song"], limit=1, threshold=0.0)

    assert broken == PutCounts(kept=5)
    assert [hit.id for hit in by_words.hits] == [9]
    assert "words alone" in by_words.degraded
    assert "not" not in whole.degraded
    assert "embedded yet" in bare.degraded
    assert mended == PutCounts(embedded=5)
    assert whole.degraded == ""
    assert whole.hits[0].why.dense.score is not None


async def test_an_item_without_vectors_is_found_beside_those_that_have_them(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant, caller: Caller
) -> None:
    """Its words decide; its dense arm is empty."""
    await index.put(tenant, KIND, random_entries(20))
    encoder.broken = True
    await index.put(tenant, KIND, [entry(99, "polish brass instruments")])
    encoder.broken = False

    result = await index.search(caller, KIND, ["polish brass instruments"], limit=3, threshold=0.0)
    hit = next(hit for hit in result.hits if hit.id == 99)

    assert hit.why.dense.rank is None
    assert hit.why.source == "lexical"


async def test_the_old_model_serves_until_the_new_one_has_embedded_everything(
    database: Database, settings: Settings, tenant: Tenant, caller: Caller
) -> None:
    """While items lack vectors of the new model, queries use the old encoder; then the old vectors are deleted."""
    old, new = WordEncoder("old@1"), WordEncoder("new@1")
    before = SearchIndex(database, old, settings)
    entries = [*random_entries(10), entry(99, "sing a song")]
    await before.put(tenant, KIND, entries)
    after = SearchIndex(database, new, settings, previous=old)
    alone = SearchIndex(database, new, settings)

    await after.put(tenant, KIND, entries[:5])
    halfway = await after.search(caller, KIND, ["sing a song"], limit=1, threshold=0.0)
    without = await alone.search(caller, KIND, ["sing a song"], limit=1, threshold=0.0)
    serving_halfway = await models(database, tenant)
    await after.put(tenant, KIND, entries)
    done = await alone.search(caller, KIND, ["sing a song"], limit=1, threshold=0.0)

    assert halfway.degraded == ""
    assert halfway.hits[0].why.dense.score == pytest.approx(1.0, abs=1e-4)
    assert "words alone" in without.degraded
    assert "old@1" in without.degraded
    assert without.hits[0].id == 99
    assert serving_halfway == ("old@1", {"old@1", "new@1"})
    assert await models(database, tenant) == ("new@1", {"new@1"})
    assert done.degraded == ""
    for index in (before, after, alone):
        await index.close()


async def test_reembedding_goes_on_where_it_stopped(database: Database, settings: Settings, tenant: Tenant) -> None:
    """What was embedded before the interruption is not embedded again."""
    entries = {made.id: made for made in random_entries(600)}
    before = SearchIndex(database, WordEncoder("first@1"), settings)
    await before.put(tenant, KIND, entries.values())
    new = WordEncoder("second@1")
    after = SearchIndex(database, new, settings)
    batches = 0

    async def interrupted(ids: list[int]) -> list[Entry]:
        nonlocal batches
        batches += 1
        if batches == 2:
            raise ConnectionError
        return [entries[number] for number in ids]

    async def all_of(ids: list[int]) -> list[Entry]:
        return [entries[number] for number in ids]

    with pytest.raises(ConnectionError):
        await after.reembed(tenant, KIND, interrupted)  # type: ignore[arg-type]
    reports: list[int] = []
    done = await after.reembed(tenant, KIND, all_of, progress=lambda made, _: reports.append(made))  # type: ignore[arg-type]

    assert done == 600 - 256
    assert reports[-1] == done
    assert len(new.documents) == len({made.texts for made in entries.values()})
    assert await models(database, tenant) == ("second@1", {"second@1"})
    assert await after.reembed(tenant, KIND, all_of) == 0  # type: ignore[arg-type]
    await before.close()
    await after.close()


async def test_a_put_killed_in_the_middle_leaves_everything_right(
    database: Database, databases: Databases, index: SearchIndex, encoder: WordEncoder, tenant: Tenant
) -> None:
    """Some whole batches are written, the statistics agree, and the next put finishes the work."""
    url = await _url_of(database, databases)
    script = Path(__file__).with_name("put_forever.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), url, str(tenant.id), encoder.name, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    for _ in range(3):
        await asyncio.wait_for(process.stdout.readline(), 60)
    process.kill()
    await process.wait()

    before = await disagreements(database, tenant, KIND)
    counts = await index.put(tenant, KIND, random_entries(2000))

    assert before == []
    assert counts.embedded + counts.kept == 2000
    assert counts.kept >= 3 * 256
    assert await disagreements(database, tenant, KIND) == []


async def _url_of(database: Database, databases: Databases) -> str:
    async with database.transaction(Tenant(0, "")) as connection:
        name = (await connection.exec_driver_sql("select current_database()")).scalar_one()
    return databases.url(str(name))


async def test_a_service_tells_its_dimension_before_anything_is_filed(
    database: Database, settings: Settings, tenant: Tenant, caller: Caller, service: EmbeddingServer
) -> None:
    """The very first put gives every item its vector, under the permanent id of the model."""
    encoder = OpenAIEncoder(service.url, "fake", key=None, dimension=None, cache=QueryCache(10, 60))
    index = SearchIndex(database, encoder, settings)

    await index.put(tenant, KIND, [entry(1, "create a chart"), entry(2, "send an email")])
    result = await index.search(caller, KIND, ["create a chart"], limit=1, threshold=0.0)

    assert await models(database, tenant) == (encoder.model.id, {encoder.model.id})
    assert encoder.model.id.endswith(f"/{DIMENSION}")
    assert result.degraded == ""
    assert result.hits[0].why.dense.score == pytest.approx(1.0, abs=1e-4)
    await index.close()
    await encoder.close()


async def test_a_service_that_tells_nothing_leaves_the_words(
    database: Database, settings: Settings, tenant: Tenant, caller: Caller, service: EmbeddingServer
) -> None:
    """A put does not fail, and the next one adds the vectors."""
    encoder = OpenAIEncoder(service.url, "fake", key=None, dimension=None, cache=QueryCache(10, 60))
    index = SearchIndex(database, encoder, settings)
    service.script.append("401")

    bare = await index.put(tenant, KIND, [entry(1, "create a chart")])
    later = await index.put(tenant, KIND, [entry(1, "create a chart")])

    assert (bare.embedded, later.embedded) == (0, 1)
    assert await models(database, tenant) == (encoder.model.id, {encoder.model.id})
    await index.close()
    await encoder.close()


async def test_many_items_are_replaced_as_fast_as_they_are_written(index: SearchIndex, tenant: Tenant) -> None:
    """What the database has planned for a small table does not serve one that has grown since."""
    for number in range(60):  # so often that a prepared statement's plan is kept, on each connection
        await index.put(tenant, KIND, [entry(1, f"small {number}")])
    seconds: list[float] = []

    for text in ("first", "second"):
        words = [" ".join(f"{text}{number}x{word}" for word in range(40)) for number in range(300)]
        started = time.perf_counter()
        await index.put(tenant, KIND, [entry(number, line) for number, line in enumerate(words, 1)])
        seconds.append(time.perf_counter() - started)

    assert seconds[1] < 6 * seconds[0]  # it was 58
