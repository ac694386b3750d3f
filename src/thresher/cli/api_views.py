"""APIs, their operations, their use and what is wrong with their descriptions, for people.

Invariant: takes decoded JSON and returns something that Rich can print; text of descriptions is never markup, and what
a terminal would hide or obey is written out.
"""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.hints import for_command_line

Row = Mapping[str, Any]

_STYLES = {"ready": "green", "failed": "red", "indexing": "bold", "waiting": "bold", "off": "dim"}
_SEVERITIES = {"error": "red", "warning": "yellow", "info": "", "hint": "dim"}
_PROBLEMS = 10
_WORST = 5
_DESCRIPTION = 120


def provider_list(providers: Sequence[Row]) -> RenderableType:
    """One line a version of an API, and what is amiss with one below."""
    if not providers:
        return Text("No APIs yet. Add one: thresher apis add NAME SOURCE", "bold")
    table = _table("api", "version", "state", "operations", "by meaning", "read", "also", "source")
    for one in providers:
        for version in one["versions"] or [_NO_VERSION]:
            _add_version(table, one, version)
    return Group(table, *(note for one in providers for note in _failures(one)))


def provider_card(one: Row) -> RenderableType:
    """An API after it was added, read again or switched."""
    table = _table("version", "state", "operations", "by meaning", "read", "source")
    for version in one["versions"]:
        meaning, when = f"{version['embedded']:,}", _moment(version["synced_at"])
        state, count = _state(one, version), f"{version['operations']:,}"
        table.add_row(_text(version["label"]), state, count, meaning, when, _text(version["source"], "dim"))
    head = _text(f"{one['name']}  {one['display_name']}", "bold")
    off = [Text(f"Switched off: thresher apis enable {one['name']}", "yellow")] if not one["active"] else []
    jobs = [version["job"] for version in one["versions"] if version["state"] in ("waiting", "indexing")]
    waits = [Text(f"Job {job} goes on: thresher jobs show {job} --wait", "dim") for job in jobs if job]
    bare = [
        version["label"] for version in one["versions"] if version["state"] == "ready" and not version["operations"]
    ]
    none = [_text(f"No operation stands in {label}: there is nothing to find.", "yellow") for label in bare]
    return Group(head, table, *off, *none, *_failures(one), *_problems(one), *waits)


def removed(answer: Row) -> RenderableType:
    """What is gone."""
    return _text(f"Removed {answer['removed']}.")


def found_endpoints(answer: Row) -> RenderableType:
    """Operations or tags, then how to go on."""
    if not answer["providers"]:
        none = Text("There is no API to search: thresher apis list, thresher apis add NAME SOURCE", "bold")
        off = [_text(for_command_line(note), "yellow") for note in answer["notes"]]
        return Group(none, *off)
    if answer["tags"]:
        body = [_tags(answer["tags"])]
    else:
        body = [_endpoints(answer["endpoints"])] if answer["endpoints"] else [Text("No operation fits.")]
    notes = [*answer["notes"], *([answer["degraded"]] if answer["degraded"] else [])]
    shown = len(answer["tags"] or answer["endpoints"])
    count = Text(f"({shown:,} of {answer['total']:,}; {answer['embedding_ms'] + answer['search_ms']:,.0f} ms)", "dim")
    return Group(*body, count, *(_text(f"({for_command_line(note)})", "yellow") for note in notes), *_more(answer))


def endpoint_text(answer: Row) -> RenderableType:
    """What a model would read, then what it cost."""
    told = Text(f"({answer['spent']:,} of {answer['budget']:,} tokens; {answer['endpoint']['id']})", "dim")
    return Group(_text(answer["content"].strip()), told, *(_text(f"({one})", "dim") for one in answer["left_out"]))


def usage_report(answer: Row, metrics: Sequence[str] = ()) -> RenderableType:
    """Figures, then lists; what there is no data for is said once, and what nobody wanted is not said."""
    of = f" of {answer['provider']}" if answer["provider"] else ""
    head = _text(f"Use{of} in {answer['time_range']}, since {_moment(answer['since'])}", "bold")
    no_data = [_text(f"(no data: {', '.join(answer['no_data'])})", "dim")] if answer["no_data"] else []
    return Group(head, *_figures(answer, metrics), *_query_lists(answer), *_read(answer), *_by(answer), *no_data)


def improvements(answer: Row) -> RenderableType:
    """The score, the findings, the operations that need most."""
    head = _text(f"{answer['provider']} {answer['version']}: {answer['score']['value']} of 100", "bold")
    formula = _text(answer["score"]["formula"], "dim")
    lines = [line for one in answer["findings"] for line in _finding(one)]
    count = Text(f"({len(answer['findings']):,} of {answer['total']:,} findings)", "dim")
    worst = sorted(answer["per_endpoint"].items(), key=lambda item: item[1]["value"])[:_WORST]
    scores = [_text(f"{score['value']:>4}  {name}") for name, score in worst]
    below = [Text("lowest scores (one of them: thresher apis improve --endpoint ID)", "dim"), *scores] if scores else []
    left = [_text(f"({one})", "dim") for one in answer["left_out"]]
    return Group(head, formula, *lines, count, *below, *left, *_more(answer))


