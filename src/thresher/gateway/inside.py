"""Opens clients of the gateway inside this process: for what asks on a caller's behalf, and sees no more than a client.

Invariant: such a client speaks the protocol like any other, over memory in place of a connection, and every request of
it is served for the caller that it was opened for.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client, FastMCP
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from thresher.core import Caller, acting_for


@asynccontextmanager
async def open_inside(server: FastMCP[Any], caller: Caller) -> AsyncGenerator[Client[Any]]:
    """A client of the gateway for a caller; `caller.client` names its session.

    Args:
        server: The gateway, whose lifespan is already running.
        caller: For whom it asks.
    """
    with acting_for(caller):
        async with Client(server, mode=max(MODERN_PROTOCOL_VERSIONS)) as client:
            yield client
