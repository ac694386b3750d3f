"""Speed of `find_tools`: against the embedding of the same texts, over HTTP, beside an index job, and as it grows."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
from fastmcp import Client

from benchmarks import data, machine, processes, product
from benchmarks.catalogue import NoisedEncoder, real_tools, variants
from thresher.core import Caller
from thresher.knowledge.tools import ToolService
from thresher.search import SearchIndex
from thresher.services import Services

PAUSE = 0.03
"""Seconds between measured calls, as between people's messages; back to back the processor's caches flatter."""
ROUNDS = 300
SIZES = (1_000, 10_000, 100_000)
Act = Callable[[], Awaitable[object]]


async def _paced(acts: Sequence[Act], rounds: int) -> list[list[float]]:
    """Milliseconds of each act, the acts in turn, with a pause before each."""
    taken: list[list[float]] = [[] for _ in acts]
    for _ in range(rounds):
        for place, act in enumerate(acts):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            await act()
            taken[place].append((time.perf_counter() - started) * 1000)
    return taken


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of milliseconds."""
    return {"p50_ms": round(median(values), 2), "p95_ms": round(float(np.percentile(values, 95)), 2)}


async def _noised(services: Services) -> Services:
    """The same services, with documents' vectors copied from real ones."""
    base = real_tools()
    matrix = await services.encoder.embed_documents([f"{tool.name}: {tool.description}" for tool in base])
    encoder = NoisedEncoder(services.encoder, matrix)
    index = SearchIndex(services.database, encoder, services.settings)
    tools = ToolService(services.database, index, services.upstreams, services.secrets, services.settings)
    return replace(services, encoder=encoder, index=index, tools=tools)


async def _share(services: Services, caller: Caller, queries: Sequence[Sequence[str]]) -> dict[str, Any]:
    """`find_tools` against embedding exactly the same texts, in one paced run.

    One of the two is drawn first each time, so that neither profits from what the other left in the caches.
    """
    encoder, tools, turns = services.encoder, services.tools, random.Random(1)
    whole: list[float] = []
    alone: list[float] = []
    for texts in queries:
        acts = [
            (whole, lambda texts=texts: tools.find_tools(caller, queries=list(texts))),
            (alone, lambda texts=texts: encoder.embed_queries(list(texts), prefixed=True)),
        ]
        for taken, act in turns.sample(acts, 2):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            await act()
            taken.append((time.perf_counter() - started) * 1000)
    return {
        "find": percentiles(whole),
        "embedding": percentiles(alone),
        "besides_embedding_ms": round(median(whole) - median(alone), 2),
        "share_of_embedding": round((median(whole) - median(alone)) / median(alone), 3),
    }


def _warming() -> list[str]:
    """Other questions of the same kind, asked first: a daemon serves for days, and words recur."""
    return [case.message for case in data.metatool_single().cases[-ROUNDS:]]


def _questions(clauses: int) -> list[list[str]]:
    """Real single-task questions, alone or by three."""
    messages = [case.message for case in data.metatool_single().cases]
    return [messages[number * clauses : (number + 1) * clauses] for number in range(ROUNDS)]


async def in_process() -> dict[str, Any]:
    """Grow one catalogue over the sizes and measure at each; also the index rate and memory."""
    figures: dict[str, Any] = {"vectors": "2,500 real tools; larger catalogues hold noised copies of their vectors"}
    base = real_tools()
    async with product.running(query_cache_size=0) as real:
        services = await _noised(real)
        have = 0
        for size in SIZES:
            started = time.perf_counter()
            await services.tools.import_tools(services.caller, list(variants(base, size - have, have)))
            seconds = time.perf_counter() - started
            row: dict[str, Any] = {"tools_per_second_without_embedding": round((size - have) / seconds)}
            have = size
            for message in _warming():
                await services.tools.find_tools(services.caller, queries=[message])
            for clauses in (1, 3):
                row[f"clauses_{clauses}"] = await _share(services, services.caller, _questions(clauses))
            row["memory_mb"] = round(psutil.Process().memory_info().rss / 2**20)
            figures[str(size)] = row
            print(size, row, flush=True)
        await services.tools.settle()
    return figures


async def index_rate() -> dict[str, Any]:
    """Tools a second with the real encoder, and that a second import and a restart embed nothing."""
    bench = data.livemcpbench()
    with product.folder() as folder:
        async with product.running(folder) as services:
            started = time.perf_counter()
            first = await services.tools.import_tools(services.caller, bench.tools, bench.descriptions)
            seconds = time.perf_counter() - started
        async with product.running(folder) as services:
            again = await services.tools.import_tools(services.caller, bench.tools, bench.descriptions)
            other = Caller(await services.database.tenant("other"))
            foreign = await services.tools.import_tools(other, bench.tools, bench.descriptions)
    return {
        "tools": len(bench.tools),
        "embedded": first.embedded,
        "tools_per_second": round(len(bench.tools) / seconds, 1),
        "embedded_after_restart": again.embedded,
        "embedded_for_another_tenant": foreign.embedded,
    }


async def beside_an_index_job() -> dict[str, Any]:
    """p95 of `find_tools` idle, while another tenant's catalogue is embedded, and idle again."""
    bench = data.livemcpbench()
    async with product.running(query_cache_size=0) as services:
        caller = services.caller
        await services.tools.import_tools(caller, bench.tools, bench.descriptions)
        messages = iter([case.message for case in data.metatool_single().cases])

        def find() -> Awaitable[object]:
            return services.tools.find_tools(caller, message=next(messages))

        await _paced([find], 30)
        (before,) = await _paced([find], ROUNDS)
        other = Caller(await services.database.tenant("busy"))
        job = asyncio.create_task(services.tools.import_tools(other, data.bfcl().tools))
        during: list[float] = []
        while not job.done():
            (taken,) = await _paced([find], 1)
            during += taken
        await job
        (after,) = await _paced([find], ROUNDS)
    idle = [*before, *after]
    return {
        "idle": percentiles(idle),
        "during": percentiles(during),
        "calls_during": len(during),
        "p95_ratio": round(float(np.percentile(during, 95) / np.percentile(idle, 95)), 2),
    }


async def over_http() -> dict[str, Any]:
    """`find_tools` over streamable HTTP on a daemon with 10,000 tools."""
    with product.folder() as folder:
        async with product.running(folder, query_cache_size=0) as real:
            services = await _noised(real)
            await services.tools.import_tools(services.caller, list(variants(real_tools(), 10_000)))
        return await _http_calls(folder)


async def _http_calls(folder: Path) -> dict[str, Any]:
    async with processes.serving(folder, THRESHER_QUERY_CACHE_SIZE="0") as daemon, Client(daemon.url) as client:
        messages = iter([case.message for case in data.metatool_single().cases])

        def find() -> Awaitable[object]:
            return client.call_tool("find_tools", {"message": next(messages)})

        await _paced([find], 30)
        (taken,) = await _paced([find], ROUNDS)
        memory = psutil.Process(daemon.pid).memory_info().rss
    return {**percentiles(taken), "daemon_memory_mb": round(memory / 2**20), "load": psutil.getloadavg()[0]}


async def run_http() -> dict[str, Any]:
    """Measure over HTTP alone and save."""
    figures = await over_http()
    print(figures, flush=True)
    machine.save("http", figures)
    return figures


async def run() -> dict[str, Any]:
    """Measure the rest and save."""
    figures: dict[str, Any] = {}
    for part in (index_rate, beside_an_index_job, in_process):
        figures[part.__name__] = await part()
        print(part.__name__, figures[part.__name__], flush=True)
        machine.save("speed", figures)
    return figures
