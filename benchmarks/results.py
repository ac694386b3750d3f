"""Results inside a budget: whether answers that stand in large results are delivered, and how long it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import data, machine
from thresher.core import Settings
from thresher.embedding import FORMER_MODEL, open_encoder
from thresher.evaluation import ResultCase, evaluate_results, result_figures
from thresher.results import fit

QUESTIONS = Path(__file__).parent / "questions" / "results.jsonl"
"""Questions to files of the benchmark data; the constants were chosen with these in view."""
QUERY = "Which operation deletes a webhook of a project?"
BUDGET = 2_000
ROUNDS = 15
SIZES = {"20,000": 80_000, "1,000,000": None}
"""Characters of the measured text, by about how many tokens it has; None: all of it."""


def _cases(folder: Path) -> list[ResultCase]:
    entries = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [ResultCase(folder / one["result"], one["mime"], one["question"], one["answers"]) for one in entries]


def _seconds(work: Callable[[], object]) -> float:
    """Median processor time of a call: other work on the machine does not count."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return median(spent)


async def _query_seconds() -> float:
    """Median processor time of one query embedding by bge-small, int8."""
    encoder = open_encoder(Settings(model=FORMER_MODEL, query_cache_size=0))
    try:
        await encoder.warm()
        spent: list[float] = []
        for _ in range(4 * ROUNDS):
            started = time.process_time()
            await encoder.embed_queries([QUERY])
            spent.append(time.process_time() - started)
        return median(spent)
    finally:
        await encoder.close()


async def run() -> dict[str, Any]:
    """Measure, and save."""
    folder = data.folder().parent
    quality = asdict(result_figures(evaluate_results(_cases(folder))))
    quality.pop("missed")
    query = await _query_seconds()
    described = (folder / "apis" / "kubernetes" / "swagger.json").read_text(encoding="utf-8")
    definitions = json.loads(described)["definitions"]
    times: dict[str, Any] = {}
    for name, size in SIZES.items():
        text = described if size is None else json.dumps(dict(list(definitions.items())[: size // 1_700]))
        spent = _seconds(lambda text=text: fit(text, BUDGET, QUERY))
        times[name] = {"characters": len(text), "ms": round(spent * 1000, 1), "queries": round(spent / query, 1)}
    figures = {"quality": quality, "query_ms": round(query * 1000, 2), "times": times}
    print(json.dumps(figures, indent=1), machine.save("results", figures), flush=True)
    return figures
