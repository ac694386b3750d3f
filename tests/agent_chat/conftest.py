"""A product in miniature with a conversation in front: documents, a database, a model that does what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import uvicorn
from fastmcp import FastMCP
from pydantic import SecretStr

from tests.agent.conftest import _a_busy_machine_is_waited_for, add_shop, encoder, untaught
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer
from tests.support.product import opened
from tests.support.waiting import eventually
from thresher.agent.conversations import Conversations
from thresher.agent.exchange import ChatCall, Decision, Delta, Event, TurnReport
from thresher.agent.threads import Threads
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.knowledge.documents import origin_of
from thresher.knowledge.intents import Sources
from thresher.llm import Function, Message
from thresher.services import Services, open_conversations
from thresher.store import Database
from thresher.upstream import ServerConfig

__all__ = ["_a_busy_machine_is_waited_for", "encoder", "untaught"]

LEAVE = """# Leave

Parents have sixteen weeks of paid leave after a child is born. They ask for it eight weeks before it begins.

# Bicycles

The firm lends a bicycle to whoever wants one. Repairs are paid up to two hundred euros a year.
"""
KILN = """# Kilns

A kiln is heated to eleven hundred degrees. It cools for a whole day before anybody opens it.
"""

Body = dict[str, Any]


def texts(body: Body) -> str:
    """All that a request says."""
    return "\n".join(str(message.get("content") or "") for message in body["messages"])


def last(body: Body) -> str:
    """What a request says last."""
    return str(body["messages"][-1].get("content") or "")


def names(body: Body) -> list[str]:
    """The tools that a request offers."""
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def called(body: Body) -> list[str]:
    """Ids of calls in a request."""
    return [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]


def answered(body: Body) -> list[str]:
    """Ids of calls that a request answers."""
    return [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]


def asks_inside(body: Body) -> str:
    """Which of our own questions a request is: `grade`, `rephrase`, `table_selection`; empty where it is the talk."""
    marks = {"begin PASSAGES": "grade", "begin HISTORY": "rephrase", "begin TABLES": "table_selection"}
    return next((name for mark, name in marks.items() if mark in last(body)), "") if not body.get("tools") else ""


@dataclass
class Scripted:
    """A model that answers from a list, and our own questions in the simplest way.

    Attributes:
        answers: For the next requests of the talk, in order; a function makes one of the request.
        grades: Says of a passage's text whether it is relevant.
        rephrased: The question that stands alone; None: as it was asked.
        tables: What it says to a selection of tables.
    """

    answers: list[str | Said | Callable[[Body], str | Said]] = field(default_factory=list)
    grades: Callable[[str], bool] = lambda _: True
    rephrased: str | None = None
    tables: str = "NONE"
    inside: list[str] = field(default_factory=list)

    def __call__(self, body: Body) -> str | Said:
        if kind := asks_inside(body):
            self.inside.append(kind)
            return self._inside(kind, last(body))
        told = self.answers.pop(0) if self.answers else "Nothing more to say."
        return told(body) if callable(told) else told

    def _inside(self, kind: str, text: str) -> str:
        if kind == "grade":
            numbered = [line for line in text.splitlines() if line.startswith("[")]
            verdicts = ((line[1 : line.index("]")], self.grades(line)) for line in numbered)
            return "\n".join(f"{number}: {'yes' if good else 'no'}" for number, good in verdicts)
        if kind == "rephrase":
            asked = text.split("begin QUESTION\n")[1].split("\n")[0]
            return self.rephrased if self.rephrased is not None else asked
        return self.tables


@dataclass
class Told:
    """What a turn told."""

    events: list[Event]

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(one.text for one in self.events if isinstance(one, Delta))

    @property
    def report(self) -> TurnReport:
        """How it ended."""
        assert isinstance(self.events[-1], TurnReport)
        return self.events[-1]


@dataclass
class Talk:
    """A conversation under test."""

    conversations: Conversations
    services: Services
    threads: Threads
    server: ChatServer
    model: Scripted
    caller: Caller

    async def say(
        self,
        text: str = "",
        thread: UUID | None = None,
        *,
        functions: tuple[Function, ...] = (),
        messages: tuple[Message, ...] = (),
        decisions: tuple[Decision, ...] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> Told:
        """Say something and hear everything."""
        said = messages or ((Message("user", text),) if text else ())
        call = ChatCall(said, thread, functions, settings=settings or {}, decisions=decisions)
        return Told([one async for one in self.conversations.talk(self.caller, call)])

    @property
    def prompts_sent(self) -> list[Body]:
        """The requests of the talk itself."""
        return [body for body in self.server.requests if not asks_inside(body)]


@dataclass
class Bell:
    """A server with one tool, which may be held.

    Attributes:
        rung: How often it was called.
        reached: Set when it is.
        free: Lets calls end.
    """

    url: str = ""
    rung: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def ring(self, times: int) -> str:
        """Ring the bell, so that everybody in the house hears it."""
        self.rung += 1
        self.reached.set()
        await self.free.wait()
        return f"The bell has rung {times} times."


@pytest.fixture
def model() -> Scripted:
    """What the model says."""
    return Scripted()


@pytest.fixture
def llm(model: Scripted) -> Any:
    """The model's service."""
    server = ChatServer(model)
    yield server
    server.stop()


