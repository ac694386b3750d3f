"""Notifies clients of changes: of their lists, and of the resources that they have subscribed to.

Invariant: a client is only notified of changes in what it can see; however a connection ends, its subscriptions end
with it.
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

from thresher.core import Caller, Expose, InvalidInput, ThresherError, acting_or, event
from thresher.gateway.callers import connection_of
from thresher.gateway.errors import explained
from thresher.gateway.lists import Lists, ListState
from thresher.gateway.resources import Resources
from thresher.gateway.skills import Skills
from thresher.services import Services

logger = logging.getLogger("thresher.gateway")

Context: TypeAlias = ServerRequestContext[Any, Any]
End: TypeAlias = Callable[[], Awaitable[None]]
Owner: TypeAlias = tuple[tuple[int, str | None, str, bool], Expose | None]

MOST_RESOURCES = 100
"""The most resources of one connection or listening stream: a server's own limit is for all its callers."""
LOOK_SECONDS = 0.25
"""The interval between comparisons of listeners' lists with the catalogue; a change by this process shows at once."""

_SUBSCRIBED = "thresher.subscribed"
_EVENTS: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


async def _checked(count: int) -> None:
    """Refuse more resources than one connection may follow.

    Raises:
        InvalidInput: There are too many.
    """
    if count > MOST_RESOURCES:
        raise InvalidInput(
            f"One connection follows up to {MOST_RESOURCES} resources.", hint="Unsubscribe from some of them."
        )


async def _nothing() -> None:
    """The end of a subscription that has not begun."""


class _Audience:
    """Listeners that see the same: connections of the handshake era, and streams of the stateless one."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.connections: set[Connection] = set()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self.streams = 0
        self.state: ListState | None = None
        self.digest: dict[str, int] = {}
        self.files: list[_File] = []

    async def notify(self, kind: str) -> None:
        """Notify the listeners that a list has changed."""
        await self.bus.publish(_EVENTS[kind])
        for connection in list(self.connections):
            await connection.notify(f"notifications/{kind}/list_changed", None)


@dataclass(eq=False)
class _File:
    """A file of a pack with a subscription: its hash at the last notification, and how to notify."""

    uri: str
    digest: str | None
    notify: Callable[[str], Awaitable[None]]


class Subscriptions:
    """The listeners; one per process.

    Args:
        services: The catalogue and the sessions.
        lists: The lists that are compared.
        resources: Finds the server of an address.
        skills: The files of packs.
    """

    def __init__(self, services: Services, lists: Lists, resources: Resources, skills: Skills) -> None:
        self._services = services
        self._lists = lists
        self._resources = resources
        self._skills = skills
        self._audiences: dict[Owner, _Audience] = {}
        self._watching: asyncio.Task[None] | None = None
        self._notifying: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        self._unfollow = services.tools.follow(self._changed.set)

    async def initialized(self, context: Context, _: NotificationParams) -> None:
        """Notify a session of the handshake era of changes from now on: it is ready."""
        connection = connection_of(context)
        audience = await self._audience(acting_or(self._services.caller))
        audience.connections.add(connection)
        connection.exit_stack.callback(audience.connections.discard, connection)

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve `subscriptions/listen`."""
        caller = acting_or(self._services.caller)
        audience = await explained(self._audience(caller))

        async def notify(uri: str) -> None:
            await audience.bus.publish(ResourceUpdated(uri))

        followed = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        await explained(_checked(len(followed)))
        async with AsyncExitStack() as stack:
            for uri in followed:
                with suppress(ThresherError):  # such as an address that no server has: accepted, and never notified
                    stack.push_async_callback(await self._follow(caller, uri, notify))
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
            ends[params.uri] = _nothing  # it counts while the server is asked
            try:
                followed = self._follow(acting_or(self._services.caller), params.uri, connection.send_resource_updated)
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

    async def _follow(self, caller: Caller, uri: str, notify: Callable[[str], Awaitable[None]]) -> End:
        """Notify of every change of a resource. Returns the function that ends it."""
        if await self._resources.is_pack_file(caller, uri):
            return await self._follow_file(caller, uri, notify)
        config, own = await self._resources.locate(caller, uri)

        def changed(_: str) -> None:
            notifying = asyncio.ensure_future(notify(uri))
            self._notifying.add(notifying)
            notifying.add_done_callback(self._notifying.discard)

        await self._services.upstreams.subscribe(config, own, changed)

        async def end() -> None:
            with suppress(ThresherError):  # its server is gone, and the subscription with it
                await self._services.upstreams.unsubscribe(config, own, changed)

        return end

    async def _follow_file(self, caller: Caller, uri: str, notify: Callable[[str], Awaitable[None]]) -> End:
        files = (await self._audience(caller)).files
        files.append(file := _File(uri, await self._skills.digest(caller, uri), notify))

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
        """Compare while there are listeners; comparing at intervals also finds changes by other processes."""
        loop, took = asyncio.get_running_loop(), 0.0
        while self._audiences:
            await asyncio.sleep(took)  # many changes of a large catalogue in a row are compared together
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
                        await audience.notify(kind)
                    await self._look_at_files(audience)
                except ThresherError as error:
                    event(logger, "changes not seen", level=logging.WARNING, reason=error.message)
            took = loop.time() - began

    async def _look(self, audience: _Audience) -> list[str]:
        """Return the lists that have changed since the last comparison."""
        state = await self._lists.state(audience.caller)
        if state == audience.state:
            return []
        former, audience.digest = audience.digest, await self._lists.digest(audience.caller, state)
        audience.state = state
        return [kind for kind, digest in audience.digest.items() if former and former[kind] != digest]

    async def _look_at_files(self, audience: _Audience) -> None:
        """Notify of files of packs that have changed or come back; a removed file is not notified."""
        for file in list(audience.files):
            digest = await self._skills.digest(audience.caller, file.uri)
            if digest is not None and digest != file.digest:
                file.digest = digest
                await file.notify(file.uri)

    async def close(self) -> None:
        """Stop comparing, and end the streams that listen."""
        self._unfollow()
        self._unfollow = lambda: None
        for audience in self._audiences.values():
            audience.listen.close()
        self._audiences.clear()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
