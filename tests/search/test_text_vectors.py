"""Vectors of texts that belong to no item."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import pytest

from thresher.core import EncoderError, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.search import text_vectors
from thresher.store import Database


@pytest.fixture(scope="module")
async def encoder() -> AsyncIterator[Encoder]:
    """A packaged encoder that has a prefix for queries."""
    encoder = open_encoder(Settings(model="bge-small-en-v1.5"))
    yield encoder
    await encoder.close()


TEXTS = ["deploy it", "create a relation", "deploy it", "", "a\0b", "\ud800 half"]


async def test_what_the_cache_holds_is_not_embedded_again(database: Database, tenant: Tenant, encoder: Encoder) -> None:
    """Each different text once, in the given order, for any tenant."""
    first = await text_vectors(database, tenant, encoder, TEXTS, prefixed=True)
    again = await text_vectors(database, tenant, encoder, [*TEXTS, "one more"], prefixed=True)
    expected = await encoder.embed_queries(TEXTS, prefixed=True)

    assert (first.embedded, again.embedded) == (5, 1)
    assert first.hashes == again.hashes[:6]
    assert first.hashes[0] == first.hashes[2]
    np.testing.assert_allclose(first.vectors, expected, atol=1e-5)
    np.testing.assert_array_equal(first.vectors, again.vectors[:6])


async def test_a_text_has_another_vector_as_a_query(database: Database, tenant: Tenant, encoder: Encoder) -> None:
    """The model's prefix is part of the hashed text."""
    plain = await text_vectors(database, tenant, encoder, ["undo the last deployment"])
    query = await text_vectors(database, tenant, encoder, ["undo the last deployment"], prefixed=True)

    assert plain.hashes != query.hashes
    assert query.embedded == 1
    assert float(plain.vectors[0] @ query.vectors[0]) < 0.999


async def test_no_text_has_no_vector(database: Database, tenant: Tenant, encoder: Encoder) -> None:
    """The matrix is empty and has the model's width."""
    found = await text_vectors(database, tenant, encoder, [])

    assert found.vectors.shape == (0, 384)
    assert (found.hashes, found.embedded) == ((), 0)


async def test_without_an_encoder_the_reason_is_raised(database: Database, tenant: Tenant, settings: Settings) -> None:
    """Nothing is cached."""
    broken = open_encoder(settings.model_copy(update={"model_dir": settings.data_dir / "nothing"}))
    with pytest.raises(EncoderError):
        await text_vectors(database, tenant, broken, ["a"])
    await broken.close()
