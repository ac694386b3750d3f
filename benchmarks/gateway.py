"""What a call costs through the gateway: against a direct call, against other gateways, and as the catalogue grows.

Invariant: everything that is compared runs in the same minutes on the same machine, one call of each in turn.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import psutil
from fastmcp import Client

from benchmarks import machine, product
from benchmarks.catalogue import NoisedEncoder, variants
from benchmarks.endpoints import endpoint
from benchmarks.processes import answers, serving, until
from thresher.demo.catalogue import read_catalogue
from thresher.knowledge.tools import ToolService
from thresher.search import SearchIndex

TOOLS = 10_000
FEW = 10
ROUNDS = 150
WARMING = 20
CALLERS = 50
SESSIONS = 10
MANY = 201
"""Tools of one server, from which a call of 2026-07-28 at FastMCP costs several times that of a session."""
CALLS_EACH = 5
WINDOWS = 3
EMBEDDED = 100
"""Tools that are embedded for real; the others' vectors are noised copies, for calls do not read them."""
ERAS: Mapping[str, Literal["auto", "legacy"]] = {"2026-07-28": "auto", "2025-11-25": "legacy"}
Act = Callable[[Client[Any]], Awaitable[object]]


def direct(client: Client[Any]) -> Awaitable[object]:
    """A call of the upstream tool itself."""
    return client.call_tool("echo", {"text": "hello"})


def through(client: Client[Any]) -> Awaitable[object]:
    """The same call by way of a gateway's own tool."""
    return client.call_tool("call_tool_write", {"name": "up_echo", "arguments": {"text": "hello"}})


def plainly(client: Client[Any]) -> Awaitable[object]:
    """The same call by way of the ten plain lines, which know no prefix."""
    return client.call_tool("call_tool", {"name": "echo", "arguments": {"text": "hello"}})


def listing(client: Client[Any]) -> Awaitable[object]:
    """All that the gateway lists."""
    return client.list_tools()


@dataclass(frozen=True, slots=True)
class Contender:
    """One of what is compared: where it listens, and the call."""

    url: str
    act: Act


async def fill(folder: Path, count: int) -> None:
    """Put so many tools into the catalogue of a data folder."""
    async with product.running(folder) as services:
        base = list(read_catalogue().tools)
        texts = [f"{tool.name}: {tool.description}" for tool in base[:EMBEDDED]]
        encoder = NoisedEncoder(services.encoder, await services.encoder.embed_documents(texts))
        index = SearchIndex(services.database, encoder, services.settings)
        tools = ToolService(services.database, index, services.upstreams, services.secrets, services.settings)
        await tools.import_tools(services.caller, list(variants(base, count)))
        await tools.settle()
        await index.close()


@asynccontextmanager
async def gateway(folder: Path, upstream: str, tools: int) -> AsyncGenerator[Contender]:
    """A daemon with so many tools in its catalogue and the upstream among its servers, once it answers."""
    await fill(folder, tools)
    servers = folder.parent / f"{folder.name}.json"
    servers.write_text(json.dumps({"mcpServers": {"up": {"type": "http", "url": upstream}}}), encoding="utf-8")
    async with serving(folder, "--config", str(servers)) as daemon:
        async with Client(daemon.url) as client:
            await until(
                lambda: answers(client, "call_tool_write", {"name": "up_echo", "arguments": {"text": "ready?"}})
            )
        yield Contender(daemon.url, through)


