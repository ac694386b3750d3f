"""An evaluation against the product itself: the figures, and the tenant that is gone afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support import Databases
from tests.support.product import CATALOGUE, opened
from thresher.core import Settings, Tenant
from thresher.embedding import open_encoder
from thresher.evaluation import ToolQuestion, evaluate_tools
from thresher.services import Services
from thresher.store import Database

QUESTIONS = [
    ToolQuestion("show the commit history", (), frozenset({"git/git_log"}), 1),
    ToolQuestion(
        "send an email and read a file", ("send an email", "read a text file"), frozenset({"mail/send_email"}), 2
    ),
    ToolQuestion("compose a sonnet about autumn leaves", (), frozenset(), 3),
]


@pytest.fixture(scope="module")
async def name(databases: Databases) -> AsyncIterator[str]:
    """A database of this module's own, by name, so that an administrator can look into it."""
    name = await databases.create()
    yield name
    await databases.drop(name)


@pytest.fixture(scope="module")
async def database(databases: Databases, name: str) -> AsyncIterator[Database]:
    """The same, opened."""
    database = await databases.open(name)
    yield database
    await database.close()


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings) -> AsyncIterator[Services]:
    """The product of one tenant."""
    encoder = open_encoder(settings)
    async with opened(database, tenant, settings, encoder) as services:
        yield services
    await encoder.close()


async def leftovers(databases: Databases, name: str) -> int:
    """How many tenants of evaluations there are, seen past row-level security."""
    rows = await databases.admin("select count(*) from tenant where name like 'evaluation%'", name)
    return int(str(rows[0][0]))


async def test_an_evaluation_measures_and_leaves_nothing(services: Services, databases: Databases, name: str) -> None:
    """Figures are returned, progress is reported, and every tenant's rows are unchanged."""
    stages: list[tuple[str, int, int]] = []
    figures = await evaluate_tools(
        services.database, services.tools, CATALOGUE, QUESTIONS, lambda *stage: stages.append(stage)
    )

    assert figures.recall_at_5 == 1.0
    assert figures.tools == len(CATALOGUE)
    assert 0 < (figures.tokens_saved or 0) < 1
    assert figures.cached_p50_ms is not None
    assert {stage for stage, _, _ in stages} >= {"Asking"}
    assert stages[-1] == ("Asking", 3, 3)
    assert await services.tools.list_tools(services.caller) == ()
    assert await leftovers(databases, name) == 0


async def test_a_cancelled_evaluation_removes_its_tenant(services: Services, databases: Databases, name: str) -> None:
    """And the next one starts from nothing."""
    asking = asyncio.Event()

    def follow(stage: str, _done: int, _total: int) -> None:
        if stage == "Asking":
            asking.set()

    work = asyncio.create_task(evaluate_tools(services.database, services.tools, CATALOGUE, QUESTIONS * 50, follow))
    await asyncio.wait_for(asking.wait(), 60)
    assert await leftovers(databases, name) == 1
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await leftovers(databases, name) == 0

    again = await evaluate_tools(services.database, services.tools, CATALOGUE[:2], QUESTIONS[:1], lambda *_: None)
    assert again.tools == 2
    assert again.recall_at_1 == 1.0