@pytest.fixture
def talk_settings(settings: Settings, llm: ChatServer) -> Settings:
    """Settings that name the service."""
    return settings.model_copy(
        update={"llm_url": llm.url, "llm_model": "fake", "llm_key": SecretStr("sk-test"), "database_files": ()}
    )


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, talk_settings: Settings, encoder: Encoder, untaught: Path
) -> AsyncIterator[Services]:
    """Services of a fresh tenant, with the packs' tools."""
    async with opened(database, tenant, talk_settings, encoder, Sources(built_in=untaught)) as services:
        yield services


@asynccontextmanager
async def conversing(services: Services) -> AsyncGenerator[tuple[Conversations, Threads]]:
    """Conversations in front of the gateway, and their threads."""
    gateway = build_gateway(services)
    async with gateway._lifespan_manager():
        yield open_conversations(services), services.threads


@pytest.fixture
async def talk(services: Services, llm: ChatServer, model: Scripted) -> AsyncIterator[Talk]:
    """A conversation in front of the gateway."""
    async with conversing(services) as (conversations, threads):
        yield Talk(conversations, services, threads, llm, model, services.caller)


@pytest.fixture
async def library(talk: Talk, tmp_path: Path) -> Talk:
    """The conversation with two documents in a repository."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "kiln.md").write_text(KILN)
    await talk.services.documents.index_here(talk.caller, "handbook", origin_of(str(folder)))
    return talk


@pytest.fixture
async def shop(library: Talk, tmp_path: Path) -> Talk:
    """The same, and a database."""
    await add_shop(library.services, tmp_path)
    return library


@pytest.fixture
async def bell() -> AsyncIterator[Bell]:
    """A bell that rings freely, behind a real port."""
    bell = Bell()
    bell.free.set()
    mcp = FastMCP("bell")
    mcp.tool(bell.ring)
    server = uvicorn.Server(uvicorn.Config(mcp.http_app(), port=0, log_level="error", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    bell.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    yield bell
    bell.free.set()
    server.should_exit = True
    await serving


async def add_bell(talk: Talk, bell: Bell) -> None:
    """Connect the bell, as a server like any other."""
    await talk.services.tools.add_server(talk.caller, ServerConfig("bell", "http", url=bell.url))
    await talk.services.tools.refresh(talk.caller, "bell")


def search(query: str, **more: Any) -> Said:
    """The model searches documents."""
    return Said(calls=(("search_documents", {"query": query, **more}),))


def new_thread() -> UUID:
    """An id that no thread has."""
    return uuid4()
