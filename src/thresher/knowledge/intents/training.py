"""From packs to fitted routers: the training set of packs, and fits stored by content and shared by equal packs.

A caller that asks for a fit never waits for it; it is made in a thread, from cached vectors, and stored for its tenant
under everything that it rests on, so that the same packs under the same model are fitted once.

Invariant: the digest of a training set changes exactly when something changes that a fit rests on; the order in which
packs were found does not matter.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from cachetools import LRUCache

from thresher.core import EncoderError, InvalidInput, StoreUnavailable, Tenant, event
from thresher.embedding import Encoder, Matrix
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.models import EditEffect, Pack, Packs
from thresher.knowledge.intents.queries import StoredFit
from thresher.knowledge.intents.router.fitted import EDITION, Fitted, unpacked
from thresher.knowledge.intents.router.fitting import Turns, fit
from thresher.knowledge.intents.router.held_out import HeldOutScores, effect_of, held_out_scores, turns_of
from thresher.knowledge.intents.router.lexicon import Lexicon, lexicon_of
from thresher.knowledge.intents.router.records import EVERYDAY, Training, Vectors
from thresher.knowledge.intents.router.skills import skill_text
from thresher.search import TextVectors, text_vectors
from thresher.store import Database, run_retrying


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """What a router is fitted on.

    Attributes:
        training: Lines, negatives and keywords.
        digest: SHA-256 over all of them.
        lexicon: Their words, which decide while nothing is fitted.
    """

    training: Training
    digest: bytes
    lexicon: Lexicon


def training_set_of(packs: Packs) -> TrainingSet:
    """Return the training set of all active packs with lines; others apply by file, always, or by name."""
    taught = sorted(
        (pack for pack in packs.active if lines_of(pack)), key=lambda pack: (pack.form != "pack", pack.name)
    )
    lines = [(index, line) for index, pack in enumerate(taught) for line in lines_of(pack)]
    negatives = [(index, line) for index, pack in enumerate(taught) for line in negatives_of(pack)]
    training = Training(
        intents=tuple(pack.name for pack in taught),
        lines=tuple(line for _, line in lines),
        labels=np.array([index for index, _ in lines], np.int32),
        negatives=tuple(line for _, line in negatives),
        negative_labels=np.array([index for index, _ in negatives], np.int32),
        keywords=tuple(pack.keywords for pack in taught),
        skills=tuple(
            skill_text(pack.name, pack.description, pack.rules, pack.words) for pack in taught if pack.form != "pack"
        ),
    )
    return TrainingSet(training, _digest(training), lexicon_of(training))


def lines_of(pack: Pack) -> tuple[str, ...]:
    """Return the lines that teach a pack's intent; a skill's questions are among them, those of a pack are held out."""
    asked = tuple(query.query for query in pack.evals if query.should_trigger) if pack.form == "skill" else ()
    return tuple(dict.fromkeys((*pack.examples, *asked)))


def negatives_of(pack: Pack) -> tuple[str, ...]:
    """Return the lines that teach what a pack's intent is not."""
    asked = tuple(query.query for query in pack.evals if not query.should_trigger) if pack.form == "skill" else ()
    return tuple(dict.fromkeys((*pack.not_examples, *asked)))


