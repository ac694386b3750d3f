"""A start with one of five servers hung, against a start with all well: the time to the first answer.

Invariant: the kinds of start take turns, in an order drawn anew each round, on one data folder that has been used
before; kinds are compared within each round, so that a machine that is busy for a while counts for all of them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from fastmcp import Client

from benchmarks import machine, product
from benchmarks.endpoints import endpoint
from benchmarks.processes import answers, serving, until

SERVERS = 5
STARTS = 7
CALL = {"name": "s0_echo", "arguments": {"text": "hello"}}
LIMIT = 120.0
FAKE = Path(__file__).resolve().parents[1] / "tests" / "fakes" / "stdio_server.py"
KINDS = ("well", "hung child", "hung address")


def entries(kind: str, upstream: str, silent: str) -> dict[str, Any]:
    """Five servers: one over HTTP, the rest child processes; the last one hangs unless all is well."""
    child = {"command": sys.executable, "args": [str(FAKE), "good"]}
    servers: dict[str, Any] = {"s0": {"type": "http", "url": upstream}}
    servers |= {f"s{number}": child for number in range(1, SERVERS)}
    last = {
        "well": child,
        "hung child": {**child, "args": [str(FAKE), "hang"]},
        "hung address": {"type": "http", "url": silent},
    }
    return {"mcpServers": servers | {f"s{SERVERS - 1}": last[kind]}}


async def first_answers(folder: Path, config: Path) -> dict[str, float]:
    """Seconds from the start of a daemon to its first listing, first search, and first answer of an upstream."""
    started, taken = time.perf_counter(), dict[str, float]()
    async with asyncio.timeout(LIMIT), serving(folder, "--config", str(config)) as daemon, Client(daemon.url) as client:
        await client.list_tools()
        taken["listing"] = time.perf_counter() - started
        await client.call_tool("find_tools", {"message": "echo this text"})
        taken["search"] = time.perf_counter() - started
        await until(lambda: answers(client, "call_tool_write", CALL), pause=0.02)
        taken["call"] = time.perf_counter() - started
    return taken


async def _starts(configs: dict[str, Path], folder: Path) -> dict[str, list[dict[str, float]]]:
    """The kinds by turns, on one data folder that was used before."""
    taken: dict[str, list[dict[str, float]]] = {kind: [] for kind in configs}
    turns = random.Random(0)
    for _ in range(STARTS):
        for kind in turns.sample(list(configs), len(configs)):
            taken[kind].append(await first_answers(folder, configs[kind]))
    return taken


def _figures(taken: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians: of the seconds, and of the ratio to the start with all well in the same round."""
    return {
        kind: {what: _compared([s[what] for s in starts], [s[what] for s in taken["well"]]) for what in starts[0]}
        for kind, starts in taken.items()
    }


def _compared(seconds: list[float], well: list[float]) -> dict[str, float]:
    times = median(one / other for one, other in zip(seconds, well, strict=True))
    return {"seconds": round(median(seconds), 2), "times": round(times, 2)}


async def run() -> dict[str, Any]:
    """Measure and save."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(product.folder())
        upstream = await stack.enter_async_context(endpoint("upstream"))
        silent = await stack.enter_async_context(endpoint("hung"))
        configs: dict[str, Path] = {}
        for kind in KINDS:
            configs[kind] = folder.parent / f"{kind.replace(' ', '-')}.json"
            configs[kind].write_text(json.dumps(entries(kind, upstream.url, silent.url)), encoding="utf-8")
        await first_answers(folder, configs["well"])
        figures: dict[str, Any] = {"servers": SERVERS, "starts": STARTS, **_figures(await _starts(configs, folder))}
        print(json.dumps(figures, indent=1), flush=True)
    machine.save("starts", figures)
    return figures
