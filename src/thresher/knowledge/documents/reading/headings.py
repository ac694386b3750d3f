"""The text of headings, without the marks of their format.

Invariant: time is linear in the length of the heading.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from thresher.knowledge.documents.models import Block

_LONGEST: Final = 160
"""Characters; a longer heading is a paragraph by mistake, and would crowd out the text below it."""
_SEEN: Final = 2_000
_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>|<!--.{0,300}?-->")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,200}\])")
_IDENTITY: Final = re.compile(r"\s*\{[#.:][^{}\n]{0,200}\}\s*$")
_MARKS: Final = re.compile(r"\*+|`+|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|\\(?=[^\w\s])|\s#+\s*$")
_WIKI: Final = re.compile(
    r"^[ \t]{0,3}(=(?: ?=){0,5})[ \t]?([^=\n](?:[^\n]{0,300}[^=\s])?)[ \t]?(=(?: ?=){0,5})[ \t]*$", re.M
)


def heading_text(heading: str) -> str:
    """The text of a heading, at most 160 characters."""
    words = " ".join(heading[:_SEEN].split())
    words = _LINK.sub(r"\1", _TAG.sub(" ", _IDENTITY.sub("", words)))
    words = " ".join(html.unescape(_MARKS.sub("", words)).split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + "…"


def wiki_headings(text: str, start: int, end: int) -> list[Block]:
    """Headings such as `== History ==` (or `= = History = =`, as in some text corpora) in a range of text."""
    return [
        Block("heading", match.start(), match.end(), min(6, match[1].count("=")), heading_text(match[2]))
        for match in _WIKI.finditer(text, start, end)
        if match[1].count("=") == match[3].count("=")
    ]


def title_of(blocks: Iterable[Block]) -> str:
    """The title that headings give: the only one of the highest level; empty if there are none or several."""
    headings = [block for block in blocks if block.kind == "heading" and block.title]
    top = min((block.level for block in headings), default=0)
    highest = [block.title for block in headings if block.level == top]
    return highest[0] if len(highest) == 1 else ""