_NO_VERSION: Row = {
    "label": "", "state": "waiting", "operations": 0, "embedded": 0, "synced_at": None, "source": "",
}  # fmt: skip


def _add_version(table: Table, one: Row, version: Row) -> None:
    names, counts = ", ".join(one["aliases"]), (f"{version['operations']:,}", f"{version['embedded']:,}")
    when, source = _moment(version["synced_at"]), _text(version["source"], "dim")
    label, state = _text(version["label"]), _state(one, version)
    table.add_row(_text(one["name"], "bold"), label, state, *counts, when, _text(names), source)


def _state(one: Row, version: Row) -> Text:
    state = version["state"] if one["active"] else "off"
    return Text(state, _STYLES.get(state, ""))


def _failures(one: Row) -> list[Text]:
    broken = [version for version in one["versions"] if version["failure"]]
    return [_text(f"{one['name']} {version['label']}: {version['failure']}", "red") for version in broken]


def _problems(one: Row) -> list[Text]:
    """Parts of descriptions that could not be read."""
    lines: list[Text] = []
    for version in one["versions"]:
        shown = version["problems"][:_PROBLEMS]
        lines += [
            _text(f"  {each['place']['pointer'] or '/'} line {each['place']['line']}: {each['message']}", "dim")
            for each in shown
        ]
        if more := version["problem_count"] - len(shown):
            lines.append(_text(f"  and {more:,} more in {version['label']}", "dim"))
    return [Text("parts that could not be read", "yellow"), *lines] if lines else []


def _tags(tags: Sequence[Row]) -> RenderableType:
    table = _table("api", "tag", "operations", "description")
    for one in tags:
        table.add_row(_text(one["provider"]), _text(one["tag"], "bold"), f"{one['operations']:,}", _first(one))
    return table


def _endpoints(endpoints: Sequence[Row]) -> RenderableType:
    table = _table("id", "fit", "api", "operation", "what it does")
    for one in endpoints:
        call = _text(f"{one['method']} {one['path']}", "bold")
        call.append(" deprecated" if one["deprecated"] else "", "yellow")
        where = f"{one['provider']} {one['version']}".strip()
        table.add_row(_text(one["id"]), f"{one['relevance']:.2f}", _text(where), call, _text(_flat(one["title"])))
    return table


def _first(one: Row) -> Text:
    return _text(textwrap.shorten(_flat(one["description"]), _DESCRIPTION, placeholder="..."), "dim")


def _figures(answer: Row, wanted: Sequence[str]) -> list[Text]:
    names = {"searches": "", "reads": "", "latency_p50_ms": " ms", "latency_p95_ms": " ms"}
    left_out = {*answer["no_data"], *({"searches", "reads"} - {*wanted} if wanted else ())}
    known = [(name, unit) for name, unit in names.items() if answer[name] is not None and name not in left_out]
    lines = [Text(f"  {name}: {answer[name]:,.0f}{unit}") for name, unit in known]
    rate = answer["read_rate"]
    return [*lines, *([Text(f"  read_rate: {rate:.0%}")] if rate is not None else [])]


def _query_lists(answer: Row) -> Iterable[RenderableType]:
    for name in ("top_queries", "rising_queries", "zero_result_queries"):
        if answer[name]:
            table = _table(name.replace("_", " "), "times", "before")
            for one in answer[name]:
                table.add_row(_text(_flat(one["query"])), f"{one['count']:,}", f"{one['before']:,}")
            yield table


def _read(answer: Row) -> Iterable[RenderableType]:
    if answer["endpoints"]:
        table = _table("operations read", "api", "times", "id")
        for one in answer["endpoints"]:
            call = _text(one["operation"])
            table.add_row(call, _text(one["provider"]), f"{one['count']:,}", _text(one["endpoint"], "dim"))
        yield table


def _by(answer: Row) -> Iterable[RenderableType]:
    """By API and by day, each with its own columns; errors by code."""
    for title, name in (("api", "per_provider"), ("day", "per_day")):
        rows = answer[name]
        if rows:
            columns = list(next(iter(rows.values())))
            table = _table(title, *columns)
            for key, row in rows.items():
                table.add_row(_text(key), *(_number(row[column]) for column in columns))
            yield table
    if answer["errors"]:
        yield _text("errors: " + ", ".join(f"{code} {count:,}" for code, count in answer["errors"].items()))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _finding(one: Row) -> list[Text]:
    place = one["place"]
    head = Text(f"{one['severity']:<8}", _SEVERITIES.get(one["severity"], ""))
    head.append(f"{one['rule']}  ", "bold").append(f"{one['operation']}  {place['pointer']}", "dim")
    head.append(f"  line {place['line']}" if place["line"] else "", "dim")
    said = [one["message"], *([one["fix"]] if one["fix"] else [])]
    seen = [_text(f"          seen: {_flat(one['evidence'])}", "dim")] if one["evidence"] else []
    return [head, _text("          " + " ".join(map(_flat, said))), *seen]


def _more(answer: Row) -> list[Text]:
    return [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer.get("cursor") else []


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _moment(text: str | None) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""


def _flat(text: str) -> str:
    return " ".join(text.split())


def _text(text: str, style: str = "") -> Text:
    return Text(text, style)
