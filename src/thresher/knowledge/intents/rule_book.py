"""The sections of a whole rule book: found in Markdown, put into a short form, and written for a new pack.

Invariant: headings inside code fences are code, and comments are not content, so that lint calls the sections of a new
pack empty. A new pack is written only where nothing exists.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import Conflict, InvalidInput
from thresher.embedding import count_tokens
from thresher.knowledge.intents.files import place_folder
from thresher.knowledge.intents.front_matter import is_name, name_of
from thresher.knowledge.intents.reader import CODE, EVALS, EXAMPLES, NOT_EXAMPLES, RULES

_EXAMPLES: Final = """\
# Messages that this pack is for, one a line, as people write them; blank lines and lines that begin with # are skipped.
# A hundred is a good number: short and long, polite and terse, misspelt, in the words of the trade, for everything
# that the pack covers. Do not fill in templates: ten ways of saying it teach more than one way with ten names.
"""
_NOT_EXAMPLES: Final = """\
# Near misses: messages that sound like this pack and are not for it, one a line.
"""
_CODE: Final = '''\
"""Tools of this pack. They run inside Thresher's process once a person has trusted the pack."""

from fastmcp.tools import tool


@tool(annotations={"readOnlyHint": True})
async def hello(name: str) -> str:
    """Greet a person. Replace this by a first tool of your own.

    Args:
        name: Whom to greet.
    """
    return f"Hello, {name}."
'''


def new_pack(name: str, parent: Path, *, description: str = "", code: bool = False) -> Path:
    """Write a folder with all files of a pack.

    Args:
        name: The name of the pack and its folder.
        parent: The folder to put it into; created if it does not exist.
        description: What the pack is for, and when to use it; lint asks for one if it is empty.
        code: Whether it gets a `tools.py`.

    Returns:
        The new folder.

    Raises:
        InvalidInput: The name is not valid for a pack, or the folder cannot be written.
        Conflict: Something exists there already.
    """
    if not is_name(name):
        raise InvalidInput(
            f"'{name}' cannot be the name of a pack: 1 to 64 of a-z, 0-9 and single hyphens.",
            hint=f"Take '{name_of(name)}', for example.",
        )
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise Conflict(f"{folder} exists already.", hint="Take another name, or another folder: --dir DIR.")
    place_folder(folder, _files(name, description, code=code))
    return folder


def _files(name: str, description: str, *, code: bool) -> dict[str, bytes]:
    files = {
        RULES: scaffold(name, description),
        EXAMPLES: _EXAMPLES,
        NOT_EXAMPLES: _NOT_EXAMPLES,
        EVALS: "[]\n",
    }
    if code:
        files[CODE] = _CODE
    return {path: text.encode() for path, text in files.items()}


def scaffold(name: str, description: str) -> str:
    """Return the `SKILL.md` of a new pack.

    Args:
        name: The pack's name.
        description: May be empty.
    """
    head = [
        "---",
        f"name: {name}",
        f"description: {json.dumps(' '.join(description.split()), ensure_ascii=False)}",
        "metadata:",
        '  servers: ""  # servers whose tools belong to it, by their names in Thresher',
        '  keywords: ""  # names of things in its domain, separated by commas',
        '  variables: "true"',
        '  off_topic: ""  # the sentence that declines what is unrelated',
        "---",
        "",
        f"# {name.replace('-', ' ').capitalize()}",
    ]
    body = [f"\n## {section.title}\n\n<!-- {section.guide} -->" for section in SECTIONS]
    return "\n".join([*head, *body]) + "\n"


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
"""Most tokens of a short form: of three packs that match at once, all can be read."""
_WORTH: Final = ("Important rules", "Decision tree", "Goal", "Available tools")
"""The sections of a short form, the most valuable first."""

_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_NUMBERING: Final = re.compile(r"^[\W\d_]+|[\W_]+$")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def sections_of(rules: str) -> dict[str, str]:
    """Return the text of each section that the rules have.

    Args:
        rules: Markdown.

    Returns:
        Text by `Section.title`, without comments and surrounding blank lines; subsections belong to their section. Two
        headings of the same section are read as one, and the only heading of the first level is the title of the whole.
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
        plain = _NUMBERING.sub("", heading[2].replace("*", "")).lower()
        current, level = titles.get(plain, ""), len(heading[1])
        found.setdefault(current, [])
    found.pop("", None)
    return {title: "\n".join(lines).strip() for title, lines in found.items()}


def short_form(rules: str) -> str:
    """Return a short form of rules without one of their own: their most valuable sections, whole, in their order.

    Args:
        rules: Markdown.

    Returns:
        At most `SHORT_TOKENS`; empty if the rules are not much longer than that, or have no such sections.
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


def outline(rules: str) -> str:
    """Return the beginning of long rules whose sections are not known by name, and the titles of the other sections.

    Args:
        rules: Markdown.

    Returns:
        The first sections that fit, whole, in their order; at most about `SHORT_TOKENS`. Empty if the rules are not
        much longer than that, or have no headings.
    """
    if count_tokens(rules) <= 2 * SHORT_TOKENS:
        return ""
    sections: list[list[str]] = [[]]
    titles = [""]
    for line, heading in _lines(_COMMENT.sub("", rules)):
        if heading is not None:
            sections.append([])
            titles.append(heading[2].replace("*", ""))
        sections[-1].append(line)
    texts = ["\n".join(lines).strip() for lines in sections]
    kept: list[str] = []
    room, others = SHORT_TOKENS, list[str]()
    for title, text in zip(titles, texts, strict=True):
        tokens = count_tokens(text)
        if text and tokens <= room:
            kept.append(text)
            room -= tokens
        elif title:
            others.append(title)
    if not kept or len(titles) == 1:
        return ""
    return "\n\n".join([*kept, f"(Sections left out here: {'; '.join(others[:_TITLES])}.)"])


_TITLES: Final = 20


def _lines(text: str) -> list[tuple[str, re.Match[str] | None]]:
    """Return each line with its heading match."""
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
