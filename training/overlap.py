"""Lines of the training data that are too like a line of a benchmark: equal, long runs of equal words, or near copies.

Near copies are found by vectors of the shipped encoder, over all pairs, so rewording does not hide one. People ask for
common things in the same words ("what's the weather tomorrow"), so what was looked at and may stay is in `ALLOWED`.

Invariant: benchmark lines are read and compared, never written anywhere; a report names the training line alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from thresher.embedding import Encoder
from training.messages import FOLDER, read_intents, read_messages, read_no_tool, read_passages, read_requests

RUN: Final = 13
"""Equal words in a row that make a copy of two lines."""
NEAR: Final = 0.95
"""Cosine at which two lines are near copies; below, most say the same in words of their own."""
ALLOWED: Final = FOLDER / "allowed_overlap.txt"
"""Training lines, normalised, that a person has looked at: common requests that anybody words so."""
QUESTIONS: Final = FOLDER.parent / "benchmarks" / "questions"
_FIELDS: Final = ("message", "question", "query")
_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")
_BATCH: Final = 2_048


@dataclass(frozen=True, slots=True)
class Overlap:
    """A training line that is too like a benchmark's.

    Attributes:
        line: The training line, normalised.
        origin: The set that has the other line.
        why: `equal`, `13 words in a row`, or the cosine.
        other: The other line, normalised.
    """

    line: str
    origin: str
    why: str
    other: str


def normal(text: str) -> str:
    """Return a text's words in lower case, without punctuation, every digit as 0."""
    return " ".join(_WORD.findall(_DIGIT.sub("0", text.casefold())))


def training_lines() -> list[str]:
    """Return every line of the training data that stands for what somebody types, normalised, without repeats."""
    lines = [message.text for message in read_messages()]
    lines += [request.text for request in read_requests()]
    lines += read_no_tool()
    lines += [question for passage in read_passages() for question in passage.questions]
    lines += [line for intent in read_intents() for line in intent.lines]
    return list(dict.fromkeys(filter(None, map(normal, lines))))


def benchmark_lines() -> dict[str, str]:
    """Return the questions of all benchmark sets, normalised, each with its set.

    Raises:
        SystemExit: The folder of the public sets is not there; the message says what to set.
    """
    found: dict[str, str] = {}
    for origin, line in (*_public_lines(data.folder().parent), *_own_lines()):
        if text := normal(line):
            found.setdefault(text, origin)
    return found


def _public_lines(folder: Path) -> Iterator[tuple[str, str]]:
    for read in (data.livemcpbench, data.metatool_multi, data.mcpproxy, data.bfcl, data.bfcl_offered):
        benchmark = read()
        for case in benchmark.cases:
            yield from ((benchmark.name, line) for line in (case.message, *case.queries))
    with (folder / "tools" / "metatool" / "all_clean_data.csv").open(encoding="utf-8", newline="") as file:
        yield from (("metatool", row["Query"]) for row in csv.DictReader(file))
    for name in ("banking77", "clinc150"):
        for path in sorted((folder / "intents" / name).rglob("seq.in")):
            yield from ((name, line) for line in path.read_text(encoding="utf-8").splitlines())
    parts = json.loads((folder / "intents" / "clinc150" / "data_full.json").read_text(encoding="utf-8"))
    yield from (("clinc150", line) for rows in parts.values() for line, _ in rows)
    asked = json.loads((folder / "apis" / "restbench" / "tmdb.json").read_text(encoding="utf-8"))
    yield from (("restbench", row["query"]) for row in asked)
    with (folder / "documents" / "chunking_evaluation" / "questions.csv").open(encoding="utf-8", newline="") as file:
        yield from (("chunking", row["question"]) for row in csv.DictReader(file))


def _own_lines() -> Iterator[tuple[str, str]]:
    for path in sorted(QUESTIONS.rglob("*.jsonl")):
        for raw in path.read_text(encoding="utf-8").splitlines():
            row: Any = json.loads(raw) if raw.strip() else {}
            if isinstance(row, dict):
                yield from ((path.stem, row[name]) for name in _FIELDS if isinstance(row.get(name), str))


def allowed() -> frozenset[str]:
    """Return the lines that were looked at and may stay."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def copies(lines: Sequence[str], others: Mapping[str, str]) -> list[Overlap]:
    """Return the lines that equal another line, or share `RUN` words in a row with one."""
    runs = {run: line for line in others for run in _runs(line)}
    found: list[Overlap] = []
    for line in lines:
        if line in others:
            found.append(Overlap(line, others[line], "equal", line))
        elif shared := next((run for run in _runs(line) if run in runs), None):
            found.append(Overlap(line, others[runs[shared]], f"{RUN} words in a row", runs[shared]))
    return found


def _runs(line: str) -> Iterator[tuple[str, ...]]:
    words = line.split()
    yield from (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


async def near_copies(encoder: Encoder, lines: Sequence[str], others: Mapping[str, str]) -> list[Overlap]:
    """Return the lines whose nearest other line has a cosine of `NEAR` or more, nearest first.

    Args:
        encoder: Embeds both; a thousand short lines a second on two idle cores.
        lines: Training lines.
        others: Benchmark lines with their sets.
    """
    known = list(others)
    return nearest_pairs(await _embedded(encoder, lines), await _embedded(encoder, known), lines, known, others)


def nearest_pairs(
    vectors: NDArray[np.float32],
    known_vectors: NDArray[np.float32],
    lines: Sequence[str],
    known: Sequence[str],
    origins: Mapping[str, str],
) -> list[Overlap]:
    """Return for each line its nearest known line, if that is near enough, nearest first.

    Args:
        vectors: Unit vectors of the lines, float32 (n, d).
        known_vectors: Unit vectors of the known lines, float32 (m, d).
        lines: The lines, n.
        known: The known lines, m.
        origins: The set of each known line.
    """
    found: list[tuple[float, Overlap]] = []
    for first in range(0, len(lines), _BATCH):
        scores = vectors[first : first + _BATCH] @ known_vectors.T
        best = scores.argmax(axis=1)
        for place in np.flatnonzero(scores.max(axis=1) >= NEAR).tolist():
            cosine, other = float(scores[place, best[place]]), known[int(best[place])]
            found.append((cosine, Overlap(lines[first + place], origins[other], f"{cosine:.3f}", other)))
    return [overlap for _, overlap in sorted(found, key=lambda pair: -pair[0])]


async def _embedded(encoder: Encoder, lines: Sequence[str]) -> NDArray[np.float32]:
    parts = [await encoder.embed_documents(lines[start : start + _BATCH]) for start in range(0, len(lines), _BATCH)]
    return np.concatenate(parts)
