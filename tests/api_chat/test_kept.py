"""What is kept of conversations over HTTP: histories, calls that wait, and whose they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai import AsyncOpenAI

from tests.agent.conftest import add_shop
from tests.api.serving import Served, served
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer, text_of
from thresher.core import Settings

HISTORY = "/v1/chat/history"
APPROVALS = "/v1/chat/approvals"
COUNT = Said(calls=(("sql_query", {"connection": "shop", "sql": "SELECT 1 AS n"}),))


def says(text: str) -> Any:
    """A message of the user."""
    return [{"role": "user", "content": text}]


def counting(body: dict[str, Any]) -> str | Said:
    """A model that asks the database first, and then repeats what it was told."""
    last = next((one for one in reversed(body["messages"]) if one["role"] in ("user", "tool")), {})
    tools = [text_of(one) for one in body["messages"] if one["role"] == "tool"]
    return f"It says {tools[-1]}" if tools and last else COUNT


@pytest.fixture(scope="module")
async def shop(chatting: Served, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The product with a database."""
    folder: Path = tmp_path_factory.mktemp("shop")
    await add_shop(chatting.app.services, folder)
    chatting.app.services.context.readiness.look_again()
    return chatting


async def test_a_history_tells_what_was_said(sdk: AsyncOpenAI, chatting: Served) -> None:
    """With each answer's account; deleting it removes the thread."""
    thread = str(uuid4())
    await sdk.chat.completions.create(
        model="thresher", messages=says("say Hello"), extra_headers={"x-thresher-thread": thread}
    )
    kept = (await chatting.web.get(f"{HISTORY}/{thread}")).json()
    gone = await chatting.web.delete(f"{HISTORY}/{thread}")
    after = await chatting.web.get(f"{HISTORY}/{thread}")

    assert kept["thread"] == thread
    assert [(one["kind"], one["text"]) for one in kept["messages"]] == [("user", "say Hello"), ("assistant", "Hello")]
    assert kept["messages"][1]["report"]["model"] == "obedient"
    assert gone.status_code == 204
    assert (after.status_code, after.json()["error"]["code"]) == (404, "not_found")
    assert (await chatting.web.get(f"/v1/threads/{thread}")).status_code == 404


async def test_a_path_without_a_thread_is_a_bad_request(chatting: Served) -> None:
    """In OpenAI's form."""
    for path in (HISTORY, APPROVALS):
        answer = await chatting.web.get(f"{path}/mine")

        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "thread")


