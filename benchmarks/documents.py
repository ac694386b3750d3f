"""Passages: full retention under a budget, beside plain rules, on public corpora and on a manual of 200,000 tokens.

Three corpora of chunking_evaluation (Smith and Troynikov, 2024; MIT) with their questions and exact spans, each alone,
and 40 questions of our own over the users manual of PEST++ (USGS), half of them in words that it does not use. The
manual's questions were written before anything was tuned, and nothing was tuned on them.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import data, machine, product
from thresher.evaluation import DocumentResult, DocumentTrial, evaluate_documents, read_document_questions
from thresher.services import Services

CORPORA = ("wikitexts", "state_of_the_union", "chatlogs")
BUDGETS = (1000, 2000, 4000, 8000)
MANUAL = "pestpp_users_manual.md"
QUESTIONS = Path(__file__).with_name("questions") / "pestpp.jsonl"
UNANSWERED = QUESTIONS.with_name("unanswered.jsonl")
"""Small talk and questions to which no document is needed; the thresholds of abstaining were chosen with them."""
_SHOWN = ("full_retention", "span_recall")


def folder() -> Path:
    """Where the documents are."""
    return data.folder().parent / "documents"


def corpus_lines(name: str) -> Iterator[dict[str, Any]]:
    """The questions of one corpus, as `thresher eval documents` reads them."""
    with (folder() / "chunking_evaluation" / "questions.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["corpus_id"] == name:
                golds = json.loads(row["references"])
                spans = [{"start": gold["start_index"], "end": gold["end_index"]} for gold in golds]
                yield {"document": f"{name}.md", "question": row["question"], "spans": spans}


def manual_lines(words: str = "") -> Iterator[dict[str, Any]]:
    """The questions over the manual; `words`: only those in the manual's own (`same`) or in `other` words."""
    starts = [0]
    for line in (folder() / "pestpp" / MANUAL).read_text(encoding="utf-8").splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for row in map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines()):
        if words in ("", row["words"]):
            spans = [{"start": starts[first - 1], "end": starts[last] - 1} for first, last in row["lines"]]
            yield {"document": MANUAL, "question": row["question"], "spans": spans}


def unanswered_lines() -> Iterator[dict[str, Any]]:
    """Messages that nothing in a corpus answers."""
    for row in map(json.loads, UNANSWERED.read_text(encoding="utf-8").splitlines()):
        yield {"question": row["question"]}


async def _evaluated(services: Services, corpus: Path, lines: Iterator[dict[str, Any]]) -> Sequence[DocumentResult]:
    with tempfile.TemporaryDirectory(prefix="thresher-questions-") as place:
        path = Path(place) / "questions.jsonl"
        path.write_text("\n".join(json.dumps(line) for line in chain(lines, unanswered_lines())), encoding="utf-8")
        questions, texts = read_document_questions(corpus, path)
    trial = DocumentTrial(corpus, texts, questions, BUDGETS)
    return await evaluate_documents(services.database, services.encoder, services.documents, trial, lambda *_: None)


def _row(result: DocumentResult) -> dict[str, Any]:
    """The figures of one budget; of the plain rules those that say how much they find."""
    ours = {name: _rounded(value) for name, value in asdict(result.figures).items()}
    others = {
        rule: {name: _rounded(getattr(figures, name)) for name in _SHOWN} for rule, figures in result.baselines.items()
    }
    best = max(figures.full_retention or 0.0 for figures in result.baselines.values())
    ahead = (result.figures.full_retention or 0.0) - best
    refusals = {name: _rounded(getattr(result, name)) for name in ("foreign_refused", "answerable_lost")}
    return ours | refusals | {"baselines": others, "ahead_of_best_baseline": _rounded(ahead)}


def _rounded(value: float | None) -> float | None:
    return round(value, 4) if isinstance(value, float) else value


async def run() -> dict[str, Any]:
    """Measure and save."""
    figures: dict[str, Any] = {}
    async with product.running(workers=0) as services:
        for name in CORPORA:
            results = await _evaluated(services, folder() / "chunking_evaluation", corpus_lines(name))
            figures[name] = {str(result.budget): _row(result) for result in results}
            print(name, json.dumps(figures[name]), flush=True)
        for words in ("same", "other"):
            results = await _evaluated(services, folder() / "pestpp", manual_lines(words))
            figures[f"pestpp_{words}_words"] = {str(result.budget): _row(result) for result in results}
            print(words, json.dumps(figures[f"pestpp_{words}_words"]), flush=True)
    machine.save("documents", figures)
    return figures
