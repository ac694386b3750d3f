"""Endpoints explained, and usage counted.

Every operation of the descriptions is explained at several budgets: how often the content costs more than its budget,
how often everything fits, what it takes. Examples are made of every body that is sent or answered, and checked by
jsonschema-rs against their schemas. Usage is counted over a million searches and 300,000 reads of 90 days; beside what
an answer takes stands the processor's time of the database, which a busy machine does not change.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import api_reading, machine, product
from thresher.core import Caller, Why
from thresher.embedding import count_tokens
from thresher.knowledge.apis import FoundEndpoint, TimeRange, explain_endpoint
from thresher.openapi import Description, Operation, checked_example, read_description, sent_content, tips_of

BUDGETS = (1, 50, 200, 500, 1_000, 2_000, 4_000, 8_000)
NAMES = ("jira", "kubernetes", "datadog-v1", "datadog-v2")
SEARCHES = 1_000_000
READS = 300_000
RANGES: Sequence[TimeRange] = ("1d", "7d", "30d", "90d")
RUNS = 7

_FILL_SEARCHES = f"""
    insert into api_search_log (tenant_id, at, owner, client, trace_id, mode, query, providers, hits, duration_ms,
                                error, read_rank)
    select %s, now() - random() * interval '90 days', 'user' || (random() * 50)::int, '', md5(i::text), 'search',
           'how do i find number ' || (power(random(), 3) * 50000)::int,
           array[(array['jira', 'kubernetes', 'datadog'])[1 + (random() * 2)::int]],
           array(select (random() * 281474976710655)::bigint + 0 * j * i from generate_series(1, 10) j),
           random() * 50, case when random() < .01 then 'invalid_input' else '' end,
           case when random() < .3 then (1 + random() * 9)::int end
    from generate_series(1, {SEARCHES}) i order by 2"""
_FILL_READS = f"""
    insert into api_read_log (tenant_id, at, owner, client, trace_id, endpoint, operation, provider, duration_ms, error)
    select %s, now() - random() * interval '90 days', 'user' || (random() * 50)::int, '', md5(i::text), of,
           'GET /' || of, (array['jira', 'kubernetes', 'datadog'])[1 + of %% 3], random() * 50, ''
    from (select i, (random() * 3000)::int as of from generate_series(1, {READS}) i) made order by 2"""


async def run() -> None:
    """Explain, make examples, count; save."""
    folder = api_reading.folder()
    figures: dict[str, Any] = {"budgets": list(BUDGETS), "descriptions": {}}
    for name in NAMES:
        description = read_description((folder / api_reading.FILES[name]).read_bytes())
        figures["descriptions"][name] = await asyncio.to_thread(explained, description)
    each = figures["descriptions"].values()
    figures |= {key: sum(one[key] for one in each) for key in ("operations", "over_budget")}
    figures["examples"] = {key: sum(one["examples"][key] for one in each) for key in ("made", "hold")}
    figures["usage"] = await usage()
    print(machine.save("api_endpoints", figures).read_text(encoding="utf-8"))


def explained(description: Description) -> dict[str, Any]:
    """All operations of a description, at every budget."""
    over, whole = 0, dict.fromkeys(map(str, BUDGETS), 0)
    taken: list[float] = []
    for operation in description.operations:
        endpoint = _brief(description, operation)
        for budget in BUDGETS:
            begun = time.process_time()
            answer = explain_endpoint(description, operation, endpoint, budget=budget)
            if budget == BUDGETS[-2]:
                taken.append((time.process_time() - begun) * 1000)
            over += count_tokens(answer.content) > budget
            whole[str(budget)] += not answer.left_out
    count = len(description.operations)
    return {
        "operations": count,
        "over_budget": over,
        "whole_share": {budget: round(number / count, 3) for budget, number in whole.items()},
        "p50_ms": round(statistics.median(taken), 1),
        "p95_ms": round(statistics.quantiles(taken, n=20)[-1], 1),
        "examples": examples(description),
    }


def examples(description: Description) -> dict[str, Any]:
    """Examples of all bodies: how many hold, and which do not."""
    found = [(key, checked_example(description, schema, direction=way)[1]) for key, schema, way in _bodies(description)]
    return {
        "made": len(found),
        "hold": sum(holds for _, holds in found),
        "not": [key for key, holds in found if not holds],
    }


def _bodies(description: Description) -> Iterator[tuple[str, Any, Any]]:
    for operation in description.operations:
        content = sent_content(operation.body)
        if content is not None and content.schema is not None:
            yield operation.key, content.schema, "request"
        for response in operation.responses:
            if response.contents and response.contents[0].schema is not None:
                yield f"{operation.key} {response.status}", response.contents[0].schema, "response"


def _brief(description: Description, operation: Operation) -> FoundEndpoint:
    return FoundEndpoint(
        id="op_0123456789ab",
        title=operation.summary or operation.path,
        description="",
        provider="bench",
        version="v1",
        method=operation.method,
        path=operation.path,
        operation_id=operation.operation_id,
        tags=operation.tags,
        deprecated=operation.deprecated,
        relevance=1.0,
        why=Why("core"),
        tips=tips_of(operation, description),
    )


async def usage() -> dict[str, Any]:
    """Reports over a full log, by period."""
    async with product.running() as services:
        caller = services.caller
        async with services.database.transaction(caller.tenant) as connection:
            for statement in (_FILL_SEARCHES, _FILL_READS):
                await connection.exec_driver_sql(statement, (caller.tenant.id,))
            await connection.exec_driver_sql("analyze api_search_log")
            await connection.exec_driver_sql("analyze api_read_log")
        return {
            "searches": SEARCHES,
            "reads": READS,
            "by_range": {length: await _timed(services.apis, caller, length) for length in RANGES},
        }


async def _timed(apis: Any, caller: Caller, length: TimeRange) -> dict[str, Any]:
    taken: list[float] = []
    worked: list[float] = []
    counted = 0
    for _ in range(RUNS):
        begun, before = time.perf_counter(), _server_seconds()
        counted = (await apis.usage(caller, time_range=length)).searches
        taken.append((time.perf_counter() - begun) * 1000)
        worked.append((_server_seconds() - before) * 1000)
    return {
        "searches": counted,
        "p50_ms": round(statistics.median(taken)),
        "server_p50_ms": round(statistics.median(worked)),
    }


def _server_seconds() -> float:
    """Seconds that processes of PostgreSQL on this machine have worked, those that ended under them too."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = place.read_text(encoding="utf-8", errors="replace").partition(") ")
        except OSError:
            continue
        if name.endswith("(postgres"):
            ticks += sum(map(int, rest.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
