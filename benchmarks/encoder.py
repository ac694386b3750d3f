"""The encoder on what nobody tuned on: everyday messages, long requests, and messages that no tool serves.

Three sets of each were written by people who saw the tools and nothing else; `THRESHER_ENCODER_SET` picks one. No tool,
server or vendor of theirs is in the training data (`training/heldout.txt`). Half of the everyday messages share no word
with their tool. The vendors' operations are made from the package that the demo's catalogue is made from.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import data, everyday, machine, product
from thresher.core import Caller, Tool
from thresher.demo.catalogue import fetch_package
from thresher.embedding import FORMER_MODEL
from thresher.evaluation.metrics import auc, refused_at, wilson
from thresher.knowledge.tools import MOST_BUDGET, FindResult
from thresher.services import Services
from training.tools import vendor_tools
from training.vendors import BLIND

FOLDER: Final = Path(__file__).parent / "questions" / "encoder"
ANSWERED: Final = 0.95
BUDGETS: Final = (150, 300)


def _keys(pairs: Sequence[Sequence[str]]) -> set[str]:
    return {"/".join(pair) for pair in pairs}


def vendors() -> list[Tool]:
    """The operations of the vendors that no message was written for."""
    kept = os.environ.get("THRESHER_VENDOR_PACKAGE")
    with tempfile.TemporaryDirectory() as folder:
        package = Path(kept) if kept else fetch_package(Path(folder))
        return [tool for tools in vendor_tools(package, BLIND).values() for tool in tools]


async def _found(services: Services, caller: Caller, message: str, **more: Any) -> FindResult:
    return await services.tools.find_tools(caller, message=message, include_core_tools=False, **more)


def _share(hits: Sequence[bool]) -> dict[str, Any]:
    share = float(np.mean(hits))
    return {"share": round(share, 4), "interval": [round(bound, 3) for bound in wilson(share, len(hits))]}


async def _everyday(services: Services, number: str, pool: Sequence[Tool]) -> dict[str, Any]:
    rows, idle = (
        everyday.lines(FOLDER, f"messages-{number}"),
        [str(row["message"]) for row in everyday.lines(FOLDER, f"idle-{number}")],
    )
    servers = {server for row in rows for server, _ in row["needed"]}
    tools = [tool for tool in pool if tool.server in servers]
    async with product.pool(services, "everyday", tools, {}) as caller:
        keys = {tool.name: tool.tool.key for tool in await services.tools.list_tools(caller)}
        figures: dict[str, Any] = {"tools": len(tools), "messages": len(rows), "idle": len(idle)}
        seen: dict[str, list[bool]] = {}
        shares: dict[str, list[float]] = {}
        probable: list[float] = []
        for row in rows:
            needed, right = _keys(row["needed"]), _keys([*row["needed"], *row["acceptable"]])
            five = await _found(services, caller, row["message"], budget=MOST_BUDGET, limit=5, threshold=0.0)
            answers = {"first_5": five}
            for budget in BUDGETS:
                answers[f"at_{budget}"] = await _found(services, caller, row["message"], budget=budget)
            for name, result in answers.items():
                there = {keys[one] for tool in result.tools for one in (tool.name, *tool.also)}
                seen.setdefault(f"any_{name}", []).append(bool(there & right))
                seen.setdefault(f"any_{name}_{'plain' if row['plain'] else 'unlike'}", []).append(bool(there & right))
                shares.setdefault(f"needed_{name}", []).append(len(there & needed) / len(needed))
            probable.append(answers["at_300"].probability)
        others = [(await _found(services, caller, text, budget=300)).probability for text in idle]
    figures |= {name: _share(hits) for name, hits in sorted(seen.items())}
    figures |= {name: round(float(np.mean(each)), 4) for name, each in sorted(shares.items())}
    figures["idle_refused_at_95"] = round(refused_at(probable, others, ANSWERED), 4)
    figures["idle_auc"] = round(auc(probable, others) or 0.0, 4)
    return figures


async def _long(services: Services, number: str, tools: Sequence[Tool]) -> dict[str, Any]:
    rows = everyday.lines(FOLDER, f"requests-{number}")
    async with product.pool(services, "vendors", tools, {}) as caller:
        keys = {tool.name: tool.tool.key for tool in await services.tools.list_tools(caller)}
        shares: dict[str, list[float]] = {"recall_at_10": [], "needed_at_300": []}
        for row in rows:
            needed = _keys(row["needed"])
            ten = await _found(services, caller, row["message"], budget=MOST_BUDGET, limit=10, threshold=0.0)
            answer = await _found(services, caller, row["message"], budget=300)
            for name, result in (("recall_at_10", ten), ("needed_at_300", answer)):
                there = {keys[one] for tool in result.tools for one in (tool.name, *tool.also)}
                shares[name].append(len(there & needed) / len(needed))
    return {"tools": len(tools), "requests": len(rows)} | {
        name: round(float(np.mean(each)), 4) for name, each in shares.items()
    }


SPEED_PARTS: Final = 6
SPEED_QUERIES: Final = 120


async def run_speed() -> dict[str, Any]:
    """Tools indexed a second and one query's embedding beside bge-small, by turns in one run, and save the ratios.

    Each of two products has a database of its own. The other load of the machine meets both.
    """
    bench, messages = data.livemcpbench(), [case.message for case in data.metatool_single().cases[:SPEED_QUERIES]]
    indexing: dict[str, list[float]] = {"own": [], "bge": []}
    asking: dict[str, list[float]] = {"own": [], "bge": []}
    async with product.running() as own, product.running(model=FORMER_MODEL) as bge:
        both = (("own", own), ("bge", bge))
        for _, services in both:  # the first text starts the worker
            await services.encoder.warm()
            await services.tools.import_tools(services.caller, [replace(bench.tools[0], server="warm")])
        for part in range(SPEED_PARTS):
            tools = [replace(tool, server=f"part{part}") for tool in bench.tools[part::SPEED_PARTS]]
            for name, services in both if part % 2 else both[::-1]:
                started = time.perf_counter()
                await services.tools.import_tools(services.caller, tools)
                indexing[name].append(len(tools) / (time.perf_counter() - started))
        for place, message in enumerate(messages):
            for name, services in both if place % 2 else both[::-1]:
                started = time.perf_counter()
                await services.encoder.embed_queries([message])
                asking[name].append((time.perf_counter() - started) * 1000)
    rates = {name: float(np.median(each)) for name, each in indexing.items()}
    times = {name: float(np.median(each)) for name, each in asking.items()}
    figures = {
        "tools": len(bench.tools),
        "tools_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "index_ratio": round(rates["own"] / rates["bge"], 2),
        "query_ms": {name: round(each, 2) for name, each in times.items()},
        "query_ratio": round(times["own"] / times["bge"], 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("encoder_speed", figures)
    return figures


async def run() -> dict[str, Any]:
    """Ask one set, and save its figures beside those of other sets and encoders."""
    number = os.environ.get("THRESHER_ENCODER_SET", "1")
    pool, operations = await asyncio.to_thread(everyday.definitions), await asyncio.to_thread(vendors)
    async with product.running() as services:
        figures = {
            "everyday": await _everyday(services, number, pool),
            "long_requests": await _long(services, number, operations),
        }
        model = services.encoder.model.id.partition("@")[0]
    print(number, model, json.dumps(figures, indent=1), flush=True)
    path = machine.RESULTS / "encoder.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    sets = {name: value for name, value in before.items() if name.startswith("set_")}
    sets.setdefault(f"set_{number}", {})[model] = figures
    machine.save("encoder", sets)
    return figures
