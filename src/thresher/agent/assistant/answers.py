"""Formats answers for people, as Markdown.

Invariant: pure; text of others stays text, and what is cut or left out is marked.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias, cast

from thresher.agent.assistant.inquiry import Item, record_of, rows_of, texts_of
from thresher.agent.assistant.questions import Cues
from thresher.agent.assistant.records import IntentType
from thresher.core import dumps, shortened

_SPECIAL: Final = re.compile(r"([\\`*\[\]<|~]|(?<![^\W_])_|_(?![^\W_]))")
_STARTS: Final = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|)([-+=>#.)])")
_AUTOLINK: Final = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|www)([:.])")
_RUN: Final = re.compile(r"`+")


def words(text: object, limit: int = 300) -> str:
    """Return a text as plain words of one line.

    Args:
        text: Anything; None counts as empty.
        limit: Most characters, before Markdown's escapes are added.
    """
    plain = shortened(" ".join(_visible("" if text is None else str(text)).split()), limit)
    escaped = _STARTS.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", plain))
    return _AUTOLINK.sub(r"\1\\\2", escaped)


def code(text: object, limit: int = 200) -> str:
    """Return a text as inline code."""
    plain = shortened(" ".join(_visible("" if text is None else str(text)).split()), limit)
    if not plain:
        return ""
    fence = "`" * (max(map(len, _RUN.findall(plain)), default=0) + 1)
    space = " " if plain[0] == "`" or plain[-1] == "`" else ""
    return f"{fence}{space}{plain}{space}{fence}"


def block(text: str, language: str = "", limit: int = 4_000) -> str:
    """Return a text as a fenced block; a long one is cut, and says so."""
    plain = _visible(text.strip("\n"), keep="\n\t")
    cut = plain if len(plain) <= limit else f"{plain[:limit]}\n… ({len(plain) - limit} more characters)"
    fence = "`" * max(3, max(map(len, _RUN.findall(cut)), default=0) + 1)
    return f"{fence}{language}\n{cut}\n{fence}"


def _visible(text: str, keep: str = "") -> str:
    """Replace characters that control a terminal or are invisible by blanks."""
    return "".join(
        mark if mark in keep or unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else " "
        for mark in text
    )


Lines: TypeAlias = list[str]

_PARAMETERS: Final = 25
_LISTED: Final = 8


def details(item: Item, wanted: IntentType, cues: Cues) -> Lines:
    """Return an operation in full, or the parts that the question is about."""
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
        parts.append("Left out: " + "; ".join(words(one, 160) for one in left[:_LISTED]))
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
    return ["Sign-in: " + "; or ".join(words(way, 240) for way in ways[:_LISTED]) + "."] if ways else []


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
    """Return short sentences, one after another."""
    return " ".join(f"{words(tip.rstrip('. '), 100)}." for tip in tips[:_LISTED])


def call_text(item: Item) -> str:
    """Return method and path."""
    return code(f"{item.get('method')} {item.get('path')}")


def json_block(value: Any, limit: int = 3_000) -> str:
    """Return a value as a block of JSON."""
    return block(json.dumps(value, ensure_ascii=False, indent=2, default=str), "json", limit)


ANSWER_CHARACTERS: Final = 16_000
"""Most characters of a formatted answer; the results as data are complete."""
_LIST: Final = 8

NOTHING_INSTALLED: Final = (
    "There is nothing to ask yet. Add sources from which questions can be answered:\n\n"
    "- an API: `thresher apis add NAME SOURCE`\n"
    "- documents: `thresher index docs NAME FOLDER`\n"
    "- a database: `thresher db add NAME --url URL`\n"
    "- a server with tools: `thresher servers add NAME -- COMMAND`"
)
NOTHING_FITS: Final = "Nothing fits. Other words may; or ask for a list, such as “list jira apis”."
_UNCOUNTED: Final = ("score",)
"""Kinds of results that stand above a list and are not part of it."""
_TITLES: Final[Mapping[str, str]] = {
    "endpoint": "Operations",
    "endpoint_details": "",
    "tag": "Tags",
    "passage": "Passages",
    "page": "",
    "schema": "Databases",
    "rows": "",
    "statement": "Statements, newest first",
    "tool": "Tools",
    "tool_details": "Tools",
    "tool_result": "",
    "usage": "",
    "score": "",
    "finding": "Findings, worst first",
}


def answer_text(
    items: Sequence[Item], total: int, wanted: IntentType, cues: Cues, notes: Sequence[str], *, more: bool = False
) -> str:
    """Return the whole answer.

    Args:
        items: The results, those of one kind together.
        total: Their total number, including those not shown.
        wanted: What the question wants.
        cues: Its cues: the parts of an operation that it is about come first.
        notes: Notes for the reader.
        more: Whether the next ones can be requested.
    """
    parts = _parts(items, wanted, cues) if items else [NOTHING_FITS]
    shown = sum(item["kind"] not in _UNCOUNTED for item in items)
    if total > shown or more:
        of = f" of {total:,}" if total > shown else ""
        parts.append(f"{shown}{of} shown{'; say “more” for the next ones' if more else ''}.")
    text = "\n\n".join(part for part in parts if part)
    if len(text) > ANSWER_CHARACTERS:
        text = _shortened(parts)
    return "\n\n".join(filter(None, (text, "\n".join(f"> {words(note)}  " for note in notes))))


def failed_text(problems: Sequence[str]) -> str:
    """Return the text for a question that no tool has answered."""
    return "\n".join(["No tool could answer.", "", *(f"- {words(problem, 500)}" for problem in problems)])


def _shortened(parts: Sequence[str]) -> str:
    """Return as many whole parts as fit; a fence is never left open."""
    kept: Lines = []
    for part in parts:
        if sum(map(len, kept)) + len(part) > ANSWER_CHARACTERS:
            break
        kept.append(part)
    return "\n\n".join([*kept, "The rest is too long to stand here; the results as data (`--json`) have it."])


def _parts(items: Sequence[Item], wanted: IntentType, cues: Cues) -> Lines:
    """Return the paragraphs: those of a kind below its title, entries of lists numbered through all kinds."""
    parts: Lines = []
    number = 0
    for (kind, name), group in groupby(items, key=lambda item: (str(item["kind"]), str(item.get("group") or ""))):
        parts += [f"**{title}**"] if (title := words(name, 80) or _title(kind, items)) else []
        listed: Lines = []
        for item in group:
            number += kind not in _UNCOUNTED
            if kind in _LINES:
                listed.append(f"{number}. {_LINES[kind](item)}")
            else:
                parts += details(item, wanted, cues) if kind == "endpoint_details" else _BLOCKS[kind](item)
                parts += _nothing_missed(item, cues) if kind == "usage" else []
        parts += ["\n".join(listed)] if listed else []
    return parts


def _title(kind: str, items: Sequence[Item]) -> str:
    others = kind == "endpoint" and any(item["kind"] == "endpoint_details" for item in items)
    return "Others that may be meant" if others else _TITLES[kind]


def _endpoint(item: Item) -> str:
    version = f" {words(item['version'], 40)}" if item.get("version") else ""
    head = f"{call_text(item)} — {words(item.get('title'), 120)}"
    where = f"({words(item.get('provider'), 60)}{version}{', deprecated' if item.get('deprecated') else ''})"
    lines = [f"{head} {where}"]
    if item.get("description") and item.get("description") != item.get("title"):
        lines.append(words(item["description"], 240))
    if tips := texts_of(item, "tips"):
        lines.append(tips_text(tips))
    command = f"thresher apis show {item.get('id')}"
    return "  \n   ".join([*lines, f"read it: {code(command)}"])


def _tag(item: Item) -> str:
    about = f": {words(item['description'], 160)}" if item.get("description") else ""
    return (
        f"{words(item.get('tag'), 80)} ({words(item.get('provider'), 60)}), {item.get('operations')} operations{about}"
    )


def _tool(item: Item) -> str:
    changes = " (may change something)" if item.get("write") else ""
    lines = [f"{code(item.get('name'))} {code(item.get('signature'), 240)}{changes}"]
    if call := record_of(item, "call"):
        lines.append(f"call it: {code(call.get('tool'))} {code(dumps(call.get('arguments')), 600)}")
    if missing := texts_of(item, "missing"):
        lines.append(f"the question does not say: {', '.join(map(code, missing))}")
    return "  \n   ".join(lines)


def _finding(item: Item) -> str:
    place = record_of(item, "place")
    where = f" at line {place.get('line')}" if place.get("line") else ""
    operation = f" {code(item['operation'])}" if item.get("operation") else ""
    lines = [
        f"{words(item.get('severity'), 20)} {code(item.get('rule'))}{operation}{where}: {words(item.get('message'))}"
    ]
    lines += [f"fix: {words(item['fix'])}"] if item.get("fix") else []
    return "  \n   ".join(lines)


def _statement(item: Item) -> str:
    sql = code(item.get("sql"), 160)
    return f"{words(item.get('at'), 40)} {words(item.get('connection'), 60)}: {sql} {words(item.get('outcome'), 40)}"


_LINES: Final[Mapping[str, Callable[[Item], str]]] = {
    "endpoint": _endpoint,
    "tag": _tag,
    "tool": _tool,
    "finding": _finding,
    "statement": _statement,
}
"""Kinds whose results are entries of a numbered list."""


def _passage(item: Item) -> Lines:
    heading = " > ".join(texts_of(item, "heading"))
    where = f"{code(item.get('path'))} lines {words(item.get('lines'), 20)} ({words(item.get('repository'), 60)})"
    return [f"{where}{f' — {words(heading, 160)}' if heading else ''}", block(str(item.get("text") or ""))]


def _page(item: Item) -> Lines:
    return [f"{code(item.get('path'))} ({words(item.get('repository'), 60)})", block(str(item.get("text") or ""))]


def _schema(item: Item) -> Lines:
    head = f"{code(item.get('connection'))} ({words(item.get('dialect'), 40)})"
    return [head, block(str(item.get("content") or ""))]


def _rows(item: Item) -> Lines:
    rows: Any = item.get("rows")
    value: Any = rows[0][0] if rows and rows[0] else None
    where = f"{code(item.get('table'))} of {code(item.get('connection'))}"
    return [f"**{words(value, 40)}** rows in {where}: {code(item.get('sql'), 400)}"]


def _tool_result(item: Item) -> Lines:
    head = f"{code(item.get('name'))} with {code(dumps(item.get('arguments')), 600)} answers:"
    return [head, block(str(item.get("text") or ""))]


def _tool_details(item: Item) -> Lines:
    about = f"{code(item.get('name'))} — {words(item.get('description'), 600)}"
    return [about, *(["Arguments:", json_block(item["input_schema"])] if item.get("input_schema") else [])]


def _score(item: Item) -> Lines:
    known = sorted(record_of(item, "by_rule").items(), key=lambda pair: -pair[1])
    often = "; ".join(f"{code(rule)} {count}" for rule, count in known[:_LIST])
    name = f"{words(item.get('provider'), 60)} {words(item.get('version') or '', 40)}".strip()
    return [f"**{name}**: score {words(item.get('score'), 10)} of 100, {item.get('total')} findings. {often}".strip()]


def _usage(item: Item) -> Lines:
    of = f" of {words(item['provider'], 60)}" if item.get("provider") else ""
    lines = [f"**Use{of}, last {words(item.get('time_range'), 10)}**"]
    no_data = texts_of(item, "no_data")
    if item.get("searches") is not None:
        lines.append(f"{item.get('searches')} searches, {item.get('reads')} reads{_rate(item)}.")
    lines += [_ranking(title, item, name, key) for name, (title, key) in _RANKINGS.items()]
    lines += [_table(title, item, name) for name, title in _TABLES.items()]
    if item.get("latency_p50_ms") is not None:
        lines.append(f"Answer time: p50 {item['latency_p50_ms']} ms, p95 {item.get('latency_p95_ms')} ms.")
    if no_data:
        lines.append("No data: " + ", ".join(words(name, 40) for name in no_data) + ".")
    return [line for line in lines if line]


def _nothing_missed(item: Item, cues: Cues) -> Lines:
    """Return the sentence that no search was without results, which a missing list would not say."""
    asked = "zero_result_queries" in cues.metrics
    none = asked and item.get("searches") and not item.get("zero_result_queries")
    return ["No search was without results."] if none and not texts_of(item, "no_data") else []


def _rate(item: Item) -> str:
    rate = item.get("read_rate")
    return f", {rate:.0%} of searches led to a read" if isinstance(rate, float | int) else ""


_RANKINGS: Final = {
    "top_queries": ("Most asked", "query"),
    "rising_queries": ("Rising", "query"),
    "zero_result_queries": ("Found nothing", "query"),
    "endpoints": ("Most read", "operation"),
}
_TABLES: Final = {"errors": "Errors", "per_provider": "By provider", "per_day": "By day"}


def _ranking(title: str, item: Item, name: str, key: str) -> str:
    rows = rows_of(item, name)
    lines = (f"- {words(row.get(key), 160)}: {row.get('count')}" for row in rows[: 2 * _LIST])
    return _under(title, lines)


def _table(title: str, item: Item, name: str) -> str:
    rows = record_of(item, name).items()
    return _under(title, (f"- {words(key, 60)}: {_figures(told)}" for key, told in rows))


def _figures(told: Any) -> str:
    if not isinstance(told, Mapping):
        return words(told, 40)
    pairs = cast("Mapping[str, Any]", told).items()
    return ", ".join(f"{words(name, 40)} {words(value, 20)}" for name, value in pairs if value is not None)


def _under(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"{title}:\n{body}" if body else ""


_BLOCKS: Final[Mapping[str, Callable[[Item], Lines]]] = {
    "passage": _passage,
    "page": _page,
    "schema": _schema,
    "rows": _rows,
    "tool_details": _tool_details,
    "tool_result": _tool_result,
    "score": _score,
    "usage": _usage,
}
"""Kinds whose results are paragraphs of their own."""
