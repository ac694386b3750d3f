"""Makes connections of which none is left behind, neither half made nor whole, when whoever asked is cancelled.

Invariant: a connection that nobody took is closed as soon as it is there. Dropped in the middle of signing in, it
would stay until the garbage collector found it: a place of the server's taken for nothing, and each `DROP DATABASE`
of the whole server held up until the server loses its patience (`authentication_timeout`, a minute). The server
notices a process that ended at once, and a machine that vanished within a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import ConnectionTimeout

from thresher.core import StoreUnavailable

# A machine that vanished says no goodbye: the server asks for it after half a minute. (Ignored on a local socket.)
_WATCHED: Final = "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"


async def connect_watched(address: str) -> psycopg.AsyncConnection:
    """Connect outside of the pool, each statement a transaction of its own; whoever asks closes it.

    Args:
        address: libpq address of the database.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    try:
        return await connect(address, lambda connection: connection.execute(_WATCHED))
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"The database cannot be reached: {error}", hint="Retry.") from error


Preparation: TypeAlias = Callable[[AsyncConnection[Any]], Awaitable[object]]

SECONDS: Final = 10
"""To sign in, and again for what has to be done then; a machine that vanished gives no answer at all."""


async def connect(address: str, prepare: Preparation) -> AsyncConnection[Any]:
    """Connect, each statement a transaction of its own; whoever asks closes it.

    Args:
        address: libpq address of the database.
        prepare: What else has to be done before the connection can be used.

    Raises:
        psycopg.Error: The database cannot be reached, refuses, does not answer in time, or `prepare` failed.
    """
    opening = asyncio.ensure_future(_opened(address, prepare))
    try:
        return await asyncio.shield(opening)
    except BaseException:
        opening.add_done_callback(_let_go)
        raise


async def _opened(address: str, prepare: Preparation) -> AsyncConnection[Any]:
    connection = await AsyncConnection.connect(address, autocommit=True, connect_timeout=SECONDS)
    limit = asyncio.timeout(SECONDS)
    try:
        async with limit:
            await prepare(connection)
    except BaseException as error:
        connection.pgconn.finish()
        if isinstance(error, TimeoutError) and limit.expired():
            raise ConnectionTimeout(f"no answer within {SECONDS} s after signing in") from None
        raise
    return connection


def _let_go(opening: asyncio.Future[AsyncConnection[Any]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().pgconn.finish()
