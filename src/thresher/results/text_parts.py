"""Text as parts: paragraphs under headings, rows of tables, lines of logs, blocks of code under what they belong to.

Invariant: pure; parts follow one another, and a part is cut only where it is longer than an answer could hold.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from thresher.results.extremes import extremes
from thresher.results.parts import LEVEL, Parts
from thresher.results.shapes import shape_of

_LONGEST: Final = 700
"""Characters from which a paragraph is cut between its lines or sentences."""
_PIECE: Final = 420
_BLOCK: Final = re.compile(r"^[^\S\n]*+\S[^\n]*(?:\n[^\S\n]*+\S[^\n]*){0,1000}", re.MULTILINE)
_LINE: Final = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
"""From the beginning of a line alone, so that a long run of blanks is read once."""
_SENTENCE: Final = re.compile(rf"[^\n]{{1,{2 * _PIECE}}}?(?:[.!?;](?=\s)|\n|\Z)\s*|[^\n]{{{2 * _PIECE}}}")
"""No match is long: other threads wait for it."""
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_UNDERLINE: Final = re.compile(r"([^\n]{1,120})\n(={3,}|-{3,}|~{3,}|\^{3,})\s*\Z")
_TABLE: Final = re.compile(r"\s*\|?[ \t:|-]*-{2,}[ \t:|-]*\|[ \t:|-]*$")
_STARTS: Final = re.compile(
    r"\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|final\s+|abstract\s+|async\s+|pub(?:\(\w+\))?\s+"
    r"|unsafe\s+|inline\s+|virtual\s+|override\s+|const\s+|data\s+|open\s+)*"
    r"(?:(?:def|class|function|func|fn|struct|interface|trait|impl|enum|module|namespace|type|object|package|record)\b\s*"
    r"(?:\([^)]{0,80}\)\s*)?[\w$.<>:~]+|[\w$.]+\s*[=:]\s*(?:async\s+)?(?:function\b|\([^)\n]{0,200}\)\s*=>)"
    r"|(?:[\w:<>*&,\[\]]+\s+)+[\w:~]+\s*\([^;{}]*\)\s*(?:const\s*)?\{)"
)
STAMP: Final = re.compile(
    r"\s*[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d)?|\d\d:\d\d:\d\d|[A-Z][a-z]{2}\s+\d{1,2}\s+\d\d:\d\d"
    r"|\d{10,13}[. ]|\d+\.\d+\])"
    r"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}"
)
_CONTINUES: Final = re.compile(r"\s+\S|\s*$|Traceback|Caused by|\w+(?:\.\w+)*(?:Error|Exception)\b")
_OPENING: Final = 300
"""Characters of a line that say what it is."""
_SHAPE: Final = 250
_MOST_ROWS: Final = 20_000


def split_text(text: str, kind: str, delimiter: str = ",", question: str = "") -> Parts:
    """Cut a text into parts, by its kind; a question decides which values of a table are counted."""
    match kind:
        case "csv":
            return _table(text, delimiter, question)
        case "log":
            return _built(text, kind, _log(text), neighbours=False)
        case "code":
            return _built(text, kind, _code(text), neighbours=True)
        case _:
            return _built(text, kind, _prose(text), neighbours=True)


def _built(text: str, kind: str, pieces: Iterator[tuple[int, int, str]], *, neighbours: bool) -> Parts:
    starts, ends, labels = list[int](), list[int](), list[int]()
    names: dict[str, int] = {"": 0}
    for start, end, name in pieces:
        starts.append(start)
        ends.append(end)
        labels.append(names.setdefault(name, len(names)))
    first, last, label = (np.array(one, np.int64) for one in (starts, ends, labels))
    return Parts(kind, text, first, last, label, list(names), neighbours=neighbours)


def _prose(text: str) -> Iterator[tuple[int, int, str]]:
    trail: list[tuple[int, str]] = []
    fenced = ""
    waiting: tuple[int, int, str] | None = None  # short blocks under one heading are one part
    for block in _BLOCK.finditer(text):
        start, end = block.span()
        first = text[start : text.find("\n", start, end) if "\n" in block[0] else end]
        if not fenced and (heading := _HEADING.match(first)):
            trail = [one for one in trail if one[0] < len(heading[1])]
            trail.append((len(heading[1]), heading[2].strip("# ")))
        elif not fenced and "\n" in block[0] and (under := _UNDERLINE.match(block[0])):
            level = {"=": 1, "-": 2, "~": 3, "^": 4}[under[2][0]]
            trail = [one for one in trail if one[0] < level]
            trail.append((level, under[1].strip()))
        name = LEVEL.join(title for _, title in trail)
        marks = block[0].count("```")
        fenced = ("" if fenced else "```") if marks % 2 else fenced
        if waiting is not None and (waiting[2] != name or end - waiting[0] > _PIECE):
            yield waiting
            waiting = None
        if end - start <= _LONGEST:
            waiting = (start if waiting is None else waiting[0], end, name)
        else:
            if waiting is not None:
                yield waiting
                waiting = None
            yield from ((*piece, name) for piece in _pieces(text, start, end))
    if waiting is not None:
        yield waiting


def _pieces(text: str, start: int, end: int, size: int = _PIECE) -> Iterator[tuple[int, int]]:
    """A long block in pieces of about a size: whole lines, or sentences of longer ones, or characters."""
    first = last = start
    for line in _LINE.finditer(text, start, end):
        if line.end() - first > size and last > first:
            yield first, last
            first = line.start()
        last = line.end()
        if last - first > 2 * size:
            yield from _sentences(text, first, last, size)
            first = last
    if last > first:
        yield first, last


def _sentences(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    first = last = start
    for sentence in _SENTENCE.finditer(text, start, end):
        if sentence.end() - first > size and last > first:
            yield first, last
            first = sentence.start()
        last = sentence.end()
        while last - first >= 2 * size:
            yield first, first + size
            first += size
    if end > first:
        yield first, end


def _code(text: str) -> Iterator[tuple[int, int, str]]:
    trail: list[tuple[int, str]] = []
    for block in _BLOCK.finditer(text):
        first, last, size = block.start(), block.start(), 0
        name = _named(trail)
        for line in _LINE.finditer(text, block.start(), block.end()):
            written = line[0]
            indent = len(written) - len(written.lstrip())
            if opening := _STARTS.match(written[:_OPENING]):
                if last > first:
                    yield first, last, name
                    first = line.start()
                trail = [one for one in trail if one[0] < indent]
                trail.append((indent, " ".join(opening[0].split())[:120]))
                name = _named(trail)
            elif trail and indent <= trail[-1][0] and written.strip() not in ("}", "};", ")", "]"):
                trail = [one for one in trail if one[0] < indent]
            size = line.end() - first
            last = line.end()
            if size > _PIECE:
                yield from ((*piece, name) for piece in _pieces(text, first, last, _LONGEST))
                first = last
        if last > first:
            yield first, last, name


def _named(trail: list[tuple[int, str]]) -> str:
    return LEVEL.join(title for _, title in trail[-3:])


def _log(text: str) -> Iterator[tuple[int, int, str]]:
    first = last = -1
    for line in _LINE.finditer(text):
        start, end = line.span()
        if first >= 0 and _CONTINUES.match(text, start, min(end, start + _OPENING)) and end - first <= 2 * _LONGEST:
            last = end
            continue
        if first >= 0:
            yield first, last, ""
        first, last = start, end
        while last - first > 4 * _LONGEST:
            yield first, first + 4 * _LONGEST, ""
            first += 4 * _LONGEST
    if first >= 0:
        yield first, last, ""


def log_shape(text: str) -> str:
    """How many lines a log has, of which level, and its first and last time."""
    levels: Counter[str] = Counter()
    for found in re.finditer(r"\b(FATAL|CRITICAL|PANIC|ERROR|WARN(?:ING)?|INFO|DEBUG|NOTICE|TRACE)\b", text):
        levels[found[1]] += 1
    counts = ", ".join(f"{name} x{count}" for name, count in levels.most_common(6))
    return f"{text.count(chr(10)) + (not text.endswith(chr(10))):,} lines{f'; {counts}' if counts else ''}"


def _table(text: str, delimiter: str, question: str) -> Parts:
    starts, ends = list[int](), list[int]()
    pending = -1
    for line in _LINE.finditer(text):
        first = pending if pending >= 0 else line.start()
        if text.count('"', first, line.end()) % 2:
            pending = first
            continue
        pending = -1
        starts.append(first)
        ends.append(line.end())
    if pending >= 0:
        starts.append(pending)
        ends.append(len(text))
    header = text[starts[0] : ends[0]] if starts else ""
    labels = np.zeros(max(len(starts) - 1, 0), np.int64)
    rows = [{key: _number(one) for key, one in row.items()} for row in rows_of(text, delimiter)]
    shape = shape_of(rows, _SHAPE, question)
    first = [row for row in extremes(rows, question) if row < len(labels)] if len(rows) == len(labels) else []
    bounds = np.array(starts[1:], np.int64), np.array(ends[1:], np.int64)
    return Parts("csv", text, *bounds, labels, [""], prefix=header, shape=shape, first=first)


def rows_of(text: str, delimiter: str) -> list[dict[str, str]]:
    """The rows of a table as objects; of a very long one the first."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    try:
        header = next(reader, list[str]())
        return [dict(zip(header, row, strict=False)) for row, _ in zip(reader, range(_MOST_ROWS), strict=False)]
    except csv.Error:
        return []


def _number(text: str) -> str | float | int:
    if not text or len(text) > 20 or not (text[0].isdigit() or text[0] in "-."):
        return text
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
