"""`search_documents` over 100,000 chunks in one database against 1,000, over all repositories and over one of them.

The chunks are real ones of four public texts, drawn and ordered anew for each repository; their vectors are noised
copies of real vectors, since a hundred thousand texts would take an hour to embed. All else is the product.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks import machine, product
from benchmarks.catalogue import NoisedEncoder
from benchmarks.documents import CORPORA, MANUAL, corpus_lines, folder
from benchmarks.speed import PAUSE, percentiles
from thresher.core import Caller
from thresher.embedding import open_cross_encoder
from thresher.knowledge.documents import DocumentService, Origin
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.reading import parse
from thresher.search import SearchIndex
from thresher.services import Services

REPOSITORIES = (1, 100)
CHUNKS, FILES = 1_000, 10
"""Of each repository, about."""
REAL_VECTORS, QUESTIONS, WARMING = 500, 200, 100


def real_chunks() -> list[str]:
    """The texts of all chunks."""
    found: list[str] = []
    for path in [*(folder() / "chunking_evaluation" / f"{name}.md" for name in CORPORA), folder() / "pestpp" / MANUAL]:
        parsed = parse(path.name, path.read_bytes())
        found += [parsed.text[one.start : one.end].strip() for one in chunk(parsed).chunks]
    return [text for text in found if len(text) > 40]


def write_repository(place: Path, chunks: Sequence[str], number: int) -> None:
    """A folder of files with about `CHUNKS` chunks."""
    chance = random.Random(number)
    place.mkdir()
    for part in range(FILES):
        drawn = chance.choices(chunks, k=CHUNKS // FILES)
        body = "\n\n".join(f"## Section {number}.{part}.{at}\n\n{text}" for at, text in enumerate(drawn))
        (place / f"part-{part}.md").write_text(f"# Part {part} of {number}\n\n{body}\n", encoding="utf-8")


async def _noised(services: Services, chunks: Sequence[str]) -> tuple[SearchIndex, DocumentService]:
    matrix = await services.encoder.embed_documents(random.Random(0).sample(chunks, REAL_VECTORS))
    index = SearchIndex(services.database, NoisedEncoder(services.encoder, matrix), services.settings)
    crossing = open_cross_encoder(services.settings)
    return index, DocumentService(services.database, index, crossing, services.jobs, services.settings)


async def _timed(
    documents: DocumentService, caller: Caller, repository: str | None, questions: Sequence[str]
) -> dict[str, Any]:
    """Paced searches; what the words of other questions have left is warm, as in a daemon that serves for days."""
    for question in questions[-WARMING:]:
        await documents.search_documents(caller, question, repository)
    whole: list[float] = []
    besides: list[float] = []
    searched = 0
    for question in questions[:QUESTIONS]:
        await asyncio.sleep(PAUSE)
        started = time.perf_counter()
        answer = await documents.search_documents(caller, question, repository)
        whole.append((time.perf_counter() - started) * 1000)
        besides.append(whole[-1] - answer.timings["embedding"])
        searched = answer.searched
    return {"searched": searched, **percentiles(whole), "besides_embedding": percentiles(besides)}


async def run() -> dict[str, Any]:
    """Measure at each size and save."""
    figures: dict[str, Any] = {"vectors": f"noised copies of {REAL_VECTORS} real ones"}
    chunks = real_chunks()
    questions = [line["question"] for name in CORPORA for line in corpus_lines(name)]
    random.Random(1).shuffle(questions)
    with tempfile.TemporaryDirectory(prefix="thresher-chunks-") as place:
        async with product.running(query_cache_size=0, workers=0) as services:
            index, documents = await _noised(services, chunks)
            have = 0
            for size in REPOSITORIES:
                started = time.perf_counter()
                for number in range(have, size):
                    path = Path(place) / str(number)
                    write_repository(path, chunks, number)
                    await documents.index_here(services.caller, f"r{number}", Origin("folder", str(path)))
                    shutil.rmtree(path)
                row: dict[str, Any] = {"seconds_to_index": round(time.perf_counter() - started, 1)}
                have = size
                await documents.search_documents(services.caller, "warm")
                await index.settle()
                for name, repository in (("all", None), ("one", "r0")):
                    row[name] = await _timed(documents, services.caller, repository, questions)
                row["memory_mb"] = round(psutil.Process().memory_info().rss / 2**20)
                figures[f"repositories_{size}"] = row
                print(size, row, flush=True)
            await index.close()
    small, large = (figures[f"repositories_{size}"] for size in REPOSITORIES)
    figures["p95_ratio"] = {
        "all": round(large["all"]["p95_ms"] / small["all"]["p95_ms"], 2),
        "one": round(large["one"]["p95_ms"] / small["one"]["p95_ms"], 2),
    }
    machine.save("chunks", figures)
    return figures
