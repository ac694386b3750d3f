"""Speed of `process_prompt`: what it takes beside the embedding, as a share of the embedding of the same texts.

150 packs (the intents of CLINC150, ten lines each, every one with the rules of the built-in pack `git`) and the tools
of LiveMCPBench, whose servers are dealt to the packs. Only messages that get rules are counted: the others cost less.
Each is asked once, so that no decision is remembered; what the encoder remembers expires between two calls, so that the
embedding alone is paid in full too.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import data, machine, product
from benchmarks.speed import PAUSE, ROUNDS, percentiles
from thresher.context import ContextService
from thresher.embedding import Encoder, Matrix
from thresher.knowledge.intents import IntentService, sources_of
from thresher.knowledge.tools import ToolService
from thresher.packs import BUILT_IN
from thresher.search import SearchIndex
from thresher.services import Services

LINES = 10
WARMING = 50
REMEMBERED_SECONDS = 0.8 * PAUSE
"""How long the encoder remembers a text: for one call, not until the next."""


def _set(name: str) -> list[tuple[str, str]]:
    folder = data.folder().parent / "intents" / "clinc150" / name
    lines, labels = ((folder / part).read_text(encoding="utf-8").splitlines() for part in ("seq.in", "label"))
    return [(line, label) for line, label in zip(lines, labels, strict=True) if label != "oos"]


def _write_packs(folder: Path, servers: Sequence[str]) -> None:
    rules = (BUILT_IN / "git" / "SKILL.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]
    by_label: dict[str, list[str]] = {}
    for line, label in _set("train"):
        by_label.setdefault(label, []).append(line)
    for number, (label, lines) in enumerate(sorted(by_label.items())):
        name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
        place = folder / name
        place.mkdir()
        front = f"name: {name}\ndescription: {label}\nmetadata:\n  servers: {servers[number % len(servers)]}\n"
        (place / "SKILL.md").write_text(f"---\n{front}  variables: 'true'\n---\n{rules}", encoding="utf-8")
        (place / "examples.txt").write_text("\n".join(lines[:LINES]) + "\n", encoding="utf-8")


class _Recording:
    """An encoder that notes which texts it is asked for; all else is the encoder behind it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.texts: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        self.texts += texts
        return await self._encoder.embed_queries(texts, prefixed=prefixed)


async def _texts(services: Services, messages: Sequence[str], wanted: int) -> dict[str, tuple[str, ...]]:
    """The first messages that get rules, each with the distinct texts that are embedded for it.

    Asked of services of their own beside the measured ones, which remember nothing of it.
    """
    settings, recording = services.settings, _Recording(services.encoder)
    index = SearchIndex(services.database, recording, settings)
    tools = ToolService(services.database, index, services.upstreams, services.secrets, settings)
    sources = sources_of(settings, BUILT_IN)
    intents = IntentService(services.database, recording, services.secrets, settings, sources, services.caller)
    context = ContextService(intents, tools)
    await intents.prepare(services.caller)
    found: dict[str, tuple[str, ...]] = {}
    for message in messages:
        recording.texts.clear()
        prompt = await context.process_prompt(services.caller, message)
        if not prompt.passes_through:
            found[message] = tuple(dict.fromkeys(recording.texts))
        if len(found) == wanted:
            break
    await intents.close()
    await tools.settle()
    await index.close()
    return found


async def _timed(services: Services, messages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Both in turn, one of the two drawn first each time."""
    caller, encoder, turns = services.caller, services.encoder, random.Random(1)
    whole: list[float] = []
    alone: list[float] = []
    for message, texts in messages.items():
        acts = [
            (whole, lambda message=message: services.context.process_prompt(caller, message)),
            (alone, lambda texts=texts: encoder.embed_queries(texts, prefixed=True)),
        ]
        for taken, act in turns.sample(acts, 2):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            await act()
            taken.append((time.perf_counter() - started) * 1000)
    besides = percentiles(whole)["p50_ms"] - percentiles(alone)["p50_ms"]
    return {
        "messages": len(messages),
        "texts_a_message": round(mean(len(texts) for texts in messages.values()), 2),
        "process_prompt": percentiles(whole),
        "embedding": percentiles(alone),
        "besides_embedding_ms": round(besides, 2),
        "share_of_embedding": round(besides / percentiles(alone)["p50_ms"], 3),
    }


async def run() -> dict[str, Any]:
    """Measure and save."""
    bench = data.livemcpbench()
    servers = sorted({tool.server for tool in bench.tools if " " not in tool.server and "," not in tool.server})
    questions = [line for line, _ in _set("test")]
    random.Random(0).shuffle(questions)
    with tempfile.TemporaryDirectory(prefix="thresher-packs-") as folder:
        _write_packs(Path(folder), servers)
        settings = {"packs": (Path(folder),), "home_packs": "off", "query_cache_seconds": REMEMBERED_SECONDS}
        async with product.running(**settings) as services:
            await services.tools.import_tools(services.caller, bench.tools, bench.descriptions)
            await services.intents.prepare(services.caller)
            messages = list((await _texts(services, questions, WARMING + ROUNDS)).items())
            await _timed(services, dict(messages[:WARMING]))
            figures = await _timed(services, dict(messages[WARMING:]))
            await services.intents.settle()
    print(figures, flush=True)
    machine.save("process_prompt", {"packs": 150, "tools": len(bench.tools), **figures})
    return figures
