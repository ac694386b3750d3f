"""Embedding what was put without vectors: everything once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.search.encoders import WordEncoder
from tests.search.samples import disagreements, entry, random_entries
from thresher.core import Caller, EncoderError, Settings, Tenant
from thresher.embedding import Matrix
from thresher.search import Entry, Filter, SearchIndex
from thresher.store import Database

KIND = "document"


class EntrySource:
    """Returns entries by their ids, and records the requested ids."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = {one.id: one for one in entries}
        self.asked: list[int] = []

    async def __call__(self, ids: Sequence[int]) -> list[Entry]:
        """The entries of some ids that it has."""
        self.asked += ids
        return [self.entries[number] for number in ids if number in self.entries]


class FailingEncoder(WordEncoder):
    """Fails after some batches."""

    batches = 2

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors, until it fails."""
        self.broken = self.batches == 0
        self.batches -= 1
        return await super().embed_documents(texts)


async def test_everything_that_lacks_vectors_gets_them(
    index: SearchIndex, encoder: WordEncoder, database: Database, tenant: Tenant, caller: Caller
) -> None:
    """Each text is embedded once, progress is reported, and a second run has nothing to do."""
    shelf = EntrySource(random_entries(300))
    await index.put(tenant, KIND, shelf.entries.values(), embed=False)
    reports: list[tuple[int, int]] = []

    done = await index.embed_pending(tenant, KIND, shelf, progress=lambda made, total: reports.append((made, total)))
    again = await index.embed_pending(tenant, KIND, shelf)
    scored = await index.score(caller, KIND, "create a chart")

    assert (done, again) == (300, 0)
    assert len(encoder.documents) == len({one.texts for one in shelf.entries.values()})
    assert [total for _, total in reports] == [300] * len(reports)
    assert reports[-1] == (300, 300)
    assert scored.dense is not None
    assert not np.isnan(scored.dense).any()
    assert scored.degraded == ""
    assert await disagreements(database, tenant, KIND) == []


async def test_texts_of_neighbouring_batches_are_embedded_once(
    index: SearchIndex, encoder: WordEncoder, tenant: Tenant
) -> None:
    """Although a batch is prepared before the vectors of the previous one are written."""
    shelf = EntrySource([entry(number, f"text {number % 7}") for number in range(500)])
    await index.put(tenant, KIND, shelf.entries.values(), embed=False)

    done = await index.embed_pending(tenant, KIND, shelf)

    assert done == 500
    assert len(encoder.documents) == 7


async def test_a_filter_leaves_the_others_as_they_are(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """One repository's job does not do another's."""
    mine = [entry(number, f"text {number}", facets=frozenset({"repository:1"})) for number in range(5)]
    shelf = EntrySource([*mine, entry(9, "other text", facets=frozenset({"repository:2"}))])
    await index.put(tenant, KIND, shelf.entries.values(), embed=False)

    done = await index.embed_pending(tenant, KIND, shelf, filter=Filter(frozenset({"repository:1"})))
    scored = await index.score(caller, KIND, "text")

    assert done == 5
    assert await index.embedded(tenant, KIND) == 5
    assert await index.embedded(tenant, KIND, Filter(frozenset({"repository:2"}))) == 0
    assert shelf.asked == [0, 1, 2, 3, 4]
    assert scored.dense is not None
    assert np.isnan(scored.dense).tolist() == [False] * 5 + [True]


async def test_an_encoder_that_breaks_down_keeps_what_was_done(
    database: Database, settings: Settings, tenant: Tenant, index: SearchIndex, encoder: WordEncoder
) -> None:
    """The error is raised, and the next run does the rest."""
    shelf = EntrySource([entry(number, f"text {number}") for number in range(400)])
    await index.put(tenant, KIND, shelf.entries.values(), embed=False)
    failing = FailingEncoder(encoder.name, salt="words")
    broken = SearchIndex(database, failing, settings)

    with pytest.raises(EncoderError):
        await broken.embed_pending(tenant, KIND, shelf)
    done = await index.embed_pending(tenant, KIND, shelf)

    assert len(failing.documents) == 256
    assert len(encoder.documents) == done == 400 - 256
    await broken.close()


async def test_items_that_go_while_they_are_embedded_are_passed_over(
    index: SearchIndex, database: Database, tenant: Tenant
) -> None:
    """A repository may be removed at any time."""
    shelf = EntrySource(random_entries(10))
    await index.put(tenant, KIND, shelf.entries.values(), embed=False)

    async def removing(ids: Sequence[int]) -> list[Entry]:
        found = await shelf(ids)
        await index.remove(tenant, KIND, [1, 2, 3])
        return found

    await index.embed_pending(tenant, KIND, removing)

    assert await disagreements(database, tenant, KIND) == []


async def test_entries_that_are_not_given_stay_as_they_are(index: SearchIndex, tenant: Tenant) -> None:
    """Nothing is tried twice in one run, so it ends."""
    shelf = EntrySource([entry(1, "known text")])
    await index.put(tenant, KIND, [entry(1, "known text"), entry(2, "lost text")], embed=False)

    assert await index.embed_pending(tenant, KIND, shelf) == 1
    assert await index.embed_pending(tenant, KIND, shelf) == 0


async def test_an_unknown_kind_has_nothing_pending(index: SearchIndex, tenant: Tenant) -> None:
    """This is not an error."""
    assert await index.embed_pending(tenant, "never", EntrySource([])) == 0
