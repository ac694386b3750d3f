"""Opens clients of the gateway inside this process: for what asks on a caller's behalf, and sees no more than a client.

Invariant: such a client speaks the protocol like any other, over memory in place of a connection, and every request of
it is served for the caller, and in the conversation, that it was opened for, whichever task sends it. It knows tools of
packs by name, and `tools/list` shows them to it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any, Unpack

import anyio
from fastmcp import Client, FastMCP
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from thresher.core import Caller, acting_for


@asynccontextmanager
async def open_inside(
    server: FastMCP[Any], caller: Caller, *, mode: str = max(MODERN_PROTOCOL_VERSIONS)
) -> AsyncGenerator[Client[Any]]:
    """A client of the gateway for a caller; `caller.client` names its session.

    Args:
        server: The gateway, whose lifespan is already running.
        caller: For whom it asks.
        mode: The revision of the protocol that it speaks; `legacy`: the newest with sessions.
    """
    async with AsyncExitStack() as stack:
        with acting_for(replace(caller, expose="own")):  # while it is opened; what uses it may go on in other tasks
            client = await stack.enter_async_context(Client(_Memory(server), mode=mode))
        yield client


@cache
def _trusting(kind: type[ClientSession]) -> type[ClientSession]:
    """A session that does not hold results against the schemas of a listing.

    The gateway passes results on as they came, and the other end is this process: checking its own listing anew for
    each client takes longer than the calls do, and a tool that is not listed would have everything listed again.
    """

    class Trusting(kind):
        async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
            return

    return Trusting


class _Memory(ClientTransport):
    """Messages over memory. FastMCP's own transport serves each in the context of the task that sends it.

    Args:
        server: The gateway.
    """

    def __init__(self, server: FastMCP[Any]) -> None:
        self._server = server

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport.connect_session`."""
        low_level = self._server._mcp_server  # pyright: ignore[reportPrivateUsage] - FastMCP's own transports use it so
        kind = _trusting((transport_options or TransportOptions()).session_class)
        asked_in, asked = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        told_in, told = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        failure: BaseException | None = None
        async with (
            self._server._lifespan_manager(),  # pyright: ignore[reportPrivateUsage] - as above
            asked_in,
            asked,
            told_in,
            told,
            anyio.create_task_group() as serving,
        ):
            serving.start_soon(low_level.run, asked, told_in, low_level.create_initialization_options())
            try:
                async with kind(read_stream=told, write_stream=asked_in, **session_kwargs) as session:
                    yield session
            except BaseException as error:  # noqa: BLE001 - as it is, and not inside a group
                failure = error
            finally:
                serving.cancel_scope.cancel()
        if failure is not None:
            raise failure