def _digest(training: Training) -> bytes:
    parts = [
        training.intents,
        training.lines,
        training.labels.tolist(),
        training.negatives,
        training.negative_labels.tolist(),
        training.keywords,
        [(skill.gist, skill.passages, sorted(skill.words.items())) for skill in training.skills],
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()


logger = logging.getLogger("thresher.knowledge")
T = TypeVar("T")

_FITS: Final = 16
"""Fits kept in memory: a fit of built-in packs takes about 100 kB, one of 15,000 lines about 20 MB."""
_HELD_OUT: Final = 4
"""Cross-validations kept in memory: whoever edits a pack checks it more than once."""
_RETRY_SECONDS: Final = 30.0
"""How long a failed fit is not tried again."""
_TOUCH_SECONDS: Final = 12 * 3600.0
"""How often the use of a fit is recorded."""
_NICE: Final = 10
_BACKGROUND: Final = hashlib.sha256("\n".join(EVERYDAY).encode()).digest()


@dataclass(frozen=True, slots=True)
class Trained:
    """A fit in use.

    Attributes:
        fitted: The router.
        training_set: What it was fitted on.
        embedded: Lines that had to be embedded for it; 0 if all were cached, or the fit itself was stored.
        stored: Whether it was read from the database, and not made now.
        fit_ms: How long fitting took, now or originally.
    """

    fitted: Fitted
    training_set: TrainingSet
    embedded: int
    stored: bool
    fit_ms: float


class Fits:
    """The fits of one process."""

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder
        self._trained: LRUCache[bytes, Trained] = LRUCache(_FITS)
        self._held_out: LRUCache[bytes, HeldOutScores] = LRUCache(_HELD_OUT)
        self._jobs: dict[tuple[int, bytes], asyncio.Task[None]] = {}
        self._problems: dict[bytes, tuple[str, float]] = {}
        self._noted: dict[tuple[int, bytes], float] = {}
        self._threads = ThreadPoolExecutor(1, "thresher-fit", initializer=_step_back)
        self.made = 0
        """Fits that this process has made, and not found."""

    def get(self, tenant: Tenant, training_set: TrainingSet) -> Trained | None:
        """Return the fit if it is in memory; otherwise it is loaded or made in the background."""
        trained = self._trained.get(training_set.digest)
        noted = self._noted.get((tenant.id, training_set.digest))
        if trained is None or noted is None or time.monotonic() - noted > _TOUCH_SECONDS:
            self._begin(tenant, training_set)
        return trained

    def problem(self, training_set: TrainingSet) -> str:
        """Return why there is no fit and none is being made; empty otherwise."""
        return self._problems.get(training_set.digest, ("", 0.0))[0]

    async def wait(self, tenant: Tenant, training_set: TrainingSet, seconds: float | None = None) -> Trained | None:
        """Wait for the fit; None if that fails or takes longer than so many seconds."""
        if (trained := self.get(tenant, training_set)) is not None:
            return trained
        if (job := self._jobs.get((tenant.id, training_set.digest))) is not None:
            await asyncio.wait([job], timeout=seconds)
        return self._trained.get(training_set.digest)

    async def effect(
        self, tenant: Tenant, before: TrainingSet, after: TrainingSet, by_hand: Mapping[str, float]
    ) -> EditEffect:
        """Cross-validate two training sets in the same folds, and compare; nothing is stored but vectors.

        Args:
            tenant: The tenant whose cache of vectors is read.
            before: The lines in use.
            after: The lines after an edit.
            by_hand: Thresholds that people set.

        Raises:
            EncoderError: The model cannot be loaded or cannot answer.
            StoreUnavailable: The database cannot be reached.
        """
        was = self._held_out.get(before.digest)
        if was is None and before.training.lines:
            was = await self._cross_validated(tenant, before.training, turns_of(before.training))
            self._held_out[before.digest] = was
        turns = turns_of(after.training, before.training)
        now = await self._cross_validated(tenant, after.training, turns, was) if after.training.lines else None
        return effect_of(was, now, by_hand)

    async def _cross_validated(
        self, tenant: Tenant, training: Training, turns: Turns, before: HeldOutScores | None = None
    ) -> HeldOutScores:
        vectors, _ = await self._embedded(tenant, training)
        return await self._threaded(lambda: held_out_scores(training, vectors, turns, before))

    async def vectors(self, tenant: Tenant, texts: Sequence[str]) -> Matrix:
        """Return the vectors of lines, float32 (texts, dimension), as the router compares them; errors as `effect`."""
        return (await text_vectors(self._database, tenant, self._encoder, texts, prefixed=True)).vectors

    async def settle(self) -> None:
        """Wait until no fit is being made."""
        while self._jobs:
            await asyncio.wait(list(self._jobs.values()))

    async def close(self) -> None:
        """Cancel the fits in progress and make no more."""
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

    def _begin(self, tenant: Tenant, training_set: TrainingSet) -> None:
        key = tenant.id, training_set.digest
        failed = self._problems.get(training_set.digest)
        if key in self._jobs or (failed is not None and time.monotonic() - failed[1] < _RETRY_SECONDS):
            return
        job = asyncio.create_task(self._work(tenant, training_set))
        self._jobs[key] = job
        job.add_done_callback(lambda _: self._jobs.pop(key, None))

    async def _work(self, tenant: Tenant, training_set: TrainingSet) -> None:
        try:
            model = await _model_id(self._encoder)
            await self._obtain(tenant, training_set, model)
        except (EncoderError, StoreUnavailable) as error:
            self._problems[training_set.digest] = error.message, time.monotonic()
            event(logger, "router not fitted", level=logging.WARNING, tenant=tenant.id, reason=str(error))
        except Exception:
            self._problems[training_set.digest] = "the router cannot be fitted", time.monotonic()
            logger.exception("router not fitted")
        else:
            self._problems.pop(training_set.digest, None)

    async def _obtain(self, tenant: Tenant, training_set: TrainingSet, model: str) -> None:
        rests_on = EDITION, model.encode(), _BACKGROUND, training_set.digest
        name = hashlib.sha256(b"%d\0%s\0%s%s" % rests_on).digest()
        known = self._trained.get(training_set.digest)
        touched = await run_retrying(self._database, tenant, lambda run: queries.touch_fit(run, tenant, name))
        if known is None:
            known = await self._read(tenant, training_set, name) if touched else None
        if known is None or not touched:
            known = await self._made(tenant, training_set, model, name, known)
        self._noted[tenant.id, training_set.digest] = time.monotonic()
        self._trained[training_set.digest] = known

    async def _read(self, tenant: Tenant, training_set: TrainingSet, name: bytes) -> Trained | None:
        async with self._database.transaction(tenant) as connection:
            stored = await queries.read_fit(connection, tenant, name)
        if stored is None:
            return None
        try:
            fitted = await self._threaded(lambda: unpacked(stored.packed))
        except InvalidInput:
            event(logger, "stored fit not readable", level=logging.WARNING, tenant=tenant.id)
            return None
        return Trained(fitted, training_set, 0, stored=True, fit_ms=stored.fit_ms)

    async def _made(
        self, tenant: Tenant, training_set: TrainingSet, model: str, name: bytes, known: Trained | None
    ) -> Trained:
        """Make the fit, or take the one of another tenant's equal packs, and store it."""
        vectors, found = await self._embedded(tenant, training_set.training)
        if known is None:
            known = await self._fitted(tenant, training_set, vectors, found.embedded)
        fitted, fit_ms = known.fitted, known.fit_ms
        packed = StoredFit(await self._threaded(fitted.packed), fit_ms)
        hashes = list(dict.fromkeys(found.hashes))
        await run_retrying(
            self._database, tenant, lambda run: queries.put_fit(run, tenant, name, model, hashes, packed)
        )
        return known

    async def _embedded(self, tenant: Tenant, training: Training) -> tuple[Vectors, TextVectors]:
        texts = [*training.lines, *training.negatives, *EVERYDAY, *training.views]
        found = await text_vectors(self._database, tenant, self._encoder, texts, prefixed=True)
        lines, others = len(training.lines), len(training.lines) + len(training.negatives)
        parts = np.split(found.vectors, [lines, others, others + len(EVERYDAY)])
        return Vectors(parts[0], parts[1], parts[2], parts[3]), found

    async def _fitted(self, tenant: Tenant, training_set: TrainingSet, vectors: Vectors, embedded: int) -> Trained:
        started = time.perf_counter()
        fitted = await self._threaded(lambda: fit(training_set.training, vectors))
        took = (time.perf_counter() - started) * 1000
        self.made += 1
        counts = {
            "intents": len(training_set.training.intents),
            "lines": len(training_set.training.lines),
            "embedded": embedded,
        }
        event(logger, "router fitted", tenant=tenant.id, counts=counts, ms=round(took, 1))
        return Trained(fitted, training_set, embedded, stored=False, fit_ms=took)

    async def _threaded(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _step_back() -> None:
    """Lower the thread's priority below the event loop's, on Linux, where threads have priorities of their own."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


async def _model_id(encoder: Encoder) -> str:
    """Return the running model's id, without loading the model if the id is known; a service is asked."""
    known = await asyncio.to_thread(lambda: encoder.model.id)
    return known or (await encoder.warm()).id
