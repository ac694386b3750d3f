"""Documents as clients of both eras ask them: listed while there is a repository, within the budget, no word added."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.packing import call, text
from tests.gateway.talking import connect, served
from tests.support.product import opened
from thresher.calling import SCHEMAS
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, count_tokens
from thresher.gateway import build_gateway
from thresher.knowledge.documents import Retrieval, origin_of
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.services import Services
from thresher.store import Database

READING = {"list_repositories", "read_document", "retrieve_document", "retrieve_documents", "search_documents"}
WRITING = {"index_documents", "refresh_repository", "remove_repository", "upload_document", "remove_upload"}
LEAVE = """# Leave

Everybody has thirty days of holiday a year.

## Parents

Parents have twelve weeks of paid leave after a birth, and may divide them over the first two years.

## Illness

From the third day of an illness on a doctor's certificate is needed.
"""
SUBJECTS = {
    "Trains": "Journeys by rail are booked in second class; whoever travels for six hours may take first class.",
    "Flights": "Whoever flies inside the continent sits in economy, and asks the head of the department beforehand.",
    "Hotels": "A night in a hotel may cost 140 euros, breakfast apart; in Zurich and London it may cost 190.",
    "Taxis": "A cab is paid for after ten in the evening, with heavy luggage, or where no bus runs.",
    "Meals": "Lump sums for food follow the tables of the tax office; an invitation to dinner reduces them.",
    "Cars": "Kilometres in one's own car are refunded at thirty cents, parking on top, fines never.",
    "Visas": "The secretariat applies for visas; a passport must be valid for six months after the return.",
    "Insurance": "Illness abroad is covered by a group policy, whose card everybody carries.",
    "Conferences": "Fees are paid from the budget of the team; speakers go first, listeners once a year.",
    "Receipts": "Every bill is photographed on the day itself and handed in within three weeks.",
    "Advances": "Money in advance is paid for journeys of more than five days, four fifths of the estimate at most.",
    "Families": "Relatives may come along at their own expense as long as the programme of work is kept.",
}
TRAVEL = "# Travel\n\n" + "".join(f"## {subject}\n\n{text}\n\n" for subject, text in SUBJECTS.items())


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder of documents."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE, encoding="utf-8")
    (folder / "travel.md").write_text(TRAVEL, encoding="utf-8")
    return folder


@pytest.fixture
def looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process has changed shows at once, and a busy machine has time to load the packs' code."""
    monkeypatch.setattr("thresher.context.readiness.FRESH_SECONDS", 0.0)
    monkeypatch.setattr("thresher.context.readiness.ASKED_SECONDS", 20.0)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 20.0)


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, looked_at_once: None
) -> AsyncIterator[Services]:
    """Services with the packs that come with Thresher."""
    async with opened(database, tenant, settings, encoder, Sources(built_in=BUILT_IN)) as services:
        yield services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def index(services: Services, folder: Path, caller: Caller | None = None) -> None:
    """Index the handbook, here and now."""
    await services.documents.index_here(caller or services.caller, "handbook", origin_of(str(folder)))


async def names(client: Client[Any]) -> set[str]:
    """What `tools/list` shows beside the gateway's own tools."""
    return {tool.name for tool in await client.list_tools()} - set(SCHEMAS)


async def test_without_a_repository_nothing_tells_of_documents(services: Services, mode: str) -> None:
    """Not one token more than without the pack."""
    await services.intents.prepare(services.caller)
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        listed = await names(client)
        prompts = {prompt.name for prompt in await client.list_prompts()} - set(services.prompts.shipped)
        prompt = await call(client, "process_prompt", prompt="what does the handbook say about parental leave")
        called = await call(client, "retrieve_document", query="leave", repository="handbook")

    assert listed == set()
    assert prompts == {"tools-rules"}
    assert text(prompt) == "PASS_THROUGH"
    assert set(prompt.structured_content) == {"result", "pass_through", "confidence", "trace_id"}
    assert "There is no tool 'retrieve_document'" in text(called)


