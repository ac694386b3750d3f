"""Tells clients what has changed: their lists, and the resources that they have subscribed to.

Invariant: a client hears of a change in what it can see itself, and of nothing else; however a connection ends, its
subscriptions end with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import (
    EmptyResult,
    NotificationParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from thresher.core import Caller, Expose, InvalidInput, ThresherError, event
from thresher.gateway.callers import connection_of, current_caller
from thresher.gateway.errors import explained
from thresher.gateway.listing import Lists, Stand
from thresher.gateway.reading import Reading
from thresher.gateway.skills import Skills
from thresher.services import Services

logger = logging.getLogger("thresher.gateway")

Context: TypeAlias = ServerRequestContext[Any, Any]
End: TypeAlias = Callable[[], Awaitable[None]]
Owner: TypeAlias = tuple[tuple[int, str | None, str, bool], Expose | None]

MOST_RESOURCES = 100
"""Resources that one connection, or one stream that listens, follows: a server's own bound is for all its callers."""
LOOK_SECONDS = 0.25
"""How often the lists of those who listen are compared with the catalogue; after a change by this process, at once."""

_SUBSCRIBED = "thresher.subscribed"
_EVENTS: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


async def _checked(count: int) -> None:
    """Refuse to follow more resources than one connection may.

    Raises:
        InvalidInput: There are too many.
    """
    if count > MOST_RESOURCES:
        raise InvalidInput(
            f"One connection follows up to {MOST_RESOURCES} resources.", hint="Unsubscribe from some of them."
        )


async def _nothing() -> None:
    """End nothing."""


class _Audience:
    """Those who listen with the same eyes: connections of the handshake era, and streams of the stateless one."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.connections: set[Connection] = set()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self.streams = 0
        self.stand: Stand | None = None
        self.digest: dict[str, int] = {}
        self.files: list[_File] = []

    async def tell(self, kind: str) -> None:
        """A list has changed."""
        await self.bus.publish(_EVENTS[kind])
        for connection in list(self.connections):
            await connection.notify(f"notifications/{kind}/list_changed", None)


@dataclass(eq=False)
class _File:
    """A file of a pack that somebody follows: its hash when it was last told, and how to tell."""

    uri: str
    digest: str | None
    tell: Callable[[str], Awaitable[None]]


class Subscriptions:
    """Keeps track of who listens; one per process.

    Args:
        services: The catalogue and the sessions.
        lists: What is compared.
        reading: Leads from addresses to servers.
        skills: The files of packs.
    """

    def __init__(self, services: Services, lists: Lists, reading: Reading, skills: Skills) -> None:
        self._services = services
        self._lists = lists
        self._reading = reading
        self._skills = skills
        self._audiences: dict[Owner, _Audience] = {}
        self._watching: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        self._unfollow = services.tools.follow(self._changed.set)

    async def initialized(self, context: Context, _: NotificationParams) -> None:
        """A session of the handshake era is ready: from now on it hears of changes."""
        connection = connection_of(context)
        audience = await self._audience(current_caller(self._services))
        audience.connections.add(connection)
        connection.exit_stack.callback(audience.connections.discard, connection)

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve `subscriptions/listen`."""
        caller = current_caller(self._services)
        audience = await explained(self._audience(caller))

        async def tell(uri: str) -> None:
            await audience.bus.publish(ResourceUpdated(uri))

        followed = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        await explained(_checked(len(followed)))
        async with AsyncExitStack() as stack:
            for uri in followed:
                with suppress(ThresherError):  # as one to an address that no server has: honoured, and never heard of
                    stack.push_async_callback(await self._follow(caller, uri, tell))
            audience.streams += 1
            try:
                return await audience.listen(context, params)
            finally:
                audience.streams -= 1

    async def subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Serve `resources/subscribe`."""
        connection = connection_of(context)
        ends: dict[str, End] = connection.state.setdefault(_SUBSCRIBED, {})
        if params.uri not in ends:
            await explained(_checked(len(ends) + 1))
            ends[params.uri] = _nothing  # counted while the server is asked
            try:
                followed = self._follow(current_caller(self._services), params.uri, connection.send_resource_updated)
                ends[params.uri] = end = await explained(followed)
            except BaseException:
                ends.pop(params.uri, None)
                raise
            connection.exit_stack.push_async_callback(end)
        return EmptyResult()

    async def unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Serve `resources/unsubscribe`."""
        ends: dict[str, End] = connection_of(context).state.get(_SUBSCRIBED, {})
        if (end := ends.pop(params.uri, None)) is not None:
            await explained(end())
        return EmptyResult()

    async def _follow(self, caller: Caller, uri: str, tell: Callable[[str], Awaitable[None]]) -> End:
        """Have every change of a resource told; what is returned ends that."""
        if await self._reading.follows(caller, uri):
            return await self._follow_file(caller, uri, tell)
        config, own = await self._reading.locate(caller, uri)

        def heard(_: str) -> None:
            telling = asyncio.ensure_future(tell(uri))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

        await self._services.upstreams.subscribe(config, own, heard)

        async def end() -> None:
            with suppress(ThresherError):  # its server is gone, and the subscription with it
                await self._services.upstreams.unsubscribe(config, own, heard)

        return end

    async def _follow_file(self, caller: Caller, uri: str, tell: Callable[[str], Awaitable[None]]) -> End:
        files = (await self._audience(caller)).files
        files.append(file := _File(uri, await self._skills.digest(caller, uri), tell))

        async def end() -> None:
            with suppress(ValueError):  # ended already
                files.remove(file)

        return end

    async def _audience(self, caller: Caller) -> _Audience:
        owner = caller.place, caller.expose
        if (audience := self._audiences.get(owner)) is None:
            audience = self._audiences[owner] = _Audience(caller)
            await self._look(audience)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        return audience

    async def _watch(self) -> None:
        """Compare for as long as anybody listens; looking at intervals also sees what other processes have changed."""
        loop, took = asyncio.get_running_loop(), 0.0
        while self._audiences:
            await asyncio.sleep(took)  # of a large catalogue, each of many changes in a row is not worth a look
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_SECONDS)
            self._changed.clear()
            began = loop.time()
            for owner, audience in list(self._audiences.items()):
                if not audience.connections and not audience.streams and not audience.files:
                    del self._audiences[owner]
                    continue
                try:
                    for kind in await self._look(audience):
                        await audience.tell(kind)
                    await self._look_at_files(audience)
                except ThresherError as error:
                    event(logger, "changes not seen", level=logging.WARNING, reason=error.message)
            took = loop.time() - began

    async def _look(self, audience: _Audience) -> list[str]:
        """The lists that have changed since the last look."""
        stand = await self._lists.stand(audience.caller)
        if stand == audience.stand:
            return []
        former, audience.digest = audience.digest, await self._lists.digest(audience.caller, stand)
        audience.stand = stand
        return [kind for kind, digest in audience.digest.items() if former and former[kind] != digest]

    async def _look_at_files(self, audience: _Audience) -> None:
        """Tell those who follow a file of a pack that it has changed, or come back; one that has gone is not told."""
        for file in list(audience.files):
            digest = await self._skills.digest(audience.caller, file.uri)
            if digest is not None and digest != file.digest:
                file.digest = digest
                await file.tell(file.uri)

    async def close(self) -> None:
        """Stop looking, and end the streams that listen."""
        self._unfollow()
        self._unfollow = lambda: None
        for audience in self._audiences.values():
            audience.listen.close()
        self._audiences.clear()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
