"""Speed of documents: answers beside the embedding of the question, the first answer, the rate and the second run.

The users manual of PEST++ (200,000 tokens) is indexed by a job in the worker process, as people index. The encoder's
own rate is what one niced process of it, started before, does with the same texts, cut and headed, in the same run; the
rate of the index is that of the job, after its worker has started.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import machine, product
from benchmarks.documents import MANUAL, folder, manual_lines
from benchmarks.speed import PAUSE, percentiles
from thresher.embedding import open_encoder
from thresher.knowledge.documents import Origin, Repository
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.entries import heading_line
from thresher.knowledge.documents.reading import parse
from thresher.services import Services

ROUNDS = 3
"""Times that each question is asked; what the encoder remembers expires between two calls."""
REMEMBERED_SECONDS = 0.8 * PAUSE
SMALL_LINES = 330
"""The first lines of the manual: some 7,000 tokens, less than the usual budget."""
_PROSE = re.compile(r"^(?=[A-Z])", re.MULTILINE)
"""Where a line of prose begins; with a word put there, no passage is as it was."""
Act = Callable[[], Awaitable[object]]


async def _ready(services: Services, name: str) -> Repository:
    """Wait until a repository is ready and its job has ended, without taking much of the machine meanwhile."""
    while True:
        found = await services.documents.repository(services.caller, name)
        if found.state in ("ready", "failed"):
            assert found.state == "ready", found.problem
            if (await services.jobs.find(services.caller, found.job)).ended_at is not None:
                return found
        await asyncio.sleep(0.5)


async def _took(services: Services, repository: Repository) -> tuple[float, float]:
    """Seconds of a repository's last job: from its beginning, and from when it was asked for."""
    job = await services.jobs.find(services.caller, repository.job)
    assert job.started_at is not None
    assert job.ended_at is not None
    return (job.ended_at - job.started_at).total_seconds(), (job.ended_at - job.created_at).total_seconds()


async def _first_answer(services: Services, name: str, path: Path, question: str) -> dict[str, float]:
    """Seconds from asking for the index to the first answer, and to the first reranked one."""
    caller, started = services.caller, time.perf_counter()
    await services.documents.index(caller, name, Origin("file", str(path)))
    seconds: dict[str, float] = {}
    for rerank in (False, True):
        while True:
            answer = await services.documents.retrieve_document(caller, question, name, rerank=rerank)
            if answer.found:
                break
            await asyncio.sleep(0.02)
        seconds["reranked" if rerank else "lexical"] = round(time.perf_counter() - started, 2)
    return seconds


async def _besides(
    services: Services, act: Callable[[str], Awaitable[object]], questions: Sequence[str]
) -> dict[str, Any]:
    """An answer against the embedding of its question, one of the two drawn first each time."""
    whole: list[float] = []
    alone: list[float] = []
    turns = random.Random(1)
    for question in questions:
        acts: list[tuple[list[float], Act]] = [
            (whole, lambda question=question: act(question)),
            (alone, lambda question=question: services.encoder.embed_queries([question], prefixed=True)),
        ]
        for taken, one in turns.sample(acts, 2):
            await asyncio.sleep(PAUSE)
            started = time.perf_counter()
            await one()
            taken.append((time.perf_counter() - started) * 1000)
    besides = median(whole) - median(alone)
    return {
        "answer": percentiles(whole),
        "embedding": percentiles(alone),
        "besides_embedding_ms": round(besides, 2),
        "multiple_of_embedding": round(besides / median(alone), 2),
    }


async def _own_rate(services: Services, text: str) -> tuple[float, int]:
    """Tokens a second of the encoder alone on the ready chunks, and how many tokens the document has."""
    parsed = parse(MANUAL, text.encode())
    chunked = chunk(parsed)
    ready = [
        f"{heading_line(parsed.title, chunked.headings[one.heading])}\n{parsed.text[one.start : one.end]}"
        for one in chunked.chunks
    ]
    encoder = open_encoder(services.settings)
    try:
        await encoder.embed_documents(["warm"] * 9)
        started = time.perf_counter()
        await encoder.embed_documents(ready)
        seconds = time.perf_counter() - started
    finally:
        await encoder.close()
    tokens = sum(one.tokens for one in chunked.chunks)
    return tokens / seconds, tokens


async def _index_rate(services: Services, manual: Path, other: Path, text: str, question: str) -> dict[str, Any]:
    """The rate of the whole job, the encoder's own, a second run that finds nothing new, and first answers.

    These are asked of another edition of the manual, none of whose passages was embedded before.
    """
    await services.documents.index(services.caller, "manual", Origin("file", str(manual)))
    ready = await _ready(services, "manual")
    seconds, whole = await _took(services, ready)
    own, tokens = await _own_rate(services, text)
    await services.documents.refresh(services.caller, "manual")
    again = await _ready(services, "manual")
    _, second = await _took(services, again)
    first = await _first_answer(services, "edition", other, question)
    await _ready(services, "edition")
    await services.documents.remove_repository(services.caller, "edition")
    return {
        "never_indexed_seconds": first,
        "index": {
            "tokens": tokens,
            "chunks": ready.chunks,
            "seconds": round(seconds, 2),
            "seconds_with_the_start_of_a_worker": round(whole, 2),
            "tokens_a_second": round(tokens / seconds),
            "encoder_tokens_a_second": round(own),
            "share_of_encoder": round(tokens / seconds / own, 3),
        },
        "second_run": {"seconds": round(second, 2), "changed": again.edition != ready.edition},
    }


async def _answers(services: Services, questions: Sequence[str]) -> dict[str, Any]:
    """Answers of each kind beside the embedding of their questions."""
    caller, documents = services.caller, services.documents
    acts: dict[str, Callable[[str], Awaitable[object]]] = {
        "retrieve_document": lambda one: documents.retrieve_document(caller, one, "manual"),
        "under_budget": lambda one: documents.retrieve_document(caller, one, "small"),
        "search_documents": lambda one: documents.search_documents(caller, one),
        "reranked": lambda one: documents.retrieve_document(caller, one, "manual", rerank=True),
    }
    for act in acts.values():
        await _besides(services, act, questions[:10])
    return {
        name: await _besides(services, act, questions[: len(questions) // ROUNDS] if name == "reranked" else questions)
        for name, act in acts.items()
    }


async def run() -> dict[str, Any]:
    """Measure and save."""
    questions = [line["question"] for line in manual_lines()] * ROUNDS
    figures: dict[str, Any] = {"questions": len(questions)}
    with tempfile.TemporaryDirectory(prefix="thresher-manual-") as place:
        big, other, small = (Path(place) / name / MANUAL for name in ("big", "other", "small"))
        for path in (big, other, small):
            path.parent.mkdir()
        shutil.copy(folder() / "pestpp" / MANUAL, big)
        text = big.read_text(encoding="utf-8")
        other.write_text(_PROSE.sub("Again: ", text), encoding="utf-8")
        small.write_text("".join(text.splitlines(keepends=True)[:SMALL_LINES]), encoding="utf-8")
        async with product.running(query_cache_seconds=REMEMBERED_SECONDS) as services:
            await services.intents.prepare(services.caller)  # the packs' lines are embedded at a first start
            await services.intents.settle()
            figures |= await _index_rate(services, big, other, text, questions[0])
            await services.documents.index(services.caller, "small", Origin("file", str(small)))
            await _ready(services, "small")
            figures |= await _answers(services, questions)
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("document_speed", figures)
    return figures