async def test_an_answer_is_the_content_and_the_record(services: Services, handbook: Path, mode: str) -> None:
    """On the very first call of a session; the text costs what the record says, and never more than the budget."""
    await index(services, handbook)
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        listed = await names(client)
        whole = await call(client, "retrieve_document", query="leave of parents", repository="handbook")
        part = await call(
            client,
            "call_tool",
            name="retrieve_document",
            arguments={"query": "who pays fines of cars", "repository": "handbook", "budget": "120"},
        )

    assert listed == READING
    assert text(whole).split("\n", 1)[1].rpartition("\n")[0] == whole.structured_content["content"]
    assert "Parents have twelve weeks of paid leave" in text(whole)
    assert {field.name for field in fields(Retrieval)} <= set(part.structured_content)
    assert part.structured_content["was_compressed"]
    assert part.structured_content["token_count"] < count_tokens(text(part)) <= 120


async def test_a_cursor_brings_what_was_left_out(services: Services, handbook: Path) -> None:
    """Nothing that was given comes again."""
    await index(services, handbook)
    asked = {"query": "how much may a night in a hotel cost", "repository": "handbook", "budget": 120}
    async with Client(build_gateway(services, expose="own")) as client:
        first = await call(client, "retrieve_document", **asked)
        cursor = first.structured_content["cursor"]
        second = await call(client, "retrieve_document", **asked, cursor=cursor)
        wrong = await call(client, "retrieve_document", **{**asked, "query": "illness"}, cursor=cursor)

    given = {(part["start"], part["end"]) for part in first.structured_content["sources"]}
    assert "A night in a hotel may cost 140 euros" in text(first)
    assert not second.is_error
    assert given.isdisjoint((part["start"], part["end"]) for part in second.structured_content["sources"])
    assert wrong.is_error


async def test_passages_and_pages_say_where_they_lie(services: Services, handbook: Path, mode: str) -> None:
    """The repository may be left out of a search; a page and the line about it cost no more than the budget."""
    await index(services, handbook)
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        found = await call(
            client, "search_documents", query="from which day of an illness is a certificate needed", limit=1
        )
        page = await call(client, "read_document", repository="handbook", path="travel.md", budget=200)
        section = await call(client, "read_document", repository="handbook", path="leave.md", section="Illness")
        repositories = await call(client, "list_repositories")

    assert "] [handbook: leave.md, lines " in text(found)
    assert "From the third day of an illness on" in text(found)
    assert f"\n{page.structured_content['content']}\n" in text(page)
    assert text(page).endswith(f"next: cursor {page.structured_content['cursor']}")
    assert count_tokens(text(page)) <= 200
    assert section.structured_content["content"].startswith("## Illness\n\nFrom the third day")
    assert [one["name"] for one in repositories.structured_content["repositories"]] == ["handbook"]


async def test_a_search_chooses_the_repository_and_says_why(services: Services, handbook: Path, tmp_path: Path) -> None:
    """Which was searched and which left out; a list of them says what each is about, and whose vectors it has."""
    await index(services, handbook)
    (tmp_path / "garden.md").write_text("# Garden\n\nRoses are cut in March, above an outward bud, and never late.\n")
    await services.documents.index_here(services.caller, "garden", origin_of(str(tmp_path / "garden.md")))
    async with Client(build_gateway(services, expose="own")) as client:
        found = await call(client, "search_documents", query="when are roses cut")
        listed = await call(client, "list_repositories")

    record, first = found.structured_content, listed.structured_content["repositories"][0]
    assert [one["name"] for one in record["repositories"]] == ["garden"]
    assert [one["name"] for one in record["left_out"]] == ["handbook"]
    assert "(searched: garden (fits best" in text(found)
    assert "Left out: handbook (" in text(found)
    assert first["description"] == "Roses are cut in March, above an outward bud, and never late."
    assert first["embedding_model"] == services.encoder.model.id
    assert "embedding model thresher-small" in text(listed)


async def test_wrong_names_are_answered_with_near_ones(services: Services, handbook: Path) -> None:
    """Of repositories, documents and sections; a wrong argument says what is right."""
    await index(services, handbook)
    wrong = {
        "handbook": ("retrieve_document", {"query": "leave", "repository": "hanbook"}),
        "leave.md": ("read_document", {"repository": "handbook", "path": "leaves.md"}),
        "Illness": ("read_document", {"repository": "handbook", "path": "leave.md", "section": "Ilness"}),
        "semantic": ("search_documents", {"query": "leave", "search_type": "magic"}),
    }
    async with Client(build_gateway(services, expose="own")) as client:
        answers = {right: await call(client, name, **given) for right, (name, given) in wrong.items()}

    assert all(answer.is_error for answer in answers.values())
    assert {right for right, answer in answers.items() if right in text(answer)} == set(wrong)


