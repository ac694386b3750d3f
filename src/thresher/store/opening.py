"""From settings to a database that is ready for use, embedded or external.

Invariant: when the block ends, by whatever way, connections are closed and the server that we started has stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from thresher.core import ConfigurationError, Settings
from thresher.store.embedded import EmbeddedServer
from thresher.store.engine import Database
from thresher.store.postmaster import Progress
from thresher.store.schema import application_role, migrate


@asynccontextmanager
async def open_store(settings: Settings, *, progress: Progress | None = None) -> AsyncGenerator[Database]:
    """Yield the database of these settings.

    With `THRESHER_DATABASE_URL` it is that one, which `thresher migrate` must have prepared. Without it the embedded
    server is started and migrated, and started again whenever its process ends.

    Raises:
        ThresherError: See `EmbeddedServer.start` and `Database.open`.
    """
    if settings.database_url is not None:
        async with _opened(settings.database_url.get_secret_value()) as database:
            yield database
        return
    server = await EmbeddedServer.start(settings, progress=progress)
    supervision = asyncio.create_task(server.supervise())
    try:
        await asyncio.to_thread(migrate, server.owner_url)
        async with _opened(server.application_url) as database:
            yield database
    finally:
        supervision.cancel()
        with suppress(asyncio.CancelledError):
            await supervision
        await server.stop()


@asynccontextmanager
async def _opened(url: str) -> AsyncGenerator[Database]:
    database = await Database.open(url)
    try:
        yield database
    finally:
        await database.close()


def migrate_external(settings: Settings, *, keep: bool = True) -> tuple[str | None, str]:
    """What `thresher migrate` does to an external database.

    Args:
        settings: With both addresses.
        keep: False rolls everything back in the end.

    Returns:
        The revision before (None: no schema of ours) and after.

    Raises:
        ConfigurationError: One of the two addresses is missing, or the owner lacks a right.
    """
    if settings.migration_url is None or settings.database_url is None:
        raise ConfigurationError(
            "To migrate an external database, two addresses are needed.",
            hint="Set THRESHER_MIGRATION_URL (owner role) and THRESHER_DATABASE_URL (application role). The embedded "
            "database migrates itself at each start.",
        )
    role = application_role(settings.database_url.get_secret_value())
    return migrate(settings.migration_url.get_secret_value(), application_role=role, keep=keep)
