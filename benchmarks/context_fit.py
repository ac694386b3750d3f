"""Fits how probably a message needs each kind: `python -m benchmarks.fits context`.

Messages whose kind is known - for tools, passages, operations, tables, rules, and for nothing - are asked of a filled
system (`context_system`), and logistic regression weighs what the searches of all kinds say of them. Of the messages
written for contexts (`questions/context.jsonl`), which may need several kinds, every second one takes part, and
counts three times; the others are the check.
"""

from __future__ import annotations

import csv
import json
import os
import random
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks import everyday, product
from benchmarks.context_system import fill, settings
from benchmarks.documents import CORPORA, corpus_lines, manual_lines
from thresher.cases import PARTS
from thresher.context.probabilities import HEADS, features
from thresher.evaluation.context import read_context_cases
from thresher.evaluation.metrics import auc
from thresher.knowledge.documents import log_odds

QUESTIONS: Final = Path(__file__).with_name("questions")
MIXED: Final = QUESTIONS / "context.jsonl"
SEED: Final = 7
WEIGHT: Final = 3.0
RIDGE: Final = 0.4
_ROUNDS: Final = 50


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def messages() -> list[tuple[str, str]]:
    """Messages with the one kind that they need, or `none`."""
    chosen = random.Random(SEED)
    found: list[tuple[str, str]] = []

    def add(kind: str, texts: Iterable[str], most: int) -> None:
        drawn = list(dict.fromkeys(texts))
        chosen.shuffle(drawn)
        found.extend((text, kind) for text in drawn[:most])

    add("tools", (one.text for number in "123" for one in everyday.messages(number)), 150)
    add("passages", (line["question"] for name in CORPORA for line in corpus_lines(name)), 110)
    add("passages", (line["question"] for line in manual_lines()), 40)
    sets = [QUESTIONS / "apis" / f"{name}-{part}.jsonl" for name in _APIS for part in ("dev", "train")]
    add("endpoints", (row["query"] for path in sets for row in _rows(path)), 150)
    with (QUESTIONS / "schemas.tsv").open(encoding="utf-8", newline="") as file:
        add("schemas", (row[1] for row in csv.reader(file, delimiter="\t") if len(row) == 3), 40)
    add("schemas", (row["message"] for row in _rows(QUESTIONS / "context_fit.jsonl")), 60)
    add("none", (row["question"] for row in _rows(QUESTIONS / "unanswered.jsonl")), 100)
    add("none", (row["message"] for number in "123" for row in _rows(everyday.FOLDER / f"foreign-{number}.jsonl")), 100)
    if skills := os.environ.get("THRESHER_SKILLS_CASES"):
        rows = _rows(Path(skills))
        add("rules", (row["message"] for row in rows if row["skill"]), 118)
        add("none", (row["message"] for row in rows if not row["skill"]), 112)
    return found


_APIS: Final = ("kubernetes", "jira", "datadog-v1", "datadog-v2")


async def evidence(folder: Path | None = None) -> list[tuple[Mapping[str, float], frozenset[str], int]]:
    """For each message what the heads read, the kinds that it needs, and 0 if it fits, 1 or 2 for halves of the mixed.

    Args:
        folder: A data folder that is filled already.
    """
    mixed = [
        (case.message, frozenset(PARTS[kind] for kind in case.needs), 1 + number % 2)
        for number, case in enumerate(read_context_cases(MIXED))
    ]
    single = [(text, frozenset({kind} - {"none"}), 0) for text, kind in messages()]
    found: list[tuple[Mapping[str, float], frozenset[str], int]] = []
    with tempfile.TemporaryDirectory(prefix="thresher-context-") as place:
        async with product.running(folder, **settings()) as services:
            if folder is None:
                await fill(services, services.caller, Path(place))
            await services.intents.prepare(services.caller)
            await services.intents.settle()
            for text, kinds, half in single + mixed:
                seen, rules = await services.context.evidence(services.caller, text)
                if max(map(len, seen.values()), default=0) <= 1:
                    found.append(
                        (features({kind: own[0] for kind, own in seen.items()}, rules, log_odds(text)), kinds, half)
                    )
    return found


def fitted(values: NDArray[np.float64], needed: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic regression with a ridge on all weights but the first, by Newton's method.

    Args:
        values: (messages, features), the first feature 1.
        needed: (messages,).
        weights: (messages,), how often each counts.
    """
    found = np.zeros(values.shape[1])
    ridge = np.full(len(found), RIDGE)
    ridge[0] = 0.0
    for _ in range(_ROUNDS):
        chances = 1 / (1 + np.exp(-values @ found))
        slope = values.T @ (weights * (chances - needed)) + ridge * found
        curve = (values.T * (weights * chances * (1 - chances))) @ values + np.diag(ridge + 1e-9)
        found -= np.linalg.solve(curve, slope)
    return found


async def run(folder: Path | None = None) -> None:
    """Fit every head, and print it beside the one in force, with what it says of the half that it did not see."""
    rows = await evidence(folder)
    halves = np.array([half for _, _, half in rows])
    for kind, head in HEADS.items():
        values = np.array([[one[name] for name in head] for one, _, _ in rows])
        needed = np.array([kind in kinds for _, kinds, _ in rows])
        fits = halves != 2
        found = fitted(values[fits], needed[fits], np.where(halves[fits] == 1, WEIGHT, 1.0))
        chances = 1 / (1 + np.exp(-values @ found))
        shown = {name: round(float(weight), 2) for name, weight in zip(head, found, strict=True)}
        checks = [_auc(chances[halves == half], needed[halves == half]) for half in (0, 1, 2)]
        print(kind, shown, "in force", dict(head), "area under the curve, single, fitted, unseen", checks, flush=True)


def _auc(chances: NDArray[np.float64], needed: NDArray[np.bool_]) -> float:
    return round(auc(chances[needed].tolist(), chances[~needed].tolist()) or 0.0, 3)
