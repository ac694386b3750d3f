"""Lint of training lines: repeated, contradictory, nearly the same, too few, out of balance.

Invariant: pure, except that `written_lines` reads the two files of lines again, since a pack keeps only distinct lines
without numbers. Time and result are bounded however many lines are alike: by words the time grows with the lines, by
vectors with their square, in blocks of bounded size.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from thresher.core import InvalidInput, shortened
from thresher.embedding import Matrix
from thresher.knowledge.intents.files import LINES_BYTES, decoded, opened
from thresher.knowledge.intents.models import Line, LintFinding, LintSeverity, Pack
from thresher.knowledge.intents.reader import EVALS, EXAMPLES, NOT_EXAMPLES, RULES

NEAR_WORDS: Final = 0.8
"""Least share of common words (Jaccard) of two lines that are nearly the same."""
NEAR_VECTORS: Final = 0.85
"""Least nearness of vectors, on a scale whose 0 is the usual cosine of two lines of the same set and whose 1 is
equality: cosines themselves cannot be compared between encoders."""
_HELD: Final = 200
_BLOCK: Final = 1_024
_SAMPLE: Final = 512
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two lines, by index, the lower one first, and their nearness, 0 to 1."""

    first: int
    second: int
    nearness: float


def plain_line(text: str) -> str:
    """Return the letters and digits of a line, by which lines are equal whatever their case, marks and white space."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def near_by_words(lines: Sequence[str], groups: Sequence[int], *, least: float = NEAR_WORDS) -> list[NearPair]:
    """Find for each line the nearest earlier one of each group, by the overlap of their sets of words.

    Candidates share one of the rarest words of each: two sets of a Jaccard index of at least t share one of the first
    |x| - ceil(t |x|) + 1 words of x in any fixed order (prefix filtering, Chaudhuri et al. 2006). Of the lines that
    share a word, the latest `_HELD` different ones of each group are compared.

    Args:
        lines: Any texts; those without words are near to nothing.
        groups: The group of each.
        least: Least Jaccard index, above 0.

    Returns:
        Nearest first.
    """
    words = [frozenset(plain_line(line).split()) for line in lines]
    counts = Counter(word for line in words for word in line)
    holders: defaultdict[tuple[int, str], deque[int]] = defaultdict(lambda: deque(maxlen=_HELD))
    known: set[tuple[int, frozenset[str]]] = set()
    pairs: list[NearPair] = []
    distinct = sorted(set(groups))
    for second, line in enumerate(words):
        ordered = sorted(line, key=lambda word: (counts[word], word))
        prefix = ordered[: len(line) - math.ceil(least * len(line)) + 1]
        for group in distinct:
            candidates = {first for word in prefix for first in holders.get((group, word), ())}
            nearest = min(((-_overlap(line, words[first]), first) for first in candidates), default=(0.0, -1))
            if -nearest[0] >= least:
                pairs.append(NearPair(nearest[1], second, -nearest[0]))
        if (groups[second], line) not in known:
            known.add((groups[second], line))
            for word in prefix:
                holders[groups[second], word].append(second)
    return _nearest_first(pairs)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def near_by_vectors(vectors: Matrix, groups: Sequence[int], *, least: float = NEAR_VECTORS) -> list[NearPair]:
    """Find for each line the nearest earlier one of each group whose vectors are close.

    Args:
        vectors: float32 (lines, dimension), rows of length 1.
        groups: The group of each line.
        least: Least nearness, see `NEAR_VECTORS`.

    Returns:
        Nearest first.
    """
    usual = _usual_cosine(vectors)
    labels = np.asarray(groups, np.int64)
    pairs: list[NearPair] = []
    for group in set(groups):
        places = np.flatnonzero(labels == group)
        for start in range(0, len(vectors), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(vectors)))
            cosines = np.where(places < rows[:, None], vectors[rows] @ vectors[places].T, -1.0)
            best = cosines.argmax(axis=1)
            nearness = (cosines[np.arange(len(rows)), best] - usual) / (1 - usual)
            near = np.flatnonzero(nearness >= least)
            pairs += [NearPair(int(places[best[row]]), start + int(row), float(nearness[row])) for row in near]
    return _nearest_first(pairs)


def _usual_cosine(vectors: Matrix) -> float:
    """Return the median over the pairs of an even sample; 0 if there are too few lines."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    if len(sample) < 3:
        return 0.0
    above = np.triu_indices(len(sample), k=1)
    return min(0.9, max(0.0, float(np.median((sample @ sample.T)[above]))))


def _nearest_first(pairs: list[NearPair]) -> list[NearPair]:
    return sorted(pairs, key=lambda pair: (-pair.nearness, pair.first, pair.second))


FEW: Final = 10
"""With fewer lines a linear head has nothing to fit."""
ENOUGH: Final = 100
IMBALANCE: Final = 5
"""A pack with so many times the lines of another is chosen too often."""
_SHOWN: Final = 20
"""Findings of one kind that are listed, for each pack or pair of packs; the others are counted."""
_EXCERPT: Final = 60


def written_lines(pack: Pack) -> tuple[Line, ...]:
    """Return a pack's lines and questions, including repeated ones.

    Args:
        pack: As read; its lines come from its description if it has no file of them.
    """
    if pack.form == "pack":
        lines = [*_file_lines(pack, EXAMPLES), *_file_lines(pack, NOT_EXAMPLES)]
    else:
        lines = [Line(pack.name, RULES if pack.form == "skill" else pack.path.name, 0, text) for text in pack.examples]
    return (*lines, *(Line(pack.name, EVALS, 0, query.query) for query in pack.evals if pack.form == "pack"))


