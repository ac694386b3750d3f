"""What kind of text a result is, by its type or by its first lines.

Invariant: pure; any text has a kind.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

from thresher.results.text_parts import STAMP

_HEAD: Final = 8_000
_MEDIA: Final = {
    "json": "json", "ndjson": "json", "jsonl": "json", "jsonlines": "json", "csv": "csv", "tab-separated-values": "csv",
    "html": "html", "xhtml": "html", "markdown": "markdown", "x-markdown": "markdown", "x-log": "log", "log": "log",
}  # fmt: skip
_CODE: Final = re.compile(
    r"python|javascript|typescript|ecmascript|x-(?:c|java|go|rust|ruby|sh|php|csharp|kotlin|swift)\b|source|java\b|rust|x-c\+\+"
)
_QUOTED: Final = re.compile(r'"[^"]*"')
_CODE_LINE: Final = re.compile(
    r"\s*(?:def |class |import |from \w+ import|function |const |let |var |return\b|public |private |#include|fn |func "
    r"|package |use |struct |if \(|for \(|\}|@\w+)|.*[;{]\s*$"
)
_MARKDOWN: Final = re.compile(r"^(?:#{1,6}[ \t]+\S|```|[-*] \S|\|.+\||\d+\. \S)", re.MULTILINE)


def kind_of(text: str, mime: str = "") -> tuple[str, str]:
    """Return the kind of a text, and the delimiter of a table."""
    media = mime.partition(";")[0].strip().lower().rpartition("/")[2]
    named = _MEDIA.get(media) or ("json" if media.endswith("+json") else "code" if _CODE.search(media) else "")
    head = text[:_HEAD]
    if named == "csv" or (not named and _delimiter(head)):
        return "csv", _delimiter(head) or ("\t" if media.startswith("tab") else ",")
    if named:
        return named, ""
    start = head.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        return "json", ""
    low = start[:1000].lower()
    if low.startswith(("<!doctype html", "<html")) or (
        low.startswith("<") and ("<body" in low or "<div" in low or "<head" in low)
    ):
        return "html", ""
    lines = [line for line in head.split("\n")[:100] if line.strip()]
    if lines and sum(STAMP.match(line) is not None for line in lines) > len(lines) * 0.4:
        return "log", ""
    if len(_MARKDOWN.findall(head)) >= 3 and re.search(r"^#{1,6} ", head, re.MULTILINE):
        return ("code", "") if _is_code(lines) else ("markdown", "")
    return ("code" if _is_code(lines) else "text"), ""


def _is_code(lines: list[str]) -> bool:
    return bool(lines) and sum(_CODE_LINE.match(line) is not None for line in lines) > len(lines) * 0.4


def _delimiter(head: str) -> str:
    """The delimiter of a table; empty if the text is not one."""
    lines = [line for line in head.split("\n")[:-1] if line.strip()][:30]
    if len(lines) < 3 or head.lstrip()[:1] in "{[<#":
        return ""
    unquoted = [line for line in _QUOTED.sub("", head).split("\n")[:-1] if line.strip()][:30]  # cells may hold lines
    several = [[_QUOTED.sub("", line) for line in lines], unquoted]
    for delimiter, some in product(("\t", ",", ";", "|"), several):
        counts = [line.count(delimiter) for line in some] if len(some) > 2 else [0]
        least = 1 if delimiter == "\t" else 2
        if counts[0] >= least and sum(count == counts[0] for count in counts) >= len(counts) * 0.9:
            return delimiter
    return ""
