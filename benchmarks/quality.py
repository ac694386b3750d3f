"""Quality: what is found, against FastMCP's BM25 search and plain bge-small in the same run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import data, machine, product
from benchmarks.baselines import DEPTH, Ranker, bge_small, fastmcp_bm25, interleaved, plain_dense
from benchmarks.data import BenchSet, Case
from benchmarks.scores import Scores, graded_ndcg, lead, recall, summary
from thresher.core import Caller
from thresher.embedding import Encoder
from thresher.evaluation.metrics import auc
from thresher.knowledge.tools import MOST_BUDGET, FindResult
from thresher.services import Services

BUDGETS = (150, 300, 600)
"""Tokens of an answer; 300 is the usual one."""
SETS = (data.livemcpbench, data.metatool_multi, data.metatool_single, data.bfcl, data.mcpproxy)
Rank = Callable[[Case], Awaitable[list[str]]]


def _thresher(services: Services, caller: Caller, *, split: bool) -> Rank:
    """Rank through `find_tools`, whatever the answer has room for."""

    async def rank(case: Case) -> list[str]:
        found = await _answer(services, caller, case, split=split, budget=MOST_BUDGET, limit=DEPTH, threshold=0.0)
        return [tool.tool.key for tool in found.tools]

    return rank


async def _answer(services: Services, caller: Caller, case: Case, *, split: bool, **more: Any) -> FindResult:
    asked: dict[str, Any] = {"queries": list(case.queries)} if split else {"message": case.message}
    return await services.tools.find_tools(caller, include_core_tools=False, **asked, **more)


def _baseline(ranker: Ranker, *, split: bool) -> Rank:
    async def rank(case: Case) -> list[str]:
        return await (interleaved(ranker, case.queries) if split else ranker(case.message))

    return rank


async def _each(rank: Rank, cases: Sequence[Case]) -> list[list[str]]:
    return [await rank(case) for case in cases]


def _recalls(ranked: Sequence[Sequence[str]], cases: Sequence[Case], depth: int = 5) -> Scores:
    return np.array([recall(keys, case, depth) for keys, case in zip(ranked, cases, strict=True)])


async def _ranking(services: Services, caller: Caller, bench: BenchSet, *, split: bool) -> dict[str, Any]:
    """Recall of the three rankers on one set, with paired differences."""
    cases = [case for case in bench.cases if case.relevant and (case.queries or not split)]
    rankers = {
        "thresher": _thresher(services, caller, split=split),
        "fastmcp_bm25": _baseline(await fastmcp_bm25(bench.tools), split=split),
        "bge_small": _baseline(await plain_dense(bench.tools, bge_small()), split=split),
    }
    ranked = {name: await _each(rank, cases) for name, rank in rankers.items()}
    at_5 = {name: _recalls(keys, cases) for name, keys in ranked.items()}
    figures: dict[str, Any] = {"tools": len(bench.tools), "cases": len(cases)}
    for name, keys in ranked.items():
        figures[name] = {"recall_at_5": summary(at_5[name]), "recall_at_10": summary(_recalls(keys, cases, 10))}
        if cases[0].grades:
            graded = np.array([graded_ndcg(key, case) for key, case in zip(keys, cases, strict=True)])
            figures[name]["ndcg_at_10"] = summary(graded)
    figures["lead_at_5"] = {name: lead(at_5["thresher"], at_5[name]) for name in ("fastmcp_bm25", "bge_small")}
    return figures


async def _delivered(services: Services, caller: Caller, bench: BenchSet, *, split: bool) -> dict[str, Any]:
    """What the answers hold as a model gets them, by budget."""
    cases = [case for case in bench.cases if case.relevant and (case.queries or not split)]
    names = {tool.name: tool.tool.key for tool in await services.tools.list_tools(caller)}
    figures: dict[str, Any] = {}
    for budget in BUDGETS:
        answers = [await _answer(services, caller, case, split=split, budget=budget) for case in cases]
        full = [_keys(answer, names, "full") for answer in answers]
        every = [[*keys, *_keys(answer, names, "name")] for keys, answer in zip(full, answers, strict=True)]
        figures[str(budget)] = {
            "needed": summary(_recalls(every, cases, len(bench.tools))),
            "signature": summary(_recalls(full, cases, len(bench.tools))),
            "confusion": summary(np.array([_confused(keys, case) for keys, case in zip(full, cases, strict=True)])),
            "tokens": round(float(np.mean([answer.tokens_sent for answer in answers])), 1),
            "in_full": round(float(np.mean([len(keys) for keys in full])), 2),
            "by_name": round(float(np.mean([len(keys) for keys in every]) - np.mean([len(keys) for keys in full])), 2),
            "abstained": round(float(np.mean([answer.abstained for answer in answers])), 4),
        }
    return figures


def _keys(answer: FindResult, names: Mapping[str, str], form: str) -> list[str]:
    """The tools in one form; copies stand beside a tool in full alone."""
    return [
        names[name]
        for tool in answer.tools
        if tool.form == form
        for name in (tool.name, *(tool.also if form == "full" else ()))
    ]


def _confused(full: Sequence[str], case: Case) -> float:
    """1 if a sibling of a needed tool stands in full and that tool does not, else 0."""
    missing = [keys for keys in case.relevant if not keys & set(full)]
    servers = {key.partition("/")[0] for keys in missing for key in keys}
    others = set(full).difference(*case.relevant)
    return float(any(key.partition("/")[0] in servers for key in others))


async def _abstention(services: Services, caller: Caller, bench: BenchSet) -> dict[str, Any]:
    """Messages that an offered function answers against messages that none does; are single tasks left whole?"""
    answerable = [case for case in bench.cases if case.relevant]
    foreign = [case for case in bench.cases if not case.relevant]
    found = [await _asked(services, caller, case) for case in answerable]
    refused = [await _asked(services, caller, case) for case in foreign]
    offered: dict[str, list[str]] = {}
    for tool in bench.tools:
        offered.setdefault(tool.server, []).append(f"{tool.name}: {tool.description}")

    plain = bge_small()

    async def nearest(cases: Sequence[Case]) -> list[float]:
        return [await _nearest(plain, case.message, offered[case.server]) for case in cases]

    right = sum(not result.abstained for result in found) + sum(result.abstained for result in refused)
    return {
        "answerable": len(answerable),
        "irrelevant": len(foreign),
        "auc": _rounded(auc([result.probability for result in found], [result.probability for result in refused])),
        "auc_bge_small_cosine": _rounded(auc(await nearest(answerable), await nearest(foreign))),
        "accuracy": round(right / (len(found) + len(refused)), 4),
        "answerable_kept": round(sum(not result.abstained for result in found) / len(found), 4),
        "irrelevant_refused": round(sum(result.abstained for result in refused) / len(refused), 4),
        "left_whole": round(sum(len(result.clauses) == 1 for result in found) / len(found), 4),
    }


async def _asked(services: Services, caller: Caller, case: Case) -> FindResult:
    return await services.tools.find_tools(
        caller, message=case.message, servers=[case.server], include_core_tools=False
    )


async def _nearest(encoder: Encoder, message: str, texts: Sequence[str]) -> float:
    (vector,) = await encoder.embed_queries([message])
    return float((await encoder.embed_documents(texts) @ vector).max())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


async def _figures(services: Services, caller: Caller, bench: BenchSet, *, split: bool) -> dict[str, Any]:
    ranking = await _ranking(services, caller, bench, split=split)
    return {"delivered": await _delivered(services, caller, bench, split=split)} | ranking


async def run() -> dict[str, Any]:
    """Measure what the answers to every set hold, and the rankings alone, and save the figures."""
    figures: dict[str, Any] = {}
    async with product.running() as services:
        for read in SETS:
            bench = read()
            async with product.pool(services, bench.name, bench.tools, bench.descriptions) as caller:
                figures[bench.name] = await _figures(services, caller, bench, split=False)
                if any(case.queries for case in bench.cases):
                    figures[f"{bench.name}_steps"] = await _figures(services, caller, bench, split=True)
            print(bench.name, figures[bench.name], flush=True)
            machine.save("quality", figures)
    return figures


async def run_abstention() -> dict[str, Any]:
    """Measure whether messages that nothing fits are refused, and save the figures."""
    bench = data.bfcl_offered()
    async with (
        product.running(query_cache_size=0) as services,
        product.pool(services, bench.name, bench.tools, bench.descriptions) as caller,
    ):
        figures = await _abstention(services, caller, bench)
    print(figures, flush=True)
    machine.save("abstention", figures)
    return figures
