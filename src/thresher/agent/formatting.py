"""Writes an answer as Markdown for people: what was found, how to read on, what must be known.

Invariant: pure; other people's text stays text (`markup`), and an answer has a bounded length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from thresher.agent.cues import Cues
from thresher.agent.inquiries import Item, record_of, rows_of, texts_of
from thresher.agent.markup import block, code, words
from thresher.agent.records import IntentType

ANSWER_CHARACTERS: Final = 16_000
"""Of a formatted answer; the results as data are whole."""
_PARAMETERS: Final = 25
_LIST: Final = 8

Lines: TypeAlias = list[str]

NOTHING_INSTALLED: Final = (
    "There is nothing to ask yet. Add what questions shall be answered from:\n\n"
    "- an API: `thresher apis add NAME SOURCE`\n"
    "- documents: `thresher index docs NAME FOLDER`\n"
    "- a database: `thresher db add NAME --url URL`\n"
    "- a server with tools: `thresher servers add NAME -- COMMAND`"
)
_TITLES: Final[Mapping[str, str]] = {
    "endpoint": "Operations",
    "endpoint_details": "",
    "tag": "Tags",
    "passage": "Passages",
    "page": "",
    "schema": "Databases",
    "statement": "Statements, newest first",
    "tool": "Tools",
    "tool_details": "Tools",
    "usage": "",
    "score": "",
    "finding": "Findings, worst first",
}


def answer_text(items: Sequence[Item], total: int, wanted: IntentType, cues: Cues, notes: Sequence[str]) -> str:
    """The whole answer.

    Args:
        items: The results, those of one kind together.
        total: How many there are, also those not shown.
        wanted: What the question wants.
        cues: What it says outright: the parts of an operation that it is about come first.
        notes: What must be known.
    """
    parts = _parts(items, wanted, cues)
    if not items:
        parts = ["Nothing fits. Other words may; or ask for a list, such as “list jira apis”."]
    elif total > len(items):
        parts.append(f"{len(items)} of {total:,} shown; say “more” for the next ones.")
    text = "\n\n".join(part for part in parts if part)
    if len(text) > ANSWER_CHARACTERS:
        text = _shortened(parts)
    return "\n\n".join(filter(None, (text, "\n".join(f"> {words(note)}" for note in notes))))


def failed_text(problems: Sequence[str]) -> str:
    """What is said where no tool has answered."""
    return "\n".join(["No tool could answer.", "", *(f"- {words(problem, 500)}" for problem in problems)])


def _shortened(parts: Sequence[str]) -> str:
    """As many whole parts as there is room for; a fence is never left open."""
    kept: Lines = []
    for part in parts:
        if sum(map(len, kept)) + len(part) > ANSWER_CHARACTERS:
            break
        kept.append(part)
    return "\n\n".join([*kept, "The rest is too long to stand here; the results as data (`--json`) have it."])


def _parts(items: Sequence[Item], wanted: IntentType, cues: Cues) -> Lines:
    parts: Lines = []
    heading = None
    listed: Lines = []
    for number, item in enumerate(items, 1):
        kind = str(item["kind"])
        if kind != heading:
            parts, listed = _closed(parts, listed)
            heading = kind
            parts += [f"**{_title(kind, items)}**"] if _title(kind, items) else []
        if kind in _LINES:
            listed.append(f"{number}. {_LINES[kind](item)}")
        elif kind == "endpoint_details":
            parts += _details(item, wanted, cues)
        else:
            parts += _BLOCKS[kind](item)
    return _closed(parts, listed)[0]


def _closed(parts: Lines, listed: Lines) -> tuple[Lines, Lines]:
    return ([*parts, "\n".join(listed)] if listed else parts), []


def _title(kind: str, items: Sequence[Item]) -> str:
    others = kind == "endpoint" and any(item["kind"] == "endpoint_details" for item in items)
    return "Others that may be meant" if others else _TITLES[kind]


def _endpoint(item: Item) -> str:
    version = f" {words(item['version'], 40)}" if item.get("version") else ""
    head = f"{_call(item)} — {words(item.get('title'), 120)}"
    where = f"({words(item.get('provider'), 60)}{version}{', deprecated' if item.get('deprecated') else ''})"
    lines = [f"{head} {where}"]
    if item.get("description") and item.get("description") != item.get("title"):
        lines.append(words(item["description"], 240))
    if tips := texts_of(item, "tips"):
        lines.append("; ".join(words(tip, 80) for tip in tips[:_LIST]))
    command = f"thresher apis show {item.get('id')}"
    return "  \n   ".join([*lines, f"read it: {code(command)}"])


def _call(item: Item) -> str:
    return code(f"{item.get('method')} {item.get('path')}")


def _tag(item: Item) -> str:
    about = f": {words(item['description'], 160)}" if item.get("description") else ""
    return (
        f"{words(item.get('tag'), 80)} ({words(item.get('provider'), 60)}), {item.get('operations')} operations{about}"
    )


def _tool(item: Item) -> str:
    changes = " (may change something)" if item.get("write") else ""
    return f"{code(item.get('name'))} {code(item.get('signature'), 240)}{changes}"


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
"""Kinds of which each result is an entry of a numbered list."""


def _details(item: Item, wanted: IntentType, cues: Cues) -> Lines:
    """An operation in full; of it the parts that the question is about, where it names some."""
    deprecated = " **Deprecated.**" if item.get("deprecated") else ""
    head = f"{_call(item)} — {words(item.get('title'), 160)}"
    about = f"{head} ({words(item.get('provider'), 60)}, {code(item.get('id'))}).{deprecated}"
    parts = [about, *([words(item["description"], 400)] if item.get("description") else [])]
    chosen = ("samples",) if wanted == "tutorial" and not cues.sections else cues.sections
    every = wanted == "tutorial" or not any(_SECTIONS[name](item) for name in chosen)
    names = [*(name for name in chosen if every), *(name for name in _SECTIONS if every)] or list(chosen)
    parts += [part for name in dict.fromkeys(names) for part in _SECTIONS[name](item)]
    if tips := texts_of(item, "tips"):
        parts.append("Good to know: " + "; ".join(words(tip, 80) for tip in tips[:_LIST]) + ".")
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
    needed = ", required" if row.get("required") else ""
    schema = row.get("schema")
    form = f", {words(_type(schema), 60)}" if _type(schema) else ""
    about = f": {words(row['description'], 200)}" if row.get("description") else ""
    return f"{code(row.get('name'))} ({words(row.get('in'), 20)}{form}{needed}){about}"


def _type(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    value = cast("Mapping[str, Any]", schema).get("type") if isinstance(schema, Mapping) else None
    return str(value) if isinstance(value, str) else ""


def _request(item: Item) -> Lines:
    return [] if item.get("request") is None else ["Request body, for example:", _json(item["request"])]


def _responses(item: Item) -> Lines:
    rows = rows_of(item, "responses")
    if not rows:
        return []
    lines = [f"- {code(row.get('status'))} {words(row.get('description'), 200)}" for row in rows]
    example = next((row["example"] for row in rows if row.get("example") not in (None, "")), None)
    return ["Answers:\n" + "\n".join(lines), *(["For example:", _json(example, 1_500)] if example is not None else [])]


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


def _passage(item: Item) -> Lines:
    heading = " > ".join(texts_of(item, "heading"))
    where = f"{code(item.get('path'))} lines {words(item.get('lines'), 20)} ({words(item.get('repository'), 60)})"
    return [f"{where}{f' — {words(heading, 160)}' if heading else ''}", block(str(item.get("text") or ""))]


def _page(item: Item) -> Lines:
    return [f"{code(item.get('path'))} ({words(item.get('repository'), 60)})", block(str(item.get("text") or ""))]


def _schema(item: Item) -> Lines:
    head = f"{code(item.get('connection'))} ({words(item.get('dialect'), 40)})"
    return [head, block(str(item.get("content") or ""))]


def _tool_details(item: Item) -> Lines:
    about = f"{code(item.get('name'))} — {words(item.get('description'), 600)}"
    return [about, *(["Arguments:", _json(item["input_schema"])] if item.get("input_schema") else [])]


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


def _json(value: Any, limit: int = 3_000) -> str:
    return block(json.dumps(value, ensure_ascii=False, indent=2, default=str), "json", limit)


_BLOCKS: Final[Mapping[str, Callable[[Item], Lines]]] = {
    "passage": _passage,
    "page": _page,
    "schema": _schema,
    "tool_details": _tool_details,
    "score": _score,
    "usage": _usage,
}
"""Kinds of which each result is a paragraph or more of its own."""
