"""A connection of its own that stands for a process: what it holds in the database goes when the process does.

Invariant: the server notices a process that ended at once, and a machine that vanished within a minute.
"""

from __future__ import annotations

from typing import Final

import psycopg

from thresher.core import StoreUnavailable
from thresher.store.connecting import connect

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