async def milliseconds(act: Act, client: Client[Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    await act(client)
    return (time.perf_counter() - started) * 1000


async def in_turn(contenders: Mapping[str, Contender], mode: Any, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Milliseconds of each contender's calls: one call of each a round, in an order drawn anew."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    turns = random.Random(0)
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(Client(one.url, mode=mode)) for name, one in contenders.items()
        }
        for client in clients.values():
            await client.list_tools()  # else the library lists before each call of a name that it has not seen
        for number in range(WARMING + rounds):
            for name in turns.sample(sorted(contenders), len(contenders)):
                spent = await milliseconds(contenders[name].act, clients[name])
                if number >= WARMING:
                    taken[name].append(spent)
    return taken


async def at_once(contenders: Mapping[str, Contender], mode: Any, callers: int = CALLERS) -> dict[str, float]:
    """Calls a second of callers with a client each; the contenders by turns, the median window."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    async with AsyncExitStack() as stack:
        clients = {
            name: [await stack.enter_async_context(Client(one.url, mode=mode)) for _ in range(callers)]
            for name, one in contenders.items()
        }
        for number in range(WINDOWS + 1):
            for name, one in contenders.items():
                if number == 0:
                    await asyncio.gather(*(client.list_tools() for client in clients[name]))
                rate = await _window(one.act, clients[name])
                if number:
                    rates[name].append(rate)
    return {name: median(values) for name, values in rates.items()}


async def _window(act: Act, clients: Sequence[Client[Any]]) -> float:
    async def calls(client: Client[Any]) -> None:
        for _ in range(CALLS_EACH):
            await act(client)

    started = time.perf_counter()
    await asyncio.gather(*(calls(client) for client in clients))
    return len(clients) * CALLS_EACH / (time.perf_counter() - started)


def _times(taken: Mapping[str, Sequence[float]], base: str) -> dict[str, Any]:
    """Percentiles of each, and each as a multiple of the base's p50."""
    return {
        name: {
            "p50_ms": round(median(values), 2),
            "p95_ms": round(float(np.percentile(values, 95)), 2),
            "times": round(median(values) / median(taken[base]), 2),
        }
        for name, values in taken.items()
    }


async def run_upstream_tools() -> dict[str, Any]:
    """Calls of one tool of a server, by the number of the server's tools; measure and save.

    Each era's clients are measured against direct calls in both, for the gateway may use the other one.
    """
    figures: dict[str, Any] = {"rounds": ROUNDS, "sessions": SESSIONS}
    for tools in (1, MANY):
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(product.folder())
            upstream = await stack.enter_async_context(endpoint("upstream", str(tools)))
            contenders = {
                "direct": Contender(upstream.url, direct),
                "thresher": await stack.enter_async_context(gateway(folder, upstream.url, FEW)),
            }
            found = {era: await _by_era(contenders, mode) for era, mode in ERAS.items()}
            cheaper = min(found.values(), key=lambda one: one["call"]["direct"]["p50_ms"])
            for one in found.values():
                for percentile in ("p50_ms", "p95_ms"):
                    ratio = one["call"]["thresher"][percentile] / cheaper["call"]["direct"][percentile]
                    one[f"of_cheaper_{percentile.removesuffix('_ms')}"] = round(ratio, 2)
            figures[str(tools)] = found
            print(tools, json.dumps(found, indent=1), flush=True)
    figures["load"] = round(psutil.getloadavg()[0], 2)
    machine.save("upstream_tools", figures)
    return figures


async def _by_era(contenders: Mapping[str, Contender], mode: Any) -> dict[str, Any]:
    calls = await in_turn(contenders, mode)
    rates = await at_once(contenders, mode, SESSIONS)
    return {
        "call": _times(calls, "direct"),
        "calls_a_second": {name: round(rate, 1) for name, rate in rates.items()},
        "throughput": round(rates["thresher"] / rates["direct"], 3),
    }


async def run() -> dict[str, Any]:
    """Measure and save."""
    figures: dict[str, Any] = {"tools": TOOLS, "rounds": ROUNDS, "callers": CALLERS}
    async with AsyncExitStack() as stack:
        folders = [stack.enter_context(product.folder()) for _ in range(2)]
        upstream = await stack.enter_async_context(endpoint("upstream"))
        proxy = await stack.enter_async_context(endpoint("proxy", upstream.url))
        plain = await stack.enter_async_context(endpoint("plain", upstream.url))
        many = await stack.enter_async_context(gateway(folders[0], upstream.url, TOOLS))
        few = await stack.enter_async_context(gateway(folders[1], upstream.url, FEW))
        contenders = {
            "direct": Contender(upstream.url, direct),
            "thresher": many,
            "plain": Contender(plain.url, plainly),
            "create_proxy": Contender(proxy.url, direct),
        }
        for era, mode in ERAS.items():
            figures[era] = await _era(contenders, few, mode)
            print(era, json.dumps(figures[era], indent=1), flush=True)
    figures["load"] = round(psutil.getloadavg()[0], 2)
    machine.save("gateway", figures)
    return figures


async def _era(contenders: Mapping[str, Contender], few: Contender, mode: Any) -> dict[str, Any]:
    many = contenders["thresher"]
    warm = {name: one for name, one in contenders.items() if name != "create_proxy"}
    calls = await in_turn(warm, mode)
    rates = await at_once(warm, mode)
    sizes = await in_turn({"few": few, "many": many}, mode)
    lists = await in_turn({"few": Contender(few.url, listing), "many": Contender(many.url, listing)}, mode)
    # Last, and apart: it opens a session at the upstream for each call.
    cold = await in_turn({name: contenders[name] for name in ("direct", "create_proxy")}, mode, ROUNDS // 4)
    return {
        "call": _times(calls, "direct"),
        "create_proxy": _times(cold, "direct"),
        "calls_a_second": {name: round(rate, 1) for name, rate in rates.items()},
        "throughput": {name: round(rate / rates["direct"], 3) for name, rate in rates.items()},
        "call_by_size": _times(sizes, "few"),
        "list_by_size": _times(lists, "few"),
    }
