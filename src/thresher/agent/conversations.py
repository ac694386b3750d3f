"""Conversations with a model: a turn as events, and what is kept of a thread.

Light: what runs a turn needs LangGraph and LangChain, which take seconds to import, so that is imported when the first
turn is asked for, beside the loop.

Invariant: a turn has one thread to itself, and acts for its caller alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast
from uuid import UUID

from fastmcp import Client

from thresher.agent.assistant import Assistant
from thresher.agent.calls import ChatCall, Entry
from thresher.agent.events import Approval, Event
from thresher.agent.models import Models
from thresher.agent.prompts import Prompts
from thresher.agent.settings import AgentSettings
from thresher.agent.threads import Threads
from thresher.core import Caller
from thresher.knowledge.tools import Consents
from thresher.store import Database

if TYPE_CHECKING:
    from thresher.agent.talking import Base


class _Talking(Protocol):
    """The module that runs turns."""

    Base: type[Base]

    def talk(self, base: Base, caller: Caller, call: ChatCall) -> AsyncGenerator[Event]:
        """See `Conversations.talk`."""
        ...


class _Entries(Protocol):
    """The module that reads threads."""

    async def history(self, base: Base, caller: Caller, thread: UUID) -> tuple[Entry, ...]:
        """See `Conversations.history`."""
        ...

    async def pending(self, base: Base, caller: Caller, thread: UUID) -> tuple[Approval, ...]:
        """See `Conversations.pending`."""
        ...

    async def instruction(self, base: Base, caller: Caller, thread: UUID) -> str:
        """See `Conversations.instruction`."""
        ...


class Conversations:
    """Conversations of all callers. One per process.

    Args:
        open_client: Opens an MCP client of the gateway that asks for a caller.
        database: Where threads are.
        threads: Whose turn it is.
        prompts: What models are told.
        models: Which there are.
        settings: What holds for whom.
        assistant: Answers where there is no model.
        consents: What callers have agreed to.
    """

    def __init__(
        self,
        open_client: Callable[[Caller], AbstractAsyncContextManager[Client[Any]]],
        database: Database,
        threads: Threads,
        prompts: Prompts,
        models: Models,
        settings: AgentSettings,
        assistant: Assistant,
        consents: Consents,
    ) -> None:
        self._given = (database, threads, prompts, models, settings, assistant, consents, open_client)
        self._threads = threads
        self._engine: asyncio.Task[Engine] | None = None

    async def talk(self, caller: Caller, call: ChatCall) -> AsyncGenerator[Event]:
        """Run a turn. Closing the generator ends it; what it has come to by then stays in the thread.

        Args:
            caller: Who asks.
            call: What.

        Yields:
            What is said and done, as it happens; a `Report` last, whatever became of the turn.

        Raises:
            InvalidInput: The call cannot be answered as it is; before the first event, as all of these.
            NotFound: The thread is another's, or there is no such model.
            Conflict: A turn of the thread is being answered, or nothing waits for the decisions given.
            StoreUnavailable: The database does not answer.
        """
        engine = await self._loaded()
        events = engine.talking.talk(engine.base, caller, call)
        try:
            async for told in events:
                yield told
        finally:
            await events.aclose()

    async def history(self, caller: Caller, thread: UUID) -> tuple[Entry, ...]:
        """A thread as people read it, oldest first: what models are never shown is in it, and marked.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.history(engine.base, caller, thread)

    async def pending(self, caller: Caller, thread: UUID) -> tuple[Approval, ...]:
        """The calls of a thread that wait for a person's decision.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.pending(engine.base, caller, thread)

    async def instruction(self, caller: Caller, thread: UUID) -> str:
        """The instruction that a thread's client gave it by its last system messages; empty without one.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.instruction(engine.base, caller, thread)

    async def clear(self, caller: Caller, thread: UUID) -> None:
        """Remove a thread and all that is kept of it.

        Raises:
            NotFound: The caller has no such thread.
            Conflict: A turn of it is being answered.
        """
        await self._threads.delete(caller, thread)

    async def warm(self) -> None:
        """Import what the first turn needs."""
        await self._loaded()

    async def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = asyncio.create_task(asyncio.to_thread(Engine, self._given))
        return await asyncio.shield(self._engine)


class Engine:
    """What runs turns, imported; made beside the loop."""

    def __init__(self, given: tuple[Any, ...]) -> None:
        self.talking = cast("_Talking", import_module("thresher.agent.talking"))
        self.entries = cast("_Entries", import_module("thresher.agent.entries"))
        self.base = self.talking.Base(*given)