async def test_rules_name_the_repositories_and_offer_the_tools(services: Services, handbook: Path) -> None:
    """A message about documents gets the rules as soon as there is a repository."""
    await index(services, handbook)
    await services.documents.set_guide(services.caller, "handbook", "# Handbook\n\nHow we work here.\n")
    await services.intents.prepare(services.caller)
    async with Client(build_gateway(services, expose="own")) as client:
        prompt = await call(client, "process_prompt", prompt="what does the handbook say about parental leave")
        found = await call(client, "find_tools", queries=["search the documentation"])

    assert '- Repositories: handbook ("How we work here.")' in text(prompt)
    assert "search_documents" in text(found)


async def test_sessions_hear_of_the_first_repository_and_of_the_last(services: Services, handbook: Path) -> None:
    """`list_changed`, whoever has indexed and removed."""
    told = asyncio.Queue[None]()

    async def heard(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.put_nowait(None)

    async with Client(build_gateway(services, expose="own"), mode="legacy", message_handler=heard) as client:
        before = await names(client)
        await index(services, handbook)
        await asyncio.wait_for(told.get(), 20)
        meanwhile = await names(client)
        await services.documents.remove_repository(services.caller, "handbook")
        await asyncio.wait_for(told.get(), 20)
        after = await names(client)

    assert (before, meanwhile, after) == (set(), READING, set())


async def test_a_comparison_reads_with_its_reasons(services: Services, handbook: Path) -> None:
    """The text says why each document was chosen; programs get the record; an empty answer says what to do."""
    await index(services, handbook)
    async with Client(build_gateway(services, expose="own")) as client:
        found = await call(client, "retrieve_documents", query="leave of parents, and trains", budget=2000)
        nothing = await call(client, "retrieve_documents", query="thank you, that was helpful")

    assert "Parents have twelve weeks of paid leave" in text(found)
    assert "chosen: " in text(found).rpartition("\n")[2]
    assert found.structured_content["documents"][0]["sources"]
    assert nothing.structured_content["found"] is False
    assert "Small talk needs no documents" in text(nothing)


async def test_a_user_s_repository_is_nobody_else_s_business(services: Services, handbook: Path) -> None:
    """Others see neither it nor the tools."""
    ann = replace(services.caller, user="ann")
    await index(services, handbook, ann)
    async with (
        served(services, expose="own") as url,
        connect(url, "auto", "ann") as hers,
        connect(url, "auto", "bob") as his,
    ):
        listed = await names(hers), await names(his)
        answers = [
            await call(client, "retrieve_document", query="parents", repository="handbook") for client in (hers, his)
        ]

    assert listed == (READING, set())
    assert [answer.is_error for answer in answers] == [False, True]


async def test_documents_are_managed_over_mcp_only_where_that_was_allowed(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, handbook: Path, looked_at_once: None
) -> None:
    """Then even without a repository, so that a client can index the first one."""
    admin = settings.model_copy(update={"admin_tools": True, "rules_first": "off"})
    sources = Sources(built_in=BUILT_IN)
    async with (
        opened(database, tenant, admin, encoder, sources) as services,
        Client(build_gateway(services, expose="own")) as client,
    ):
        listed = await names(client)
        relative = await call(client, "index_documents", name="handbook", source="handbook")
        begun = await call(client, "index_documents", name="handbook", source=str(handbook), include=["*.md"])
        again = await call(client, "refresh_repository", repository="handbook")
        gone = await call(client, "remove_repository", repository="handbook")
        empty = await call(client, "list_repositories")

    assert listed >= READING | WRITING
    assert "relative path" in text(relative)
    assert begun.structured_content["origin"]["include"] == ["*.md"]
    assert f"job {begun.structured_content['job']}" in text(begun)
    assert not again.is_error
    assert gone.structured_content == {"removed": "handbook"}
    assert empty.structured_content == {"repositories": []}
