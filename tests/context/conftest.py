"""Fixtures of enrichment: packs in a folder of the test's own, a small catalogue, the real encoder, a fresh tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.knowledge_intents.packs import write_pack
from tests.support.product import CATALOGUE, opened
from thresher.context import ContextService
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.intents import Sources
from thresher.services import Services
from thresher.store import Database

LOG = ("show the git log", "what was committed last week", "list the last commits", "who did this", "git history")
MAIL = ("send a mail to ana", "write an email to the team", "mail the report", "email her", "send the mail now")
NEWS = "write the release notes", "what is new in this version", "notes for the release", "announce the release"


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with three packs: with a server, with named tools and variables, and with braces in its text."""
    folder = tmp_path / "shelf"
    write_pack(folder, "history", LOG, rules="Never rewrite history.", metadata=["servers: git"])
    write_pack(
        folder,
        "mail",
        MAIL,
        rules="Sign as {{USER_NAME}} of {{PROJECT_NAME}}.\nSolution: {{ACTIVE_SOLUTION}}\nName the ticket: {{TICKET}}",
        metadata=["tools: mail_send_email mail_gone", "servers: pigeons", "variables: 'true'"],
    )
    write_pack(folder, "notes", NEWS, rules="Fill in {{USER_NAME}} by hand.")
    return folder


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, shelf: Path, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services of a fresh tenant with those packs."""
    sources = Sources(configured=(shelf,), home=tmp_path / "home")
    async with opened(database, tenant, settings, encoder, sources) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        await services.intents.prepare(services.caller)
        yield services


@pytest.fixture
def context(services: Services) -> ContextService:
    """The service under test."""
    return services.context


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller
