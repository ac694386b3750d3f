"""HTML as text, for choosing what to deliver: headings, paragraphs, list items, rows of tables, addresses of links.

Files that people index are converted by a parser in a process of its own (`knowledge/documents/reading/sandbox`). A
result is converted while its caller waits, by expressions that are linear in its length and keep the order of its text.

Invariant: pure; any text gives a text.
"""

from __future__ import annotations

import html
import re
from typing import Final

_DROPPED: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|svg|template|iframe)\b[^<>]{0,4000}>.*?(?:</\1\s*>|\Z)"
    r"|<!doctype[^<>]{0,1000}>",
    re.IGNORECASE | re.DOTALL,
)
_PRE: Final = re.compile(r"<pre\b[^<>]{0,4000}>(.*?)(?:</pre\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,40})([^<>]{0,4000})>")
_KEPT: Final = re.compile("\0(\\d+)\0")
_LINK: Final = re.compile(r"\b(?:href|src)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_ALT: Final = re.compile(r"\b(?:alt|title)\s*=\s*\"([^\"]+)\"", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\f\v]*\n\s*\n[ \t]*|[ \t\r\f\v]*\n[ \t\r\f\v]*|[ \t\r\f\v]+")
_ITEM: Final = re.compile(r"^- *\n\s*", re.MULTILINE)
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    """p div section article header footer main aside nav ul ol dl table form fieldset blockquote figure figcaption
    details summary address hr title body head html thead tbody tfoot caption pre""".split()  # noqa: SIM905 - a text is easier to read
)
_LINES: Final = {"br": "\n", "li": "\n- ", "tr": "\n", "dt": "\n", "dd": "\n  ", "option": "\n- "}


def text_of(markup: str) -> str:
    """The text of a page, in the notation of Markdown."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[1])
        return f"\n\n\0{len(kept) - 1}\0\n\n"

    markup = _PRE.sub(keep, _DROPPED.sub(" ", markup.replace("\0", "")))
    pieces: list[str] = []
    place, links = 0, list[str]()
    for tag in _TAG.finditer(markup):
        pieces.append(" ".join(markup[place : tag.start()].split("\n")))
        pieces.append(_mark(tag[1] == "/", tag[2].lower(), tag[3], links))
        place = tag.end()
    pieces.append(markup[place:])
    text = _ITEM.sub("- ", _SPACE.sub(_blank, html.unescape("".join(pieces))))
    return _KEPT.sub(lambda match: _code(kept[int(match[1])]), text).strip() + "\n"


def _code(markup: str) -> str:
    return f"```\n{html.unescape(_TAG.sub('', markup)).strip(chr(10))}\n```"


def _mark(closes: bool, name: str, attributes: str, links: list[str]) -> str:
    if name == "a":
        if not closes:
            found = _LINK.search(attributes)
            links.append(found[1] if found else "")
            return "[" if found and not found[1].startswith(("#", "javascript:", "data:")) else ""
        address = links.pop() if links else ""
        return f"]({address})" if address and not address.startswith(("#", "javascript:", "data:")) else ""
    if name == "img" and (found := _ALT.search(attributes)):
        return f" {found[1]} "
    if name in _HEADINGS:
        return "\n\n" if closes else f"\n\n{_HEADINGS[name]} "
    if name in _BLOCKS:
        return "\n\n"
    if name in _LINES:
        return "" if closes else _LINES[name]
    if name in ("td", "th"):
        return " | " if closes else ""
    return ""


def _blank(match: re.Match[str]) -> str:
    breaks = match[0].count("\n")
    return "\n\n" if breaks > 1 else "\n" if breaks else " "
