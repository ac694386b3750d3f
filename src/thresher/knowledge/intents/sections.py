"""The sections that a whole rule book has, and how they are found in Markdown.

Invariant: pure; headings inside code fences are code, and comments are no content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from thresher.embedding import count_tokens


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a rule book.

    Attributes:
        title: Its heading.
        guide: One line that says what belongs into it.
        names: Other headings that count, in lower case.
    """

    title: str
    guide: str
    names: tuple[str, ...] = ()


SECTIONS: Final = (
    Section("Goal", "One sentence: what the model has to achieve for the person.", ("goals", "purpose", "objective")),
    Section(
        "Current project",
        'What the rules are about here. With `variables: "true"`: {{PROJECT_NAME}}, {{ACTIVE_SOLUTION}} and the like.',
        ("project", "project context", "current context"),
    ),
    Section("Available tools", "Each tool in backticks, as find_tools names it.", ("tools",)),
    Section(
        "Tool details",
        "For each tool: its required parameters, its optional ones with their defaults, and when to use it.",
        ("tool reference", "tool parameters"),
    ),
    Section(
        "Decision tree",
        "Numbered steps: what the message says -> which tool, or what to ask.",
        ("decisions", "workflow", "how to decide"),
    ),
    Section(
        "Disambiguation",
        "Words that mean two things here, and which is meant unless the person says otherwise.",
        ("ambiguities", "ambiguous requests"),
    ),
    Section("Examples", "Three or more messages with the calls that they lead to.", ("example",)),
    Section("Important rules", "What must always or never be done, one a line.", ("rules", "hard rules")),
    Section(
        "Out of context",
        "Another topic: call process_prompt again. Unrelated: answer without tools, or decline with `off_topic`.",
        ("out of scope", "off topic"),
    ),
    Section("Final notes", "Form of the answer: what to show, what to leave out.", ("notes", "final remarks")),
)
"""In the order in which `packs new` writes them."""

SHORT_TOKENS: Final = 500
"""Tokens of a short form at most: of three packs that match at once, all can be read."""
_WORTH: Final = ("Important rules", "Decision tree", "Goal", "Available tools")
"""The sections that a short form is made of, the most valuable first."""

_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_NUMBERING: Final = re.compile(r"^[\W\d_]+|[\W_]+$")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def sections_of(rules: str) -> dict[str, str]:
    """What stands in each section that the rules have.

    Args:
        rules: Markdown.

    Returns:
        Text by `Section.title`, comments and blank lines around it left out; subsections belong to their section. Two
        headings for the same section are read as one, and the only heading of the first level is the title of it all.
    """
    titles = {name: section.title for section in SECTIONS for name in (section.title.lower(), *section.names)}
    found: dict[str, list[str]] = {}
    current, level = "", 0
    lines = _lines(_COMMENT.sub("", rules))
    tops = [heading for _, heading in lines if heading is not None and len(heading[1]) == 1]
    title = tops[0] if len(tops) == 1 else None
    for line, heading in lines:
        if heading is title and title is not None:
            continue
        if heading is None or (current and len(heading[1]) > level):
            found.setdefault(current, []).append(line)
            continue
        current, level = titles.get(_plain(heading[2]), ""), len(heading[1])
        found.setdefault(current, [])
    found.pop("", None)
    return {title: "\n".join(lines).strip() for title, lines in found.items()}


def short_form(rules: str) -> str:
    """A short form of rules that bring none: their most valuable sections, whole, in their order.

    Args:
        rules: Markdown.

    Returns:
        At most `SHORT_TOKENS`; empty where the rules are not much longer than that, or have no such sections.
    """
    if count_tokens(rules) <= 2 * SHORT_TOKENS:
        return ""
    present = sections_of(rules)
    chosen: dict[str, str] = {}
    room = SHORT_TOKENS
    for title in _WORTH:
        text = f"## {title}\n\n{present.get(title, '')}\n"
        if present.get(title) and (tokens := count_tokens(text)) <= room:
            chosen[title] = text
            room -= tokens
    if not chosen.keys() & set(_WORTH[:2]):
        return ""
    return "\n".join(chosen[section.title] for section in SECTIONS if section.title in chosen)


def _lines(text: str) -> list[tuple[str, re.Match[str] | None]]:
    """Each line with the heading that it is."""
    lines: list[tuple[str, re.Match[str] | None]] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence)
            fence = "" if closes else fence
            lines.append((line, None))
            continue
        fence = mark[1] if mark is not None else ""
        lines.append((line, None if fence else _HEADING.match(line)))
    return lines


def _plain(heading: str) -> str:
    """A heading's words, without numbering, marks and emphasis."""
    return _NUMBERING.sub("", heading.replace("*", "")).lower()
