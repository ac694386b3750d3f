"""`/healthz` and `/readyz`: for whoever watches the process.

Invariant: they need no key, so they tell no secret, and however often they are asked the database is asked once a
second at most.
"""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from thresher.api.models import Readiness
from thresher.core import EncoderError, SchemaMismatch, StoreUnavailable, ThresherError
from thresher.embedding import Encoder
from thresher.store import Database

ANSWER_SECONDS = 2.0
"""How long the database may take."""
LOAD_SECONDS = 0.2
"""How long an encoder may take that is loaded."""
FRESH_SECONDS = 1.0


class Watch:
    """What readiness is made of.

    Args:
        database: Must answer.
        encoder: May be missing: searches then go by words alone.
    """

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder
        self._asking = asyncio.Lock()
        self._last: tuple[float, Readiness] | None = None

    async def readiness(self) -> Readiness:
        """How it is, or was a moment ago."""
        async with self._asking:
            if self._last is None or time.monotonic() >= self._last[0]:
                found = await self._look()
                self._last = (time.monotonic() + FRESH_SECONDS, found)
            return self._last[1]

    async def _look(self) -> Readiness:
        reasons = await self._missing()
        return Readiness(status="not ready" if reasons else "ready", reasons=reasons, encoder=await self._encoding())

    async def _missing(self) -> list[str]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database.check()
        except TimeoutError:
            return [f"The database does not answer within {ANSWER_SECONDS:.0f} seconds."]
        except StoreUnavailable:
            return ["The database cannot be reached."]
        except SchemaMismatch:
            return ["The database's schema is of another version: run thresher migrate."]
        except ThresherError:
            return ["The database refuses Thresher's role or lacks what it needs: see thresher doctor."]
        return []

    async def _encoding(self) -> str:
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                await self._encoder.warm()
        except TimeoutError:
            return "not loaded yet"
        except EncoderError:
            return "cannot be used, searches go by words alone: see thresher doctor"
        return "ready"


def health_router(watch: Watch) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:  # pyright: ignore[reportUnusedFunction] - a route
        """The process lives."""
        return "ok\n"

    @router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready; the reasons say why."}})
    async def readyz(response: Response) -> Readiness:  # pyright: ignore[reportUnusedFunction] - a route
        """Requests can be answered."""
        found = await watch.readiness()
        response.status_code = 200 if found.status == "ready" else 503
        return found

    return router
