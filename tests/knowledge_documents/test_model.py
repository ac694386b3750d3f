"""Answers and guides with a model: real services, a fake model over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import ChatServer
from tests.support.product import opened
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder, count_tokens, open_cross_encoder, open_encoder
from thresher.knowledge.documents import DocumentService, Origin, Retrieval
from thresher.llm import OpenAIChat
from thresher.services import Services
from thresher.store import Database

BUDGET = 500
QUERY = "What limits the pressure of the boiler?"
SENTENCE = "A valve limits the pressure of the boiler to 3 bar."


@pytest.fixture(scope="module")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
def model() -> Iterator[ChatServer]:
    """A fake chat service that runs."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture
async def chat(model: ChatServer) -> AsyncIterator[OpenAIChat]:
    """Its client."""
    chat = OpenAIChat(model.url, "fake", key=None, seconds=10)
    yield chat
    await chat.close()


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services whose repository `manual` has a long document and a short one."""
    folder = tmp_path / "manual"
    folder.mkdir()
    parts = [f"## Part {n}\n\nThe boiler of kind {n} is {n} metres high. It stands in hall {n}.\n" for n in range(60)]
    (folder / "boiler.md").write_text("\n".join(["# Boiler", *parts, f"## Safety\n\n{SENTENCE}\n"]), encoding="utf-8")
    (folder / "garden.md").write_text("# Garden\n\nRoses are cut in spring.\n", encoding="utf-8")
    quick = settings.model_copy(update={"llm_seconds": 0.5})
    async with opened(database, tenant, quick, encoder) as services:
        await services.documents.index_here(services.caller, "manual", Origin("folder", str(folder)))
        yield services


async def asked(
    services: Services, chat: OpenAIChat | None, query: str = QUERY, budget: int = BUDGET, cursor: str = ""
) -> Retrieval:
    """The abstractive answer."""
    return await services.documents.retrieve_document(
        services.caller, query, "manual", budget=budget, mode="abstractive", chat=chat, cursor=cursor
    )


async def test_a_model_condenses_more_than_the_reader_has_room_for(
    services: Services, chat: OpenAIChat, model: ChatServer
) -> None:
    """Its sentences are traced to passages; what it did not read is named, with a cursor."""
    model.model = lambda _: f"{SENTENCE} So it is safe."

    answer = await asked(services, chat)

    assert (answer.mode, answer.degraded, answer.unsupported) == ("abstractive", "", 1)
    assert answer.content.split("\n")[1].startswith(f"{SENTENCE} [")
    assert "So it is safe. [~]" in answer.content
    assert answer.token_count == count_tokens(answer.content) <= BUDGET
    assert (answer.document, answer.was_compressed) == ("boiler.md", True)
    assert count_tokens(model.requests[0]["messages"][1]["content"]) > 2 * BUDGET


async def test_the_passages_of_an_answer_are_where_it_says(
    services: Services, chat: OpenAIChat, model: ChatServer, tmp_path: Path
) -> None:
    """Lines and characters of the document."""
    model.model = lambda _: SENTENCE

    (part,) = (await asked(services, chat)).sources

    text = (tmp_path / "manual" / "boiler.md").read_text(encoding="utf-8")
    assert SENTENCE in text[part.start : part.end]
    assert SENTENCE in "\n".join(text.split("\n")[part.first_line - 1 : part.last_line])
    assert part.heading_path[0] == "Boiler"


@pytest.mark.parametrize(
    ("mode", "said", "words"),
    [
        ("slow", "", "did not answer within 0.5 s"),
        ("raw:no", "", "cannot be read"),
        ("401", "", "HTTP 401"),
        ("good", "NOTHING", "found nothing"),
        ("good", "word " * 3000, "does not fit"),
    ],
)
async def test_if_the_model_fails_the_answer_is_extractive_and_says_so(
    services: Services, chat: OpenAIChat, model: ChatServer, mode: str, said: str, words: str
) -> None:
    """In the record and in its first line, all inside the budget."""
    model.mode, model.model = mode, lambda _: said

    answer = await asked(services, chat)

    assert (answer.mode, answer.found) == ("extractive", True)
    assert SENTENCE in answer.content
    assert answer.content.startswith(f"[{answer.degraded}]\n")
    assert answer.degraded.startswith("Extractive: ")
    assert words in answer.degraded
    assert answer.token_count == count_tokens(answer.content) <= BUDGET


async def test_a_small_budget_is_not_spent_on_explanations(services: Services) -> None:
    """The explanation is in the record."""
    plain = await services.documents.retrieve_document(services.caller, QUERY, "manual", budget=110)

    answer = await asked(services, None, budget=110)

    assert answer.content == plain.content
    assert "no model" in answer.degraded


async def test_without_a_model_the_answer_is_extractive_and_says_so(services: Services) -> None:
    """With the setting that would change it."""
    answer = await asked(services, None)

    assert answer.mode == "extractive"
    assert "THRESHER_LLM_URL" in answer.degraded
    assert SENTENCE in answer.content


async def test_a_document_that_fits_is_returned_whole(services: Services, chat: OpenAIChat, model: ChatServer) -> None:
    """Other words gain nothing; the model is not called."""
    answer = await asked(services, chat, "When are roses cut?")

    assert (answer.document, answer.mode, answer.was_compressed) == ("garden.md", "extractive", False)
    assert (answer.degraded, model.requests) == ("", [])


async def test_the_cursor_of_a_models_answer_returns_what_it_did_not_read(
    services: Services, chat: OpenAIChat, model: ChatServer
) -> None:
    """In the document's own words or in the model's."""
    model.model = lambda _: SENTENCE
    first = await asked(services, chat, budget=150)
    read = model.requests[0]["messages"][1]["content"]

    rest = await services.documents.retrieve_document(
        services.caller, QUERY, "manual", budget=BUDGET, cursor=first.cursor
    )

    assert first.left_out
    assert rest.sources
    assert not any(line in read for line in rest.content.split("\n") if line.startswith("The boiler of kind"))


async def guide_of(services: Services, chat: OpenAIChat) -> tuple[str, str]:
    """The author of the guide, and the guide, after another run with this model."""
    documents, caller = DocumentService(*_parts(services), services.settings, chat), services.caller
    origin = (await documents.repository(caller, "manual")).origin
    after = await documents.index_here(caller, "manual", origin)
    return after.guide_by, after.guide


def _parts(services: Services) -> tuple[Any, ...]:
    return services.database, services.index, open_cross_encoder(services.settings), services.jobs


async def test_a_model_writes_the_guide_once(services: Services, chat: OpenAIChat, model: ChatServer) -> None:
    """From the guide built from structure; a run that finds nothing new does not call it again."""
    model.model = lambda _: "All about boilers.\n- `boiler.md`: kinds and safety"

    first = await guide_of(services, chat)
    second = await guide_of(services, chat)

    assert first == second == ("model", "All about boilers.\n- `boiler.md`: kinds and safety")
    assert len(model.requests) == 1
    assert "garden.md" in model.requests[0]["messages"][1]["content"]


async def test_a_model_that_fails_leaves_the_guide_as_it_is(
    services: Services, chat: OpenAIChat, model: ChatServer
) -> None:
    """The repository is ready anyway."""
    model.mode = "401"

    by, guide = await guide_of(services, chat)

    assert by == "structure"
    assert "boiler.md" in guide
    assert (await services.documents.repository(services.caller, "manual")).state == "ready"


async def test_a_person_s_guide_is_never_replaced(services: Services, chat: OpenAIChat, model: ChatServer) -> None:
    """The model is not called either."""
    await services.documents.set_guide(services.caller, "manual", "Ask Ana.")

    assert await guide_of(services, chat) == ("person", "Ask Ana.")
    assert model.requests == []
