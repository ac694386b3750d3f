"""A model judges answers by an existing library's criteria."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.fakes.chat_server import ChatServer
from thresher.agent import ChatSettings, Models, OpenModel
from thresher.core import Caller, ConfigurationError, Settings, Tenant
from thresher.evaluation import AnswerQuality, ChatAnswer, judge_answers
from thresher.store import Database, SecretBox

ANSWERS = (
    ChatAnswer(
        "a", 1, "How hot?", "Eleven hundred degrees [1].", ("A kiln is heated to eleven hundred degrees {so}.",)
    ),
    ChatAnswer("a", 2, "And how heavy?", "That is not my business.", ()),
)


@pytest.fixture
async def judge(database: Database, tenant: Tenant) -> AsyncIterator[tuple[ChatServer, OpenModel]]:
    """A model that judges, and its service."""
    service = ChatServer()
    models = Models(database, SecretBox(Fernet.generate_key()), Settings(llm_url=service.url, llm_model="judge"))
    model = await models.open(Caller(tenant), settings=ChatSettings.model_validate({}))
    assert model is not None
    yield service, model
    await models.close()
    service.stop()


async def test_answers_are_judged_by_what_they_rest_on_and_by_whether_they_help(
    judge: tuple[ChatServer, OpenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer without passages is judged by its helpfulness only; nothing is sent to the library's makers."""
    pytest.importorskip("openevals", reason="the extra `judge` is not installed")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    service, model = judge

    def verdict(body: dict[str, Any]) -> str:
        good = "not my business" not in str(body["messages"])
        return f"```json\n{json.dumps({'reasoning': 'It is so.', 'score': good})}\n```"

    service.model = verdict

    quality = await judge_answers(ANSWERS, model)

    assert quality == AnswerQuality(groundedness=1.0, helpfulness=0.5, judged=3, unjudged=0)
    assert "eleven hundred degrees {so}" in str(service.requests[1]["messages"])
    assert len(service.requests) == 3


async def test_a_verdict_that_cannot_be_read_is_counted(judge: tuple[ChatServer, OpenModel]) -> None:
    """It is not a judgement."""
    pytest.importorskip("openevals", reason="the extra `judge` is not installed")
    service, model = judge
    service.model = lambda _: "I would rather not say."

    quality = await judge_answers(ANSWERS, model)

    assert quality == AnswerQuality(groundedness=None, helpfulness=None, judged=0, unjudged=3)


async def test_without_the_library_it_says_what_to_install(
    judge: tuple[ChatServer, OpenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked."""
    monkeypatch.setitem(__import__("sys").modules, "openevals", None)
    monkeypatch.setitem(__import__("sys").modules, "openevals.llm", None)
    service, model = judge

    with pytest.raises(ConfigurationError, match=r"thresher\[judge\]"):
        await judge_answers(ANSWERS, model)
    assert service.requests == []
