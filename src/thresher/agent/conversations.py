"""Conversations with a model: a turn as events, and reading a stored thread.

Light to import: running a turn needs LangGraph and LangChain, which take seconds to import, so they are imported in a
thread when the first turn is requested.

Invariant: a turn has exclusive use of its thread, and acts only for its caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, TypeAlias, cast
from uuid import UUID

from thresher.agent.assistant.service import Assistant
from thresher.agent.exchange import Approval, ChatCall, Event, ThreadEntry, TurnProgress
from thresher.agent.models import Models
from thresher.agent.prompts import Prompts
from thresher.agent.settings import AgentSettings
from thresher.agent.threads import Threads
from thresher.calling import Calling
from thresher.context import ContextService
from thresher.core import Caller, ThresherError, event
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.documents import DocumentService
from thresher.knowledge.tools import Consents
from thresher.store import Database

_logger = logging.getLogger("thresher.agent")
Until: TypeAlias = Callable[[Callable[[], None]], AbstractContextManager[object]]
"""Calls what it is given if a turn has to end early, as long as its context is open."""


@dataclass(frozen=True, slots=True)
class ChatServices:
    """The services that turns use; one per process.

    Attributes:
        calling: Runs tools.
        context: Chooses packs and tools for a message.
        documents: The repositories that can be searched.
        databases: The databases that can be queried.
        consents: What callers have agreed to.
        database: The database of threads.
        threads: The threads, and the right to write to one.
        prompts: The prompts of models.
        models: The registered models.
        settings: The settings of a caller and a thread.
        assistant: Answers if there is no model.
    """

    calling: Calling
    context: ContextService
    documents: DocumentService
    databases: DatabaseService
    consents: Consents
    database: Database
    threads: Threads
    prompts: Prompts
    models: Models
    settings: AgentSettings
    assistant: Assistant


class _TurnModule(Protocol):
    """The module that runs turns."""

    def talk(self, services: ChatServices, caller: Caller, call: ChatCall) -> AsyncGenerator[Event]:
        """See `Conversations.talk`."""
        ...

    async def run(
        self,
        services: ChatServices,
        caller: Caller,
        call: ChatCall,
        tell: Callable[[Event], None],
        begun: Callable[[], None],
    ) -> None:
        """See `Conversations.begin`."""
        ...


class _HistoryModule(Protocol):
    """The module that reads threads."""

    async def history(self, services: ChatServices, caller: Caller, thread: UUID) -> tuple[ThreadEntry, ...]:
        """See `Conversations.history`."""
        ...

    async def pending(self, services: ChatServices, caller: Caller, thread: UUID) -> tuple[Approval, ...]:
        """See `Conversations.pending`."""
        ...

    async def instruction(self, services: ChatServices, caller: Caller, thread: UUID) -> str:
        """See `Conversations.instruction`."""
        ...


class Conversations:
    """Conversations of all callers. One per process.

    Args:
        services: The services that turns use.
    """

    def __init__(self, services: ChatServices) -> None:
        self._services = services
        self._engine: asyncio.Task[ConversationEngine] | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def talk(self, caller: Caller, call: ChatCall) -> AsyncGenerator[Event]:
        """Run a turn. Closing the generator ends it; its results so far stay in the thread.

        Args:
            caller: The caller that the turn acts for.
            call: The request.

        Yields:
            Events as they happen, and in any case a `TurnReport` at the end.

        Raises:
            InvalidInput: The call cannot be answered as it is; before the first event, like all of these.
            NotFound: The thread is another caller's, or there is no such model.
            Conflict: A turn of the thread is in progress, or no call waits for the given decisions.
            StoreUnavailable: The database does not answer.
        """
        engine = await self._loaded()
        events = engine.talking.talk(self._services, caller, call)
        try:
            async for told in events:
                yield told
        finally:
            await events.aclose()

    async def begin(self, caller: Caller, call: ChatCall, until: Until = nullcontext) -> None:
        """Begin a turn of a thread, which goes on whether or not anybody listens; `progress` says how far it is.

        Args:
            caller: The caller that the turn acts for.
            call: The request, which names a thread.
            until: Given what ends the turn early, returns a context for as long as the turn, such as one that watches
                the caller's key.

        Raises:
            InvalidInput: The call cannot be answered as it is.
            NotFound: The thread is another caller's, or there is no such model.
            Conflict: A turn of the thread is in progress, or no call waits for the given decisions.
            StoreUnavailable: The database does not answer.
        """
        engine, begun = await self._loaded(), asyncio.Event()
        turn = asyncio.create_task(engine.talking.run(self._services, caller, call, lambda _: None, begun.set))

        def end() -> None:
            turn.cancel()

        stack = ExitStack()
        stack.callback(begun.set)
        stack.enter_context(until(end))
        self._running.add(turn)
        turn.add_done_callback(self._ended)
        turn.add_done_callback(lambda _: stack.close())
        await begun.wait()
        if turn.done():
            turn.result()

    def _ended(self, turn: asyncio.Task[None]) -> None:
        self._running.discard(turn)
        if turn.cancelled() or (error := turn.exception()) is None:
            return
        known = isinstance(error, ThresherError)
        event(_logger, "turn failed", level=logging.INFO if known else logging.ERROR, reason=str(error))

    async def progress(self, caller: Caller, thread: UUID) -> TurnProgress:
        """Return how far the last turn of a thread is.

        Raises:
            NotFound: The caller has no such thread.
        """
        return await self._services.threads.progress(caller, thread)

    async def stop(self, caller: Caller, thread: UUID) -> None:
        """End the turn of a thread, if one is in progress; what it has reached stays in the thread.

        Raises:
            NotFound: The caller has no such thread.
        """
        await self._services.threads.stop(caller, thread)

    async def close(self) -> None:
        """End the turns that were begun; their threads go on from their last steps."""
        for turn in self._running:
            turn.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def history(self, caller: Caller, thread: UUID) -> tuple[ThreadEntry, ...]:
        """Return a thread as people read it, oldest first, including messages that models are never shown.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.history(self._services, caller, thread)

    async def pending(self, caller: Caller, thread: UUID) -> tuple[Approval, ...]:
        """Return the calls of a thread that wait for a person's decision.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.pending(self._services, caller, thread)

    async def instruction(self, caller: Caller, thread: UUID) -> str:
        """Return the instruction that the client's last system messages gave the thread; empty without one.

        Raises:
            NotFound: The caller has no such thread.
        """
        engine = await self._loaded()
        return await engine.entries.instruction(self._services, caller, thread)

    async def clear(self, caller: Caller, thread: UUID) -> None:
        """Remove a thread and everything kept of it.

        Raises:
            NotFound: The caller has no such thread.
            Conflict: A turn of it is in progress.
        """
        await self._services.threads.delete(caller, thread)

    async def warm(self) -> None:
        """Import what the first turn needs."""
        await self._loaded()

    async def _loaded(self) -> ConversationEngine:
        if self._engine is None:
            self._engine = asyncio.create_task(asyncio.to_thread(ConversationEngine))
        return await asyncio.shield(self._engine)


class ConversationEngine:
    """The imported modules that run turns; created in a thread."""

    def __init__(self) -> None:
        self.talking = cast("_TurnModule", import_module("thresher.agent.turn"))
        self.entries = cast("_HistoryModule", import_module("thresher.agent.history"))
