"""Connections to the database, the translation of their errors, and text that it can store.

A connection that is dropped while it signs in would stay until garbage collection: it would take one of the server's
places and delay every `DROP DATABASE` of the server until `authentication_timeout`, a minute. The server notices at
once when a process ends, and within a minute when a machine vanishes.

Invariant: a connection whose caller was cancelled is closed as soon as it exists, half-made or whole. Only errors of
the server and the connection are translated; a violated constraint or a wrong statement reaches its author unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import ConnectionTimeout
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from thresher.core import ConfigurationError, StoreError, StoreUnavailable, ThresherError

_FULL_DISK = ("No space left on device", "File too large", "Disk quota exceeded")
# Connection exceptions, shutdown, crash, start-up, and no free connection slot.
_LOST = ("08", "57P", "53300")
_REFUSED = (
    "password authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied for database",
)
# Serialisation failure and deadlock: PostgreSQL asks for the transaction again.
_REPEATABLE = ("40001", "40P01")


@contextmanager
def translated() -> Generator[None]:
    """Raise Thresher's errors for database errors in the block."""
    try:
        yield
    except (DBAPIError, PoolTimeout, psycopg.Error) as error:
        if (ours := explain(error)) is None:
            raise
        raise ours from error


def explain(error: BaseException) -> ThresherError | None:
    """Return Thresher's error for one of SQLAlchemy or the driver; None if it should reach its author."""
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(
            "All database connections of this process are in use.", hint="Retry; or send fewer requests at once."
        )
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, psycopg.Error):
        return None
    text, state = " ".join(str(cause).split()), cause.sqlstate or ""
    if state == "53100" or any(words in text for words in _FULL_DISK):
        return StoreError(
            f"The database cannot write: its disk is full or a file-size limit is reached ({text}).",
            hint="Free space where the database lies (or raise the limit); nothing was half-written.",
        )
    if _is_lost(error, cause, state):
        return _unreachable(text)
    return None


def _is_lost(error: BaseException, cause: psycopg.Error, state: str) -> bool:
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return state.startswith(_LOST) or (isinstance(cause, psycopg.OperationalError) and not state)


def _unreachable(text: str) -> ThresherError:
    if "FATAL" in text and any(words in text for words in _REFUSED):
        return ConfigurationError(
            f"The database refuses the connection: {text}",
            hint="Check role, password and database name in THRESHER_DATABASE_URL and THRESHER_MIGRATION_URL.",
        )
    return StoreUnavailable(
        f"The database cannot be reached: {text}",
        hint="Check that the server runs and that the address is right; `thresher doctor` tells more.",
    )


def is_repeatable(error: BaseException) -> bool:
    """Return whether PostgreSQL rolled the transaction back and asks for it again."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(cause, psycopg.Error) and cause.sqlstate in _REPEATABLE


# A machine that vanished closes nothing: the server probes it after half a minute. (Ignored on a local socket.)
_WATCHED: Final = "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"


async def connect_watched(address: str) -> psycopg.AsyncConnection:
    """Connect outside of the pool, with autocommit; the caller closes the connection.

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
"""Time limit for signing in, and again for the preparation; a machine that vanished gives no answer at all."""


async def connect(address: str, prepare: Preparation) -> AsyncConnection[Any]:
    """Connect with autocommit; the caller closes the connection.

    Args:
        address: libpq address of the database.
        prepare: Prepares the connection for use.

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


def clean(text: str) -> str:
    """Return the text without characters that PostgreSQL cannot store."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def clean_json(value: Any) -> Any:
    """Return a JSON value without what PostgreSQL cannot store in one."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list | tuple):
        return [clean_json(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    return value
