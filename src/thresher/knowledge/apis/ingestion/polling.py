"""Checks the sources of descriptions for changes on their schedules, those of all tenants.

A source is taken up for a while, by one daemon, which asks its server with the validators of the last answer (`ETag`,
`Last-Modified`): what has not changed is not sent.

Invariant: a source is read as by the caller who added it; one that cannot be read leaves the last good content.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from thresher.core import Settings, Tenant, ThresherError, event
from thresher.knowledge.apis import queries
from thresher.store import Database

_logger = logging.getLogger("thresher.knowledge")

LOOK_SECONDS: Final = 5.0
"""How often sources that are due are taken up."""
CLAIM_SECONDS: Final = 150.0
"""How long no other daemon takes up a source: longer than its download and the parsing of a large one together."""
_MOST: Final = 16
"""Sources of a tenant that are taken up at once."""
_CHECKS: Final = 4
"""Checks at once."""

Check: TypeAlias = Callable[[Tenant, int], Awaitable[float]]
"""Checks the source of a version; returns the seconds until the next check."""


class DescriptionPoller:
    """Checks sources for as long as it runs; one for each daemon.

    Args:
        database: Where descriptions are stored.
        settings: Whether and how often sources are checked.
        check: Checks one source.
    """

    def __init__(self, database: Database, settings: Settings, check: Check) -> None:
        self._database = database
        self._settings = settings
        self._check = check
        self._claimant = secrets.token_hex(8)
        self._checks = asyncio.Semaphore(_CHECKS)
        self._tasks: dict[tuple[int, int], asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Check sources until cancelled."""
        if self._settings.watch == "off":
            return
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        try:
            taken = await queries.take_up_descriptions(self._database, CLAIM_SECONDS, _MOST, self._claimant)
        except ThresherError as error:
            event(_logger, "descriptions not taken up", level=logging.WARNING, reason=error.message)
            return
        for key in taken:
            if key not in self._tasks:
                self._tasks[key] = task = asyncio.create_task(self._poll(Tenant(key[0], ""), key[1]))
                task.add_done_callback(lambda _, key=key: self._tasks.pop(key, None))

    async def _poll(self, tenant: Tenant, version: int) -> None:
        """Check a source once, then give it back."""
        after = float(self._settings.check_seconds)
        try:
            async with self._checks:
                if await self._keep(tenant, version, CLAIM_SECONDS):  # it may have waited for longer
                    after = await self._check(tenant, version)
        except asyncio.CancelledError:
            after = 0.0
            raise
        except ThresherError as error:
            reason = error.message
            event(_logger, "description not checked", level=logging.WARNING, tenant=tenant.id, reason=reason)
        finally:
            with suppress(ThresherError):
                await asyncio.shield(self._keep(tenant, version, after))

    async def _keep(self, tenant: Tenant, version: int, seconds: float) -> bool:
        async with self._database.transaction(tenant) as link:
            return await queries.keep_version(link, tenant, version, seconds, self._claimant)
