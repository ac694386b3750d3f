"""Turns what PostgreSQL and its driver raise into our errors, with a way out.

Invariant: only conditions of the server and the connection are translated; a broken constraint or a wrong statement
reaches its author as it is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
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
    """Raise our errors for what the block meets in the database."""
    try:
        yield
    except (DBAPIError, PoolTimeout, psycopg.Error) as error:
        if (ours := explain(error)) is None:
            raise
        raise ours from error


def explain(error: BaseException) -> ThresherError | None:
    """Our error for one of SQLAlchemy's or the driver's; None when it is its author's business."""
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
    """Whether PostgreSQL undid the transaction and asks for it again."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(cause, psycopg.Error) and cause.sqlstate in _REPEATABLE