@pytest.mark.parametrize("name", ["responses", "completions", "embeddings", "responses/resp_1", "audio/speech"])
async def test_other_paths_of_openai_say_what_is_served(chatting: Served, name: str) -> None:
    """In OpenAI's form, so that its clients show the sentence."""
    answer = await chatting.web.post(f"/v1/{name}", json={"input": "hello"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert "Only /v1/chat/completions and /v1/models are served" in answer.json()["error"]["message"]


async def test_a_header_that_names_no_thread_is_the_param(chatting: Served) -> None:
    """Not a field of the body, which has none."""
    headers = {"x-thresher-thread": "abc"}
    answer = await chatting.web.post("/v1/chat/completions", json={"messages": says("say x")}, headers=headers)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "X-Thresher-Thread")


@pytest.mark.parametrize(
    ("body", "place"), [("{nope", "line 1, column 2"), ('{"messages":\n [}', "line 2, column 3")], ids=["one", "two"]
)
async def test_broken_json_is_said_to_be_broken(chatting: Served, body: str, place: str) -> None:
    """With the place where it breaks, on paths of OpenAI's and on ours."""
    headers = {"content-type": "application/json"}
    theirs = await chatting.web.post("/v1/chat/completions", content=body, headers=headers)
    ours = await chatting.web.post("/v1/threads", content=body, headers=headers)

    assert theirs.json()["error"]["message"].startswith(f"The body is not valid JSON: {place}.")
    assert (theirs.status_code, theirs.json()["error"]["param"]) == (400, None)
    assert (ours.status_code, ours.json()["detail"]) == (422, f"The body is not valid JSON: {place}.")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_call_is_approved_with_other_arguments(
    sdk: AsyncOpenAI, shop: Served, llm: ChatServer, streamed: bool
) -> None:
    """The answer says what waits, anybody who may can list it, and the decision goes on with the turn."""
    llm.model = counting
    thread = str(uuid4())
    asked: dict[str, Any] = {"model": "thresher", "extra_headers": {"x-thresher-thread": thread}}
    own = {"settings": {"approval": "all"}}
    first = await answered(sdk, streamed, messages=says("How many orders?"), extra_body={"thresher": own}, **asked)
    listed = (await shop.web.get(f"{APPROVALS}/{thread}")).json()["approvals"]
    (waiting,) = first["approvals"]
    arguments = {"connection": "shop", "sql": "SELECT 70 + 7 AS n"}
    own = {**own, "approvals": [{"id": waiting["id"], "approved": True, "arguments": arguments}]}
    final = await answered(sdk, streamed, messages=[], extra_body={"thresher": own}, **asked)

    assert first["finish"] == "approval"
    assert (waiting["tool"], waiting["arguments"]["sql"]) == ("sql_query", "SELECT 1 AS n")
    assert listed == [waiting]
    assert "77" in final["said"]
    assert (await shop.web.get(f"{APPROVALS}/{thread}")).json()["approvals"] == []


async def answered(sdk: AsyncOpenAI, streamed: bool, **asked: Any) -> dict[str, Any]:
    """The object `thresher` of an answer, with what was said."""
    if not streamed:
        answer = await sdk.chat.completions.create(**asked)
        told: Any = answer.model_extra
        return {**told["thresher"], "said": answer.choices[0].message.content}
    chunks = [chunk async for chunk in await sdk.chat.completions.create(stream=True, **asked)]
    told = chunks[-1].model_extra
    return {**told["thresher"], "said": "".join(chunk.choices[0].delta.content or "" for chunk in chunks)}


async def test_a_decision_about_nothing_is_refused(sdk: AsyncOpenAI) -> None:
    """A conflict in a thread, where it was decided before; a thread that is not there is not found."""
    own = {"thresher": {"approvals": [{"id": "call_1", "approved": True}]}}
    there = {"x-thresher-thread": str(uuid4())}
    await sdk.chat.completions.create(model="thresher", messages=says("say hello"), extra_headers=there)

    with pytest.raises(openai.ConflictError):
        await sdk.chat.completions.create(model="thresher", messages=[], extra_body=own, extra_headers=there)
    with pytest.raises(openai.NotFoundError):
        await sdk.chat.completions.create(
            model="thresher", messages=[], extra_body=own, extra_headers={"x-thresher-thread": str(uuid4())}
        )


async def test_a_stranger_learns_nothing(own_settings: Settings, llm: ChatServer) -> None:
    """Of a thread by its id, whoever he is; each key has threads and models of its own."""
    settings = own_settings.model_copy(update={"llm_url": llm.url, "llm_model": "obedient"})
    async with served(settings) as product:
        _, ada = await product.key("acme", "ada", "ada")
        _, bob = await product.key("acme", "bob", "bob")
        _, eve = await product.key("evil", "ada", "eve")
        thread = str(uuid4())
        asked = {"messages": says("say mine"), "metadata": {"thread_id": thread}}
        mine = await product.web.post("/v1/chat/completions", json=asked, headers=ada)
        same = await product.web.post("/v1/chat/completions", json=asked, headers=bob)
        refused = [
            await product.web.request(method, f"{path}/{thread}", headers=stranger)
            for stranger in (bob, eve)
            for method, path in (("get", HISTORY), ("get", APPROVALS), ("delete", HISTORY))
        ]
        nobody = await product.web.post("/v1/chat/completions", json=asked, headers={"authorization": "Bearer unknown"})
        kept = (await product.web.get(f"{HISTORY}/{thread}", headers=ada)).json()

    assert mine.json()["choices"][0]["message"]["content"] == "mine"
    assert (same.status_code, same.json()["error"]["code"]) == (404, "not_found")
    assert {answer.status_code for answer in refused} == {404}
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (401, "invalid_api_key")
    assert len(kept["messages"]) == 2
