"""Fitted routers: read from the database by content, made where there is none, shared by all who have the same packs.

Invariant: nobody who asks for a fit waits for it; it is made in a thread, from vectors that the cache keeps, and stored
for its tenant under all that it rests on, so that the same packs under the same model are fitted once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from thresher.core import EncoderError, InvalidInput, StoreUnavailable, Tenant, event
from thresher.embedding import Encoder
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.queries import StoredFit
from thresher.knowledge.intents.router.everyday import EVERYDAY
from thresher.knowledge.intents.router.fitted import EDITION, Fitted, unpacked
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.records import Vectors
from thresher.knowledge.intents.training import Lesson
from thresher.search import text_vectors
from thresher.store import Database, run_retrying

logger = logging.getLogger("thresher.knowledge")
T = TypeVar("T")

_FITS: Final = 16
"""Fits kept in memory: a fit of built-in packs takes some 100 kB, one of 15,000 lines some 20 MB."""
_RETRY_SECONDS: Final = 30.0
"""How long a fit that failed is not tried again."""
_TOUCH_SECONDS: Final = 12 * 3600.0
"""How often a fit in use is noted to be in use."""
_NICE: Final = 10
_BACKGROUND: Final = hashlib.sha256("\n".join(EVERYDAY).encode()).digest()


@dataclass(frozen=True, slots=True)
class Trained:
    """A fit in use.

    Attributes:
        fitted: The router.
        lesson: What it was fitted on.
        embedded: Lines that had to be embedded for it; 0 when all were known, or the fit itself was.
        stored: Whether it was read from the database, and not made now.
        fit_ms: How long fitting took, now or when it was made.
    """

    fitted: Fitted
    lesson: Lesson
    embedded: int
    stored: bool
    fit_ms: float


class Fits:
    """The fits of one process."""

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder
        self._trained: OrderedDict[bytes, Trained] = OrderedDict()
        self._jobs: dict[tuple[int, bytes], asyncio.Task[None]] = {}
        self._problems: dict[bytes, tuple[str, float]] = {}
        self._noted: dict[tuple[int, bytes], float] = {}
        self._threads = ThreadPoolExecutor(1, "thresher-fit", initializer=_step_back)
        self.made = 0
        """Fits that this process has made, and not found."""

    def get(self, tenant: Tenant, lesson: Lesson) -> Trained | None:
        """The fit, if it is at hand; if not, it soon is."""
        trained = self._trained.get(lesson.digest)
        if trained is not None:
            self._trained.move_to_end(lesson.digest)
        noted = self._noted.get((tenant.id, lesson.digest))
        if trained is None or noted is None or time.monotonic() - noted > _TOUCH_SECONDS:
            self._begin(tenant, lesson)
        return trained

    def problem(self, lesson: Lesson) -> str:
        """Why there is no fit and none is being made; empty otherwise."""
        return self._problems.get(lesson.digest, ("", 0.0))[0]

    async def wait(self, tenant: Tenant, lesson: Lesson, seconds: float | None = None) -> Trained | None:
        """The fit, once it is made; None when that fails, or takes longer than so many seconds."""
        if (trained := self.get(tenant, lesson)) is not None:
            return trained
        if (job := self._jobs.get((tenant.id, lesson.digest))) is not None:
            await asyncio.wait([job], timeout=seconds)
        return self._trained.get(lesson.digest)

    async def settle(self) -> None:
        """Wait until no fit is being made."""
        while self._jobs:
            await asyncio.wait(list(self._jobs.values()))

    async def close(self) -> None:
        """Make no more."""
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

    def _begin(self, tenant: Tenant, lesson: Lesson) -> None:
        key = tenant.id, lesson.digest
        failed = self._problems.get(lesson.digest)
        if key in self._jobs or (failed is not None and time.monotonic() - failed[1] < _RETRY_SECONDS):
            return
        job = asyncio.create_task(self._work(tenant, lesson))
        self._jobs[key] = job
        job.add_done_callback(lambda _: self._jobs.pop(key, None))

    async def _work(self, tenant: Tenant, lesson: Lesson) -> None:
        try:
            model = await _model_id(self._encoder)
            await self._obtain(tenant, lesson, model)
        except (EncoderError, StoreUnavailable) as error:
            self._problems[lesson.digest] = error.message, time.monotonic()
            event(logger, "router not fitted", level=logging.WARNING, tenant=tenant.id, reason=str(error))
        except Exception:
            self._problems[lesson.digest] = "the router cannot be fitted", time.monotonic()
            logger.exception("router not fitted")
        else:
            self._problems.pop(lesson.digest, None)

    async def _obtain(self, tenant: Tenant, lesson: Lesson, model: str) -> None:
        name = _name(lesson, model)
        known = self._trained.get(lesson.digest)
        touched = await run_retrying(self._database, tenant, lambda run: queries.touch_fit(run, tenant, name))
        if known is None:
            known = await self._read(tenant, lesson, name) if touched else None
        if known is None or not touched:
            known = await self._made(tenant, lesson, model, name, known)
        self._noted[tenant.id, lesson.digest] = time.monotonic()
        self._trained[lesson.digest] = known
        while len(self._trained) > _FITS:
            self._trained.popitem(last=False)

    async def _read(self, tenant: Tenant, lesson: Lesson, name: bytes) -> Trained | None:
        async with self._database.transaction(tenant) as connection:
            stored = await queries.read_fit(connection, tenant, name)
        if stored is None:
            return None
        try:
            fitted = await self._threaded(lambda: unpacked(stored.packed))
        except InvalidInput:
            event(logger, "stored fit not readable", level=logging.WARNING, tenant=tenant.id)
            return None
        return Trained(fitted, lesson, 0, stored=True, fit_ms=stored.fit_ms)

    async def _made(self, tenant: Tenant, lesson: Lesson, model: str, name: bytes, known: Trained | None) -> Trained:
        """Make the fit, or take the one that another tenant's equal packs have given, and store it."""
        training = lesson.training
        texts = [*training.lines, *training.negatives, *EVERYDAY]
        found = await text_vectors(self._database, tenant, self._encoder, texts, prefixed=True)
        if known is None:
            lines, others = len(training.lines), len(training.lines) + len(training.negatives)
            vectors = Vectors(found.vectors[:lines], found.vectors[lines:others], found.vectors[others:])
            known = await self._fitted(tenant, lesson, vectors, found.embedded)
        fitted, fit_ms = known.fitted, known.fit_ms
        packed = StoredFit(await self._threaded(fitted.packed), fit_ms)
        hashes = list(dict.fromkeys(found.hashes))
        await run_retrying(
            self._database, tenant, lambda run: queries.put_fit(run, tenant, name, model, hashes, packed)
        )
        return known

    async def _fitted(self, tenant: Tenant, lesson: Lesson, vectors: Vectors, embedded: int) -> Trained:
        started = time.perf_counter()
        fitted = await self._threaded(lambda: fit(lesson.training, vectors))
        took = (time.perf_counter() - started) * 1000
        self.made += 1
        counts = {"intents": len(lesson.training.intents), "lines": len(lesson.training.lines), "embedded": embedded}
        event(logger, "router fitted", tenant=tenant.id, counts=counts, ms=round(took, 1))
        return Trained(fitted, lesson, embedded, stored=False, fit_ms=took)

    async def _threaded(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _step_back() -> None:
    """Let the thread of the event loop go first, where threads have a priority of their own (Linux)."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


async def _model_id(encoder: Encoder) -> str:
    """The running model's id, without loading it where it is known; a service is asked."""
    known = await asyncio.to_thread(lambda: encoder.model.id)
    return known or (await encoder.warm()).id


def _name(lesson: Lesson, model: str) -> bytes:
    """What a fit is stored under: all that it rests on."""
    return hashlib.sha256(b"%d\0%s\0%s%s" % (EDITION, model.encode(), _BACKGROUND, lesson.digest)).digest()
