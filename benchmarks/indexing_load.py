"""What people feel while documents are indexed: `find_tools` beside a job that reads and embeds a long manual.

The users manual of PEST++ (200,000 tokens) is indexed by a worker process, as a daemon starts one; meanwhile this one
answers single-task questions at the pace of people. Questions are never repeated, so that none comes from a cache.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import data, machine, product
from benchmarks.speed import PAUSE, percentiles
from thresher.core import Caller
from thresher.jobs import Job
from thresher.knowledge.documents import Origin
from thresher.services import Services

CALLS = 400
"""Idle calls, half of them before the job and half after it."""
LEAST = 100
"""Calls beside the job that a percentile needs."""
MANUAL = Path("documents", "pestpp", "pestpp_users_manual.md")
"""Inside the folder of public data."""


def _questions() -> Iterator[str]:
    """Real questions, each with a number that makes it new."""
    messages = [case.message for case in data.metatool_single().cases]
    return (f"{message} ({number})" for number, message in enumerate(cycle(messages)))


async def _asked(
    services: Services, caller: Caller, questions: Iterator[str], more: Callable[[int], bool]
) -> list[float]:
    """Milliseconds of calls, one after the other with a pause before each, for as long as there shall be more."""
    taken: list[float] = []
    while more(len(taken)):
        await asyncio.sleep(PAUSE)
        started = time.perf_counter()
        await services.tools.find_tools(caller, queries=[next(questions)])
        taken.append((time.perf_counter() - started) * 1000)
    return taken


async def _indexed(services: Services, manual: Path) -> Job:
    """Index the manual by a job; returns the job as it ended."""
    name = "manual"
    repository = await services.documents.index(services.caller, name, Origin("file", str(manual)))
    (job,) = await services.jobs.list(services.caller, subject=repository.id, limit=1)
    return await services.jobs.follow(services.caller, job.id)


async def _measured(services: Services, caller: Caller, manual: Path) -> dict[str, Any]:
    questions = _questions()
    await _asked(services, caller, questions, lambda count: count < LEAST)
    before = await _asked(services, caller, questions, lambda count: count < CALLS // 2)
    started = time.perf_counter()
    job = asyncio.create_task(_indexed(services, manual))
    beside = await _asked(services, caller, questions, lambda _: not job.done())
    seconds, ended = time.perf_counter() - started, await job
    if ended.state != "done":
        raise RuntimeError(f"The job ended as {ended.state}: {ended.error}")
    after = await _asked(services, caller, questions, lambda count: count < CALLS // 2)
    if len(beside) < LEAST:
        raise RuntimeError(f"The job took {seconds:.1f} s: too short for a percentile.")
    idle = percentiles(before + after)
    while_indexing = percentiles(beside)
    return {
        "idle": idle | {"calls": len(before) + len(after)},
        "while_indexing": while_indexing | {"calls": len(beside), "worst_ms": round(float(np.max(beside)), 2)},
        "p95_ratio": round(while_indexing["p95_ms"] / idle["p95_ms"], 2),
        "p50_ratio": round(while_indexing["p50_ms"] / idle["p50_ms"], 2),
        "job_seconds": round(seconds, 1),
        "load_before": round(psutil.getloadavg()[0], 2),
    }


async def run() -> None:
    """Measure and save the figures."""
    pool = data.metatool_single()
    async with (
        product.running(query_cache_size=0) as services,
        product.pool(services, "metatool", pool.tools, pool.descriptions) as caller,
    ):
        figures = {"tools": len(pool.tools)} | await _measured(services, caller, data.folder().parent / MANUAL)
    print(figures, flush=True)
    machine.save("indexing_load", figures)
