"""Fixtures of the search tests."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.embedding_server import EmbeddingServer
from tests.search.encoders import WordEncoder
from thresher.core import Caller, Settings, Tenant
from thresher.search import SearchIndex
from thresher.store import Database


@pytest.fixture
def encoder() -> WordEncoder:
    """A fast encoder with a name of its own, so that no other test has filled its cache, and constant vectors."""
    return WordEncoder(f"words-{secrets.token_hex(4)}@1", salt="words")


@pytest.fixture
async def index(database: Database, encoder: WordEncoder, settings: Settings) -> AsyncIterator[SearchIndex]:
    """An index that keeps copies in the process."""
    index = SearchIndex(database, encoder, settings)
    yield index
    await index.close()


@pytest.fixture
async def bare_index(database: Database, encoder: WordEncoder, settings: Settings) -> AsyncIterator[SearchIndex]:
    """An index that searches only in PostgreSQL."""
    index = SearchIndex(database, encoder, settings.model_copy(update={"vector_memory_mb": 0}))
    yield index
    await index.close()


@pytest.fixture
def caller(tenant: Tenant) -> Caller:
    """A caller of the tenant."""
    return Caller(tenant)


@pytest.fixture
def service() -> Iterator[EmbeddingServer]:
    """A fake embedding service that runs."""
    server = EmbeddingServer()
    yield server
    server.stop()
