"""`tools improve` against the product itself: findings, proposals, their effect, and a tenant that is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.product import CATALOGUE, opened
from thresher.core import InvalidInput, NotFound, Settings, Tenant
from thresher.embedding import open_encoder
from thresher.evaluation import improve_tools
from thresher.services import Services
from thresher.store import Database

BLUNT = [
    replace(tool, description="Handles the things you need.") if tool.server == "files" else tool for tool in CATALOGUE
]


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings) -> AsyncIterator[Services]:
    """The product of one tenant."""
    encoder = open_encoder(settings)
    async with opened(database, tenant, settings, encoder) as services:
        yield services
    await encoder.close()


def unfollowed(_stage: str, _done: int, _total: int) -> None:
    """Progress that nobody follows."""


async def test_blunt_descriptions_are_found_and_proposals_are_measured(services: Services) -> None:
    """Each blunt tool gets a proposal that loses no query; the caller's catalogue is unchanged."""
    stages: set[str] = set()
    improved = await improve_tools(
        services.database, services.tools, BLUNT, "files", lambda stage, _done, _total: stages.add(stage)
    )

    assert {tool.name: tool.findings[0].rule for tool in improved.tools} == {
        "read_file": "vague-description", "write_file": "vague-description"
    }  # fmt: skip
    assert all(tool.proposal and tool.after >= tool.before for tool in improved.tools)
    assert improved.rivals == len(CATALOGUE) - 2
    assert improved.after >= improved.before
    assert {"Searching", "Trying proposals"} <= stages
    assert await services.tools.list_tools(services.caller) == ()


async def test_a_good_server_scores_higher_than_its_blunt_twin(services: Services) -> None:
    """Half of the score comes from rules, half from what is found."""
    good = await improve_tools(services.database, services.tools, CATALOGUE, "files", unfollowed)
    blunt = await improve_tools(services.database, services.tools, BLUNT, "files", unfollowed)

    assert 0 <= blunt.score < good.score <= 100
    assert [tool.proposal for tool in good.tools] == ["", ""]


async def test_the_server_must_be_named_if_there_are_several(services: Services) -> None:
    """And it must be one of them."""
    with pytest.raises(InvalidInput, match="5 servers; which one"):
        await improve_tools(services.database, services.tools, CATALOGUE, None, unfollowed)
    with pytest.raises(NotFound, match="no server 'file'"):
        await improve_tools(services.database, services.tools, CATALOGUE, "file", unfollowed)
