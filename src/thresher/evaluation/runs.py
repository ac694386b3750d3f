"""What evaluations share: a temporary tenant, progress, and the pause between questions."""

from __future__ import annotations

import asyncio
import platform
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from thresher.core import Caller
from thresher.store import Database

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""

PAUSE_SECONDS = 0.02
"""Pause between two questions: without it they are twice as fast as those of users."""

_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)


@asynccontextmanager
async def temporary_tenant(database: Database, name: str) -> AsyncGenerator[Caller]:
    """A caller of an empty tenant, which is removed at the end, also of a run that is cancelled.

    Runs of one name wait for each other; a run that was killed is cleaned up by the next one.

    Args:
        database: The database of the tenant.
        name: The name of the tenant, to which that of the machine is added.
    """
    async with _locks[name]:
        full_name = f"{name}@{platform.node()}"
        await database.drop_tenant(await database.tenant(full_name))
        tenant = await database.tenant(full_name)
        try:
            yield Caller(tenant)
        finally:
            await asyncio.shield(database.drop_tenant(tenant))
