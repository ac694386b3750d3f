"""`get_context` over a filled system: what is complete, what is wasted, and the time beyond the encoder.

    python -m benchmarks context [--cases FILE]

asks the messages of `questions/context.jsonl`, or of a file in the format of `thresher eval context`, of everyday
tools, skills, documents, API descriptions and databases (`context_system`). The messages of `questions/context.jsonl`
were written for development: of each two the first is in the fit of the probabilities, the second is not.

`python -m benchmarks context_speed` asks one of 10,000 tools, 100,000 passages and 3,000 operations, whose vectors are
noised copies of real ones.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import data, machine, product
from benchmarks.apis import PROVIDERS
from benchmarks.baselines import bge_small
from benchmarks.catalogue import NoisedEncoder, real_tools, variants
from benchmarks.chunks import REAL_VECTORS, real_chunks, write_repository
from benchmarks.context_fit import MIXED, messages
from benchmarks.context_system import fill, settings
from benchmarks.speed import PAUSE, percentiles
from thresher.embedding import Encoder, open_cross_encoder
from thresher.evaluation import ContextObservation, evaluate_context, figures_of_context, read_context_cases
from thresher.knowledge.apis import ApiService
from thresher.knowledge.documents import DocumentService, Origin
from thresher.knowledge.tools import ToolService
from thresher.search import SearchIndex
from thresher.services import Services

BUDGET: Final = 1_500
TOOLS, REPOSITORIES = 10_000, 100
REMEMBERED_SECONDS: Final = 0.8 * PAUSE
"""How long the encoder remembers a text: for one call, not until the next."""
CALLS, WARMING = 150, 30


async def run() -> dict[str, Any]:
    """Ask the messages and save the figures."""
    given = sys.argv[sys.argv.index("--cases") + 1] if "--cases" in sys.argv else ""
    cases = read_context_cases(Path(given or MIXED))
    with tempfile.TemporaryDirectory(prefix="thresher-context-") as place:
        os.chmod(place, 0o755)  # noqa: PTH101 - a worker reads the databases there
        async with product.running(**settings()) as services:
            await fill(services, services.caller, Path(place))
            figures, asked = await evaluate_context(services, services.caller, cases, BUDGET, _quietly)
    for one in asked:
        if one.missing or (not one.case.needs and one.pieces):
            print(f"line {one.case.line}: {one.case.message} | missing {one.missing} | got {one.pieces}")
    found = asdict(figures)
    if not given:
        found |= {"halves": {name: _half(asked[first::2]) for first, name in enumerate(("in_the_fit", "not_in_it"))}}
    print(found, flush=True)
    machine.save("context_cases" if given else "context", found)
    return found


def _quietly(_stage: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def _half(asked: Sequence[ContextObservation]) -> dict[str, Any]:
    figures = asdict(figures_of_context(asked, BUDGET))
    return {name: figures[name] for name in ("messages", "complete", "complete_interval", "wasted_tokens")}


async def _fill_large(services: Services, place: Path) -> None:
    """Index copies of real tools, passages and operations with noised vectors."""
    chunks = real_chunks()
    matrix = await services.encoder.embed_documents(random.Random(0).sample(chunks, REAL_VECTORS))
    noised = NoisedEncoder(services.encoder, matrix)
    index = SearchIndex(services.database, noised, services.settings)
    base = (services.database, index)
    tools = ToolService(*base, services.upstreams, services.secrets, services.settings)
    await tools.import_tools(services.caller, list(variants(real_tools(), TOOLS)))
    crossing = open_cross_encoder(services.settings)
    documents = DocumentService(*base, crossing, services.jobs, services.settings)
    for number in range(REPOSITORIES):
        path = place / str(number)
        write_repository(path, chunks, number)
        await documents.index_here(services.caller, f"r{number}", Origin("folder", str(path)))
        shutil.rmtree(path)
    apis = ApiService(*base, crossing, services.jobs, services.settings, services.secrets, services.audit)
    described = data.folder().parent / "apis"
    for name, (aliases, files) in PROVIDERS.items():
        await apis.add(services.caller, name, [str(described / file) for file in files], aliases=aliases)
        await apis.index_here(services.caller, name)
    await index.settle()
    await index.close()


async def _timed(services: Services, texts: Sequence[str], plain: Encoder) -> dict[str, Any]:
    """One context, the embedding of the texts that it needs, and one of the message by bge-small, in turn."""
    encoder = services.encoder
    taken: dict[str, list[float]] = {"get_context": [], "its_embeddings": [], "bge_small": []}
    with _recorded(encoder) as asked:
        for message in texts:
            asked.clear()
            await asyncio.sleep(PAUSE)
            whole = await _milliseconds(
                services.context.get_context(services.caller, message, budget=BUDGET, delivers=False)
            )
            needed = list(dict.fromkeys(asked))
            await asyncio.sleep(PAUSE)
            own = await _milliseconds(encoder.embed_queries(needed, prefixed=True)) if needed else 0.0
            await asyncio.sleep(PAUSE)
            alone = await _milliseconds(plain.embed_queries([message], prefixed=True))
            for values, one in zip(taken.values(), (whole, own, alone), strict=True):
                values.append(one)
    counted = {name: values[WARMING:] for name, values in taken.items()}
    beyond = [whole - own for whole, own in zip(counted["get_context"], counted["its_embeddings"], strict=True)]
    return {
        **{name: percentiles(values) for name, values in counted.items()},
        "beyond_the_encoder": percentiles(beyond),
        "multiple_of_bge_small": round(median(beyond) / median(counted["bge_small"]), 2),
    }


async def _milliseconds(act: Awaitable[object]) -> float:
    started = time.perf_counter()
    await act
    return (time.perf_counter() - started) * 1000


@contextmanager
def _recorded(encoder: Any) -> Generator[list[str]]:
    """The texts that an encoder is asked for."""
    texts: list[str] = []
    asked = encoder.embed_queries

    def recording(wanted: Sequence[str], *, prefixed: bool = False) -> Any:
        texts.extend(wanted)
        return asked(wanted, prefixed=prefixed)

    encoder.embed_queries = recording
    try:
        yield texts
    finally:
        encoder.embed_queries = asked


def spoken() -> list[str]:
    """Messages of all kinds, in an order of chance."""
    drawn = [text for text, _ in messages()]
    random.Random(1).shuffle(drawn)
    return drawn[: WARMING + CALLS]


async def run_speed(folder: Path | None = None) -> dict[str, Any]:
    """Measure the time and save it.

    Args:
        folder: A data folder that is filled already.
    """
    plain = bge_small()
    with tempfile.TemporaryDirectory(prefix="thresher-context-") as place:
        async with product.running(folder, query_cache_seconds=REMEMBERED_SECONDS, home_packs="off") as services:
            await services.intents.prepare(services.caller)
            await services.intents.settle()
            if folder is None:
                await _fill_large(services, Path(place))
            figures = await _timed(services, spoken(), plain)
    await plain.close()
    print(figures, flush=True)
    machine.save("context_speed", figures)
    return figures
