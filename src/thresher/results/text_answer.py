"""Writes what is delivered of a text: verbatim passages with their lines, under headings, tables with their header.

Invariant: pure; never more tokens than the budget.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.results.matching import Matches
from thresher.results.parts import Parts, estimated_tokens, filled
from thresher.results.text_parts import log_shape
from thresher.search import Floats, Ids, Units

_MARK: Final = 6
_FRAME: Final = 12
_FAILURE: Final = re.compile(
    r"\b(?:error|fail|crash|exception|problem|wrong|broke|abort|warn|reject|denied)", re.IGNORECASE
)
_SEVERE: Final = re.compile(
    r"\b(?:FATAL|CRITICAL|PANIC|ERROR|SEVERE|Traceback|FAILED)\b|\b\w+(?:Error|Exception)\b|\berror:", 0
)
_SHAPE: Final = 0.3


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """What is delivered."""

    text: str
    tokens: int
    parts: int
    passages: Sequence[str]


def text_answer(
    parts: Parts, matches: Matches, focus: str, budget: int, whole: int, more: str, first_line: int = 1
) -> TextAnswer:
    """Choose parts, and write them in the order of the text.

    Args:
        parts: The parts.
        matches: Their scores.
        focus: The question.
        budget: Most tokens.
        whole: About how many tokens the whole has.
        more: How to get the rest.
        first_line: Its number.
    """
    lines = parts.text.count("\n") + (not parts.text.endswith("\n"))
    alike = _alike(parts) if parts.kind == "log" else None
    scores = _scores(parts, matches, focus, alike)
    shape = log_shape(parts.text) if parts.kind == "log" else parts.shape
    shape = shape if shape and count_tokens(shape) <= _SHAPE * budget else ""

    def frame(count: int) -> str:
        said = f"about {whole:,} tokens, {lines:,} lines; {count:,} of {len(parts):,} parts follow"
        head = f"[{parts.kind}, {said}{more and '; '}{more}]"
        return "\n".join(line for line in (head, shape and f"[{shape}]", parts.prefix) if line)

    room = budget - count_tokens(frame(len(parts))) - _FRAME
    most = max(int(0.45 * room / max(whole, 1) * len(parts.text)), 80)
    passages: list[str] = []

    def write(kept: Sequence[int]) -> tuple[str, int]:
        body, passages[:] = _written(parts, sorted(kept), matches, most, alike, first_line)
        text = "\n".join([frame(len(kept)), *body])
        return text, count_tokens(text)

    kept, text, tokens = filled(_units(parts, alike, most), scores, budget, budget - room, write)
    if tokens > budget:
        text = _cut(f"[about {whole:,} tokens; {more}]", budget)
        return TextAnswer(text, count_tokens(text), 0, ())
    return TextAnswer(text, tokens, len(kept), passages)


def _cut(text: str, budget: int) -> str:
    while text and count_tokens(text) > budget:
        text = text[: len(text) * 2 // 3]
    return text


@dataclass(frozen=True, slots=True)
class Alike:
    """Lines of a log that differ alone in what may be a number, a date or an id: digits and letters of hexadecimals.

    Attributes:
        first: int64 (n,), the first part with the same words.
        last: int64 (n,), the last.
        counts: int64 (n,), how many there are.
    """

    first: Ids
    last: Ids
    counts: Ids


def _alike(parts: Parts) -> Alike:
    plain = str.maketrans("", "", "0123456789abcdefABCDEF-")
    known: dict[str, int] = {}
    templates = np.empty(len(parts), np.int64)
    for place, (start, end) in enumerate(zip(parts.starts.tolist(), parts.ends.tolist(), strict=True)):
        templates[place] = known.setdefault(parts.text[start:end].translate(plain), len(known))
    rows = np.arange(len(parts))
    last = np.zeros(len(known), np.int64)
    last[templates] = rows
    first = np.zeros(len(known), np.int64)
    first[templates[::-1]] = rows[::-1]
    return Alike(first[templates], last[templates], np.bincount(templates, minlength=len(known))[templates])


def _scores(parts: Parts, matches: Matches, focus: str, alike: Alike | None) -> Floats:
    """The order in which parts are taken: by the words of the question, then severe lines, then the beginning."""
    scores = matches.scores.copy()
    size = len(parts)
    if not size:
        return scores
    top = float(scores.max()) or 1.0
    if parts.neighbours and size > 1:
        lent = np.zeros_like(scores)
        lent[1:] = np.maximum(lent[1:], scores[:-1])
        lent[:-1] = np.maximum(lent[:-1], scores[1:] * 0.6)
        scores = np.maximum(scores, 0.0) + 0.25 * lent
    if alike is not None:
        rows = np.arange(size)
        severe = np.array(
            [
                _SEVERE.search(parts.text, int(first), int(last)) is not None
                for first, last in zip(parts.starts, parts.ends, strict=True)
            ]
        )
        weight = 0.5 if not matches.scores.any() or _FAILURE.search(focus) else 0.15
        scores[severe & ((alike.first == rows) | (alike.last == rows))] += np.float32(weight * top)
        scores[severe] += np.float32(0.1 * weight * top)
    scores[list(parts.first)] += np.float32(top)
    scores += np.linspace(1e-3, 0, size, dtype=np.float32) * np.float32(top)
    return scores.astype(np.float32)


def _units(parts: Parts, alike: Alike | None, most: int) -> Units:
    lengths = np.minimum(parts.ends - parts.starts, most)
    ratio = estimated_tokens(parts.text) / max(len(parts.text), 1)
    costs = np.maximum(np.ceil(lengths * ratio * 1.1), 1).astype(np.int64) + 1
    openings = np.full(len(parts), _MARK, np.int64)
    names = np.array([round(len(name) * 0.3) + 3 if name else 0 for name in parts.names], np.int64)
    twins = np.arange(len(parts)) if alike is None else alike.first
    return Units(costs, openings, parts.labels, names, twins)


def _written(
    parts: Parts, chosen: Sequence[int], matches: Matches, most: int, alike: Alike | None, first_line: int
) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    passages: list[str] = []
    said = set[int]()
    label, line, read, before = 0, first_line, 0, -2
    for part in chosen:
        start, end = int(parts.starts[part]), int(parts.ends[part])
        line += parts.text.count("\n", read, start)
        read = start
        if parts.labels[part] != label:
            label = int(parts.labels[part])
            before = -2
            if parts.names[label] and not parts.text.startswith(parts.names[label].rpartition(" > ")[2], start + 2):
                lines.append(f"## {parts.names[label]}" if parts.kind != "code" else f"# in {parts.names[label]}")
        text = parts.text[start:end]
        first = max(0, min(matches.places.get(part, 0) - most // 3, len(text) - most))
        if part != before + 1 or first:
            lines.append(f"[{line + text.count(chr(10), 0, first)}]")
        if len(text) > most:
            passages.append(text[first : first + most])
            text = f"{'…' if first else ''}{passages[-1]}… [{len(text):,} characters]"
        else:
            passages.append(text)
        if alike is not None and alike.counts[part] > 1 and (kind := int(alike.first[part])) not in said:
            said.add(kind)
            text += f"  [x{int(alike.counts[part])} alike]"
        lines.append(text)
        before = part
    return lines, passages
