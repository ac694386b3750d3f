"""Runs an evaluation against the product itself, in a tenant of its own.

Invariant: the tenant is empty before and gone after, whether the run ends, fails or is cancelled; a run that was
killed is cleaned up by the next one.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping, Sequence

from thresher.core import Caller, Tool
from thresher.evaluation.figures import Figures, Observation, compute
from thresher.evaluation.reader import Question
from thresher.knowledge.tools import FindResult, FoundTool, ToolService
from thresher.store import Database

Progress = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and how much there is."""

PAUSE_SECONDS = 0.02
"""Between two questions: back to back they are twice as fast as with pauses, and users pause."""
DEPTH = 10

_one_at_a_time = asyncio.Lock()


async def evaluate(
    database: Database, tools: ToolService, pool: Sequence[Tool], questions: Sequence[Question], progress: Progress
) -> Figures:
    """Index a pool and ask every question.

    Args:
        database: Where the throw-away tenant is made.
        tools: The service under evaluation.
        pool: The tools to choose from.
        questions: The messages, with what fits them.
        progress: Told how far it is.
    """
    async with _one_at_a_time:
        name = f"evaluation@{platform.node()}"
        await database.drop_tenant(await database.tenant(name))
        tenant = await database.tenant(name)
        try:
            return await _run(Caller(tenant), tools.without_local(), pool, questions, progress)
        finally:
            await asyncio.shield(database.drop_tenant(tenant))


async def _run(
    caller: Caller, tools: ToolService, pool: Sequence[Tool], questions: Sequence[Question], progress: Progress
) -> Figures:
    started = time.perf_counter()
    await tools.import_tools(caller, pool, progress=lambda done, total: progress("Indexing", done, total))
    seconds = time.perf_counter() - started
    keys = {entry.name: entry.tool.key for entry in await tools.list_tools(caller)}
    observations: list[Observation] = []
    for place, question in enumerate(questions):
        observations.append(await _observe(caller, tools, keys, question))
        progress("Asking", place + 1, len(questions))
        await asyncio.sleep(PAUSE_SECONDS)
    known = {tool.key for tool in pool}
    unknown = {key for question in questions for key in question.relevant - known}
    return compute(observations, tools=len(pool), index_seconds=seconds, unknown_relevant=len(unknown))


async def _observe(caller: Caller, tools: ToolService, keys: Mapping[str, str], question: Question) -> Observation:
    usual, first_ms = await _timed(caller, tools, question)
    _, again_ms = await _timed(caller, tools, question)
    uncut, _ = await _timed(caller, tools, question, limit=DEPTH, threshold=0.0)
    return Observation(
        relevant=question.relevant,
        ranked=_keys(uncut.tools, keys, question.relevant),
        returned=_keys(usual.tools, keys, question.relevant),
        abstained=usual.abstained,
        probability=usual.probability,
        tokens_sent=usual.tokens_sent,
        tokens_all=usual.tokens_all,
        first_ms=first_ms,
        again_ms=again_ms,
    )


async def _timed(
    caller: Caller, tools: ToolService, question: Question, *, limit: int | None = None, threshold: float | None = None
) -> tuple[FindResult, float]:
    started = time.perf_counter()
    result = await tools.find_tools(
        caller,
        message=None if question.phrases else question.text,
        queries=question.phrases or None,
        limit=limit,
        threshold=threshold,
    )
    return result, (time.perf_counter() - started) * 1000


def _keys(found: Sequence[FoundTool], keys: Mapping[str, str], relevant: frozenset[str]) -> tuple[str, ...]:
    """The key of each place; an exact duplicate that was left out stands for its twin when it is the relevant one."""
    return tuple(
        next((key for name in entry.also if (key := keys.get(name, "")) in relevant - {entry.tool.key}), entry.tool.key)
        if entry.tool.key not in relevant
        else entry.tool.key
        for entry in found
    )
