"""Lint of training lines: repeated, contradictory, nearly the same, too few, out of balance.

Invariant: pure but for `written_lines`, which reads the two files of lines again, since a pack keeps them distinct and
without their numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from thresher.core import InvalidInput, shortened
from thresher.knowledge.intents.encodings import decoded
from thresher.knowledge.intents.folders import LINES_BYTES, opened
from thresher.knowledge.intents.lint_records import Line, LintFinding, LintSeverity
from thresher.knowledge.intents.models import Pack
from thresher.knowledge.intents.nearness import Pair, plain_line
from thresher.knowledge.intents.reader import EVALS, EXAMPLES, NOT_EXAMPLES, RULES

FEW: Final = 10
"""Fewer lines than this and a linear head has nothing to fit."""
ENOUGH: Final = 100
IMBALANCE: Final = 5
"""A pack with so many times the lines of another is chosen too often."""
_SHOWN: Final = 20
"""Findings of one kind that are named, for each pack or pair of packs; the others are counted."""
_EXCERPT: Final = 60


def written_lines(pack: Pack) -> tuple[Line, ...]:
    """A pack's lines and questions, repeated ones too.

    Args:
        pack: As it was read; lines come from its description where it has no file of them.
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
    """The file's text as far as a pack uses it; empty where it cannot be read, which the reader reports."""
    try:
        with opened(path) as stream:
            return decoded(stream.read(LINES_BYTES))[0]
    except (OSError, InvalidInput):
        return ""


def is_training(line: Line) -> bool:
    """Whether the line teaches what the intent is."""
    return line.file not in (NOT_EXAMPLES, EVALS)


def repeated(lines: Iterable[Line]) -> Iterator[LintFinding]:
    """Lines that say the same but for case, marks and white space."""
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
    """What is wrong with two equal lines, the later one first; None where nothing is."""
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


def nearly_same(lines: Sequence[Line], pairs: Iterable[Pair]) -> Iterator[LintFinding]:
    """Pairs of training lines that say nearly the same.

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
    """Fewer lines than a router can learn from."""
    count = len(pack.examples)
    if count >= ENOUGH or pack.always or (pack.globs and not count):
        return
    severity = "warning" if count < FEW else "hint"
    message = f"It has {count} training line{'' if count == 1 else 's'}."
    hint = f"Write {ENOUGH} into {EXAMPLES}: short and long, polite and terse, misspelt, for everything that it covers."
    yield LintFinding(pack.name, severity, "few-lines", message, "", hint)


def out_of_balance(packs: Sequence[Pack]) -> Iterator[LintFinding]:
    """Packs with few lines beside one with many; foreign ones are left out, since a description is all they have."""
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