def _file_lines(pack: Pack, name: str) -> Iterator[Line]:
    if not any(file.path == name for file in pack.files):
        return
    text = _read(pack.path / name)
    for number, line in enumerate(text.split("\n"), 1):
        if (stripped := " ".join(line.split())) and not stripped.startswith("#"):
            yield Line(pack.name, name, number, stripped)


def _read(path: Path) -> str:
    """Return the part of a file that a pack uses; empty if it cannot be read, which the reader reports."""
    try:
        with opened(path) as stream:
            return decoded(stream.read(LINES_BYTES))[0]
    except (OSError, InvalidInput):
        return ""


def is_training(line: Line) -> bool:
    """Return whether the line teaches what the intent is."""
    return line.file not in (NOT_EXAMPLES, EVALS)


def repeated(lines: Iterable[Line]) -> Iterator[LintFinding]:
    """Yield lines that are equal except for case, marks and white space."""
    groups: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[plain_line(line.text) or line.text].append(line)
    counts: Counter[tuple[str, LintSeverity, str]] = Counter()
    for group in groups.values():
        for index, line in enumerate(group):
            clashes = (_compared(line, other) for other in islice(group, index))
            finding = next((clash for clash in clashes if clash is not None), None)
            if finding is None:
                continue
            kind = (finding.pack, finding.severity, finding.check)
            counts[kind] += 1
            if counts[kind] <= _SHOWN:
                yield finding
    for kind, count in counts.items():
        if count > _SHOWN:
            yield LintFinding(*kind, f"There {_more(count - _SHOWN, 'such line')}.")


def _more(count: int, thing: str) -> str:
    return f"is 1 more {thing}" if count == 1 else f"are {count:,} more {thing}s"


def _compared(line: Line, other: Line) -> LintFinding | None:
    """Return what is wrong with two equal lines, the later one first; None if nothing is."""
    text = _quoted(line)
    if line.pack != other.pack:
        if not (is_training(line) and is_training(other)):
            return None
        message = f"{text} is a training line of '{other.pack}' too ({other.where})."
        return LintFinding(line.pack, "error", "duplicate", message, line.where, "Keep it in one of the two.")
    if line.file == other.file:
        return (
            LintFinding(
                line.pack,
                "warning",
                "duplicate",
                f"{text} stands in line {other.number} already.",
                line.where,
                "Remove it.",
            )
            if line.number
            else None
        )
    if EVALS in (line.file, other.file):
        message = f"{text} is also in {other.where}: a question that was trained on shows nothing."
        return LintFinding(line.pack, "warning", "trained-question", message, line.where, "Write another question.")
    message = f"{text} is said to fit and not to fit ({other.where})."
    return LintFinding(line.pack, "error", "contradiction", message, line.where, "Remove one of the two.")


def nearly_same(lines: Sequence[Line], pairs: Iterable[NearPair]) -> Iterator[LintFinding]:
    """Yield pairs of training lines that say nearly the same.

    Args:
        lines: Training lines.
        pairs: Their near pairs, nearest first.
    """
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for pair in pairs:
        first, second = lines[pair.first], lines[pair.second]
        if plain_line(first.text) == plain_line(second.text):
            continue
        group = (first.pack, second.pack)
        counts[group] += 1
        if counts[group] <= _SHOWN:
            yield _near(first, second, pair.nearness)
    for (first, second), count in counts.items():
        if count > _SHOWN:
            among = "of its own" if first == second else f"with '{first}'"
            message = f"There {_more(count - _SHOWN, 'near-duplicate')} {among}."
            yield LintFinding(second, "hint" if first == second else "warning", "near-duplicate", message)


def _near(first: Line, second: Line, nearness: float) -> LintFinding:
    if first.pack == second.pack:
        message = f"{_quoted(second)} is nearly line {first.where}, {_quoted(first)} ({nearness:.2f})."
        return LintFinding(second.pack, "hint", "near-duplicate", message, second.where, "Say it in another way.")
    message = f"{_quoted(second)} is nearly {_quoted(first)} of '{first.pack}', {first.where} ({nearness:.2f})."
    hint = "Keep it where it belongs, or tell the two apart."
    return LintFinding(second.pack, "warning", "near-duplicate", message, second.where, hint)


def too_few(pack: Pack) -> Iterator[LintFinding]:
    """Yield a finding if a pack has fewer lines than a router can learn from."""
    count = len(pack.examples)
    if count >= ENOUGH or pack.always or (pack.globs and not count):
        return
    severity = "warning" if count < FEW else "hint"
    message = f"It has {count} training line{'' if count == 1 else 's'}."
    hint = f"Write {ENOUGH} into {EXAMPLES}: short and long, polite and terse, misspelt, for everything that it covers."
    yield LintFinding(pack.name, severity, "few-lines", message, "", hint)


def out_of_balance(packs: Sequence[Pack]) -> Iterator[LintFinding]:
    """Yield packs with few lines beside one with many; foreign ones have only a description and are left out."""
    counts = {pack.name: len(pack.examples) for pack in packs if pack.form == "pack" and pack.examples}
    if not counts:
        return
    largest = max(counts, key=lambda name: counts[name])
    for name, count in counts.items():
        if count * IMBALANCE < counts[largest]:
            message = f"It has {count} training lines, and '{largest}' has {counts[largest]}."
            hint = "Write more here, or keep only the most different ones there."
            yield LintFinding(name, "warning", "imbalance", message, "", hint)


def _quoted(line: Line) -> str:
    return f'"{shortened(line.text, _EXCERPT)}"'
