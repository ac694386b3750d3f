"""Writes an operation in full, as Markdown for people: the parts that a question is about come first.

Invariant: pure; other people's text stays text (`markup`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from thresher.agent.cues import Cues
from thresher.agent.inquiries import Item, record_of, rows_of, texts_of
from thresher.agent.markup import block, code, words
from thresher.agent.records import IntentType

Lines: TypeAlias = list[str]

_PARAMETERS: Final = 25
_LIST: Final = 8


def details(item: Item, wanted: IntentType, cues: Cues) -> Lines:
    """An operation in full; of it the parts that the question is about, where it names some."""
    deprecated = " **Deprecated.**" if item.get("deprecated") else ""
    head = f"{call_text(item)} — {words(item.get('title'), 160)}"
    about = f"{head} ({words(item.get('provider'), 60)}, {code(item.get('id'))}).{deprecated}"
    parts = [about, *([words(item["description"], 400)] if item.get("description") else [])]
    chosen = ("samples",) if wanted == "tutorial" and not cues.sections else cues.sections
    every = wanted == "tutorial" or not any(_SECTIONS[name](item) for name in chosen)
    names = [*(name for name in chosen if every), *(name for name in _SECTIONS if every)] or list(chosen)
    parts += [part for name in dict.fromkeys(names) for part in _SECTIONS[name](item)]
    if tips := texts_of(item, "tips"):
        parts.append(f"Good to know: {tips_text(tips)}")
    if left := texts_of(item, "left_out"):
        parts.append("Left out: " + "; ".join(words(one, 160) for one in left[:_LIST]))
    return parts


def _parameters(item: Item) -> Lines:
    rows = rows_of(item, "parameters")
    if not rows:
        return []
    lines = [f"- {_parameter(row)}" for row in rows[:_PARAMETERS]]
    more = [f"- and {len(rows) - _PARAMETERS} more"] if len(rows) > _PARAMETERS else []
    return ["Parameters:\n" + "\n".join([*lines, *more])]


def _parameter(row: Mapping[str, Any]) -> str:
    facts = (row.get("in"), row.get("type"), row.get("bounds"), "required" if row.get("required") else "")
    form = ", ".join(words(fact, 80) for fact in facts if fact)
    deprecated = ", deprecated" if row.get("deprecated") else ""
    about = f": {words(row['description'], 200)}" if row.get("description") else ""
    return f"{code(row.get('name'))} ({form}{deprecated}){about}"


def _request(item: Item) -> Lines:
    return [] if item.get("request") is None else ["Request body, for example:", json_block(item["request"])]


def _responses(item: Item) -> Lines:
    rows = rows_of(item, "responses")
    if not rows:
        return []
    lines = [f"- {_response(row)}" for row in rows]
    example = next((row["example"] for row in rows if row.get("example") not in (None, "")), None)
    return [
        "Answers:\n" + "\n".join(lines),
        *(["For example:", json_block(example, 1_500)] if example is not None else []),
    ]


def _response(row: Mapping[str, Any]) -> str:
    schema = f" ({code(row['schema'], 80)})" if row.get("schema") else ""
    return f"{code(row.get('status'))} {words(row.get('description'), 200)}{schema}"


def _auth(item: Item) -> Lines:
    ways = texts_of(item, "auth")
    return ["Sign-in: " + "; or ".join(words(way, 240) for way in ways[:_LIST]) + "."] if ways else []


def _samples(item: Item) -> Lines:
    known = record_of(item, "samples")
    languages = {"curl": "bash", "python": "python"}
    return [block(str(known[name]), language) for name, language in languages.items() if known.get(name)]


_SECTIONS: Final[Mapping[str, Callable[[Item], Lines]]] = {
    "parameters": _parameters,
    "request": _request,
    "responses": _responses,
    "auth": _auth,
    "samples": _samples,
}
"""The parts of an operation, in the order in which they are shown."""


def tips_text(tips: Sequence[str]) -> str:
    """Short sentences, one after another."""
    return " ".join(f"{words(tip.rstrip('. '), 100)}." for tip in tips[:_LIST])


def call_text(item: Item) -> str:
    """Method and path."""
    return code(f"{item.get('method')} {item.get('path')}")


def json_block(value: Any, limit: int = 3_000) -> str:
    """A value as a block of JSON."""
    return block(json.dumps(value, ensure_ascii=False, indent=2, default=str), "json", limit)
