"""What the bytes of a file say of whether it is worth reading.

Invariant: pure, and linear in the size; what is said of a file never quotes it.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.knowledge.documents.models import Skipped
from thresher.knowledge.documents.sources.secrecy import secret_in

_SAMPLE: Final = 16 << 10
_CONTROLS: Final = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27} | {127})
"""Bytes that no text holds; a backspace, a form feed and an escape are those of printed manuals and terminals."""
_MOST_CONTROLS: Final = 0.03
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"\xef\xbb\xbf")
_PACKED: Final = (".pdf", ".docx")
"""Documents whose readers find the text in bytes."""
_PROSE: Final = (
    ".md", ".markdown", ".mdx", ".mdown", ".rst", ".html", ".htm", ".xhtml", ".adoc", ".asciidoc", ".org", ".tex",
    ".ipynb",
)  # fmt: skip
_SAID: Final = re.compile(
    rb"""^[ \t]*(?:\#|//|/?\*|--|;|%|<!--|\"\"\"|'''|REM\b)[^\n]{0,200}?
    (?:@generated\b|\bcode\ generated\b[^\n]{0,200}\bdo\ not\ edit\b
    |\bauto-?(?:matically\ )?generated\b[^\n]{0,200}\bdo\ not\ (?:edit|modify)\b
    |\bthis\ (?:file|code)\ (?:is|was|has\ been)\ (?:auto(?:matically)?[-\ ]?)?generated\b)""",
    re.I | re.M | re.X,
)
"""Said in a comment."""
_OPENING: Final = 2_000
_LONG_LINE: Final = 5_000
_LONG_MEAN: Final = 500
_LINES_MATTER: Final = (".js", ".mjs", ".cjs", ".css", ".json", ".jsonl", ".ndjson", ".xml", ".geojson", ".ts", ".wkt")
_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/=_\-]{200,}")
_NUMBER: Final = re.compile(rb"[+\-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+\-]?\d+)?%?|nan|inf|-9999", re.I)
_CELL: Final = re.compile(rb"[^\s,;|]+")
_FEW_CELLS: Final = 200
_MOST_NUMBERS: Final = 0.75


def judged_by_content(path: str, data: bytes) -> Skipped | None:
    """Why a file is not indexed; None where it is."""
    if not data.strip(b" \t\r\n\f\0\xef\xbb\xbf"):
        return Skipped(path, "empty", "There is nothing in it.")
    lowered = path.lower()
    if lowered.endswith(_PACKED):
        return None
    if data.startswith(b"version https://git-lfs.github.com/spec/"):
        return Skipped(path, "binary", "It only says where Git LFS keeps the file.")
    wide = _is_wide(data)
    if not wide and _is_binary(data):
        return Skipped(path, "binary", "Its bytes are no text.")
    text = data.replace(b"\0", b"") if wide else data
    if what := secret_in(text):
        return Skipped(path, "secret", f"It holds {what}.")
    return None if lowered.endswith(_PROSE) else _mechanical(path, lowered, text)


def _mechanical(path: str, lowered: str, data: bytes) -> Skipped | None:
    """Whether a program wrote it for programs."""
    if _SAID.search(data[:_OPENING]):
        return Skipped(path, "generated", "It says so in its first lines.")
    sample = _sample(data)
    lines = sample.count(b"\n") + 1
    longest = max(map(len, sample.splitlines()), default=0)
    if lowered.endswith(_LINES_MATTER) and (longest > _LONG_LINE or (lines > 1 and len(sample) / lines > _LONG_MEAN)):
        return Skipped(path, "generated", "Its lines are too long to be written by a person.")
    if sum(len(part) for part in _ENCODED.findall(sample)) > len(sample) / 2:
        return Skipped(path, "generated", "Most of it is encoded data.")
    cells = _CELL.findall(sample)
    if len(cells) >= _FEW_CELLS and sum(map(_is_number, cells)) >= _MOST_NUMBERS * len(cells):
        return Skipped(path, "numbers", "Most of it is a grid of numbers.")
    return None


def _is_number(cell: bytes) -> bool:
    return _NUMBER.fullmatch(cell.strip(b"\"'()[]{}:")) is not None


def _sample(data: bytes) -> bytes:
    """The beginning, the middle and the end."""
    if len(data) <= 3 * _SAMPLE:
        return data
    middle = len(data) // 2
    return data[:_SAMPLE] + data[middle : middle + _SAMPLE] + data[-_SAMPLE:]


def _is_wide(data: bytes) -> bool:
    """Whether it is UTF-16 or UTF-32: by its mark, or because the NULs stand in every second place."""
    if data.startswith(_MARKS[:3]):
        return True
    head = data[:_SAMPLE]
    even, odd = head[::2].count(0), head[1::2].count(0)
    few, many = sorted((even, odd))
    return many > len(head) / 5 and few * 50 < many


def _is_binary(data: bytes) -> bool:
    sample = _sample(data)
    return len(sample) - len(sample.translate(None, _CONTROLS)) > _MOST_CONTROLS * len(sample)
