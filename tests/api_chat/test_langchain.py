"""LangChain's client against the product, as its documentation shows it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from tests.api_chat.conftest import heard
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer


@tool
def roll(sides: int) -> str:
    """Roll a die."""
    return f"{sides} at most"


class Person(BaseModel):
    """A person."""

    name: str
    age: int


@pytest.fixture
def chat(base_url: str) -> ChatOpenAI:
    """The client."""
    return ChatOpenAI(base_url=base_url, api_key="none", model="thresher", max_retries=0)  # pyright: ignore[reportArgumentType] - as people write it


async def test_it_is_invoked(chat: ChatOpenAI) -> None:
    """With an answer, its reason and its usage."""
    answer = await chat.ainvoke([SystemMessage("Be brief."), HumanMessage("say Hello Ada.")])

    assert isinstance(answer, AIMessage)
    assert answer.content == "Hello Ada."
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] > 0


async def test_it_streams(chat: ChatOpenAI) -> None:
    """With the usage at the end."""
    chunks = [chunk async for chunk in chat.astream("say Hello dear Ada.", stream_usage=True)]

    assert "".join(str(chunk.content) for chunk in chunks) == "Hello dear Ada."
    assert sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata) > 0


async def test_it_calls_tools(chat: ChatOpenAI) -> None:
    """There and back."""
    bound = chat.bind_tools([roll])
    question = HumanMessage("call roll")
    asked = await bound.ainvoke([question])
    (call,) = asked.tool_calls
    final = await bound.ainvoke([question, asked, ToolMessage(roll.invoke(call["args"]), tool_call_id=call["id"])])

    assert (call["name"], call["args"]) == ("roll", {"sides": 6})
    assert final.content == "The tool says 6 at most."


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_it_reads_answers_into_records(chat: ChatOpenAI, llm: ChatServer, method: Any) -> None:
    """By the form of the answer, or by a tool."""
    ada = {"name": "Ada", "age": 36}
    llm.model = lambda body: Said(calls=(("Person", ada),)) if body.get("tools") else '{"name": "Ada", "age": 36}'

    assert await chat.with_structured_output(Person, method=method).ainvoke("Who?") == Person(name="Ada", age=36)


async def test_it_goes_on_with_a_thread(chat: ChatOpenAI, llm: ChatServer) -> None:
    """Named in a header; the last message is enough."""
    bound = chat.bind(extra_headers={"x-thresher-thread": str(uuid4())})
    await bound.ainvoke("say first")
    await bound.ainvoke("say second")

    assert heard(llm.requests[-1]) == ["say first", "first", "say second"]
