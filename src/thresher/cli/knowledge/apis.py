"""`thresher apis`: APIs whose descriptions are indexed, their operations, their use, and what would improve them.

Invariant: text of descriptions is never markup, and what a terminal would hide or obey is escaped.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.arguments import absolute_source, schedule_of
from thresher.cli.client import ask, follow_job, without_none
from thresher.cli.command_table import CommandEntry, new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, export, for_command_line, progress_bar, show
from thresher.cli.views import Row, how_often, moment, next_page, plain_table, removed
from thresher.verbs import APIS

_STYLES = {"ready": "green", "failed": "red", "indexing": "bold", "waiting": "bold", "off": "dim"}

_SEVERITIES = {"error": "red", "warning": "yellow", "info": "", "hint": "dim"}

_PROBLEMS = 10

_WORST = 5

_DESCRIPTION = 120


def provider_list(providers: Sequence[Row]) -> RenderableType:
    """One line for each version of an API, then their problems."""
    if not providers:
        return Text("No APIs yet. Add one: thresher apis add NAME SOURCE", "bold")
    table = plain_table("api", "version", "state", "operations", "embedded", "read", "aliases", "source")
    for one in providers:
        for version in one["versions"] or [_NO_VERSION]:
            _add_version(table, one, version)
    return Group(table, *(note for one in providers for note in _failures(one)))


def provider_card(one: Row) -> RenderableType:
    """An API with its versions and their problems."""
    table = plain_table("version", "state", "operations", "embedded", "read", "source")
    for version in one["versions"]:
        meaning, when = f"{version['embedded']:,}", moment(version["synced_at"])
        state, count = _state(one, version), f"{version['operations']:,}"
        table.add_row(Text(version["label"]), state, count, meaning, when, Text(version["source"], "dim"))
    head = Text(f"{one['name']}  {one['display_name']}", "bold")
    off = [Text(f"Switched off: thresher apis enable {one['name']}", "yellow")] if not one["active"] else []
    jobs = [version["job"] for version in one["versions"] if version["state"] in ("waiting", "indexing")]
    waits = [Text(f"Job {job} continues: thresher jobs show {job} --wait", "dim") for job in jobs if job]
    bare = [
        version["label"] for version in one["versions"] if version["state"] == "ready" and not version["operations"]
    ]
    none = [Text(f"{label} has no operations: there is nothing to find.", "yellow") for label in bare]
    bases = [Text(f"{version['label']} is called at {version['base_url']}") for version in one["versions"]]
    called = [line for line, version in zip(bases, one["versions"], strict=True) if version["base_url"]]
    return Group(head, table, *called, *off, *none, *_failures(one), *_problems(one), *waits)


def found_endpoints(answer: Row) -> RenderableType:
    """Operations or tags, then their number, the time and the next page."""
    if not answer["providers"]:
        none = Text("There is no API to search. See: thresher apis list, thresher apis add NAME SOURCE", "bold")
        off = [Text(for_command_line(note), "yellow") for note in answer["notes"]]
        return Group(none, *off)
    if answer["tags"]:
        body = [_tags(answer["tags"])]
    else:
        tables = _by_tag(answer["endpoints"]) if answer["mode"] == "browse" else [_endpoints(answer["endpoints"])]
        body = tables if answer["endpoints"] else [Text("No operation fits.")]
    notes = [*answer["notes"], *([answer["degraded"]] if answer["degraded"] else [])]
    shown = len(answer["tags"] or answer["endpoints"])
    count = Text(f"({shown:,} of {answer['total']:,}; {answer['embedding_ms'] + answer['search_ms']:,.0f} ms)", "dim")
    return Group(*body, count, *(Text(f"({for_command_line(note)})", "yellow") for note in notes), *next_page(answer))


def endpoint_text(answer: Row) -> RenderableType:
    """The text that a model would read, then its tokens."""
    summary = Text(f"({answer['spent']:,} of {answer['budget']:,} tokens; {answer['endpoint']['id']})", "dim")
    return Group(Text(answer["content"].strip()), summary, *(Text(f"({one})", "dim") for one in answer["left_out"]))


def usage_report(answer: Row, metrics: Sequence[str] = ()) -> RenderableType:
    """Figures, then lists; figures without data are named once, those that were not requested are left out."""
    of = f" of {answer['provider']}" if answer["provider"] else ""
    head = Text(f"Use{of} in {answer['time_range']}, since {moment(answer['since'])}", "bold")
    no_data = [Text(f"(no data: {', '.join(answer['no_data'])})", "dim")] if answer["no_data"] else []
    return Group(head, *_figures(answer, metrics), *_query_lists(answer), *_read(answer), *_by(answer), *no_data)


def improvements(answer: Row) -> RenderableType:
    """The score, the findings, and the operations with the lowest scores."""
    head = Text(f"{answer['provider']} {answer['version']}: {answer['score']['value']} of 100", "bold")
    formula = Text(answer["score"]["formula"], "dim")
    lines = [line for one in answer["findings"] for line in _finding(one)]
    count = Text(f"({len(answer['findings']):,} of {answer['total']:,} findings)", "dim")
    worst = sorted(answer["per_endpoint"].items(), key=lambda item: item[1]["value"])[:_WORST]
    scores = [Text(f"{score['value']:>4}  {name}") for name, score in worst]
    below = (
        [Text("lowest scores (for one operation: thresher apis improve --endpoint ID)", "dim"), *scores]
        if scores
        else []
    )
    left = [Text(f"({one})", "dim") for one in answer["left_out"]]
    return Group(head, formula, *lines, count, *below, *left, *next_page(answer))


_NO_VERSION: Row = {
    "label": "", "state": "waiting", "operations": 0, "embedded": 0, "synced_at": None, "source": "",
}  # fmt: skip


def _add_version(table: Table, one: Row, version: Row) -> None:
    names, counts = ", ".join(one["aliases"]), (f"{version['operations']:,}", f"{version['embedded']:,}")
    when, source = moment(version["synced_at"]), Text(version["source"], "dim")
    label, state = Text(version["label"]), _state(one, version)
    table.add_row(Text(one["name"], "bold"), label, state, *counts, when, Text(names), source)


def _state(one: Row, version: Row) -> Text:
    state = version["state"] if one["active"] else "off"
    return Text(state, _STYLES.get(state, ""))


def _failures(one: Row) -> list[Text]:
    broken = [version for version in one["versions"] if version["failure"]]
    return [Text(f"{one['name']} {version['label']}: {version['failure']}", "red") for version in broken]


def _problems(one: Row) -> list[Text]:
    """The parts of descriptions that could not be read."""
    lines: list[Text] = []
    for version in one["versions"]:
        shown = version["problems"][:_PROBLEMS]
        lines += [
            Text(f"  {each['place']['pointer'] or '/'} line {each['place']['line']}: {each['message']}", "dim")
            for each in shown
        ]
        if more := version["problem_count"] - len(shown):
            lines.append(Text(f"  and {more:,} more in {version['label']}", "dim"))
    return [Text("parts that could not be read", "yellow"), *lines] if lines else []


def _tags(tags: Sequence[Row]) -> RenderableType:
    table = plain_table("api", "tag", "operations", "description")
    for one in tags:
        table.add_row(Text(one["provider"]), Text(one["tag"], "bold"), f"{one['operations']:,}", _first(one))
    return table


def _by_tag(endpoints: Sequence[Row]) -> list[RenderableType]:
    """The operations of each tag under its name, as they come."""
    groups = groupby(endpoints, lambda one: (one["provider"], (one["tags"] or [""])[0]))
    return [part for (_, tag), found in groups for part in (Text(tag or "(no tag)", "bold"), _endpoints([*found]))]


def _endpoints(endpoints: Sequence[Row]) -> RenderableType:
    table = plain_table("id", "fit", "api", "operation", "what it does")
    for one in endpoints:
        call = Text(f"{one['method']} {one['path']}", "bold")
        call.append(" deprecated" if one["deprecated"] else "", "yellow")
        where = f"{one['provider']} {one['version']}".strip()
        table.add_row(Text(one["id"]), f"{one['relevance']:.2f}", Text(where), call, Text(_flat(one["title"])))
    return table


def _first(one: Row) -> Text:
    return Text(textwrap.shorten(_flat(one["description"]), _DESCRIPTION, placeholder="..."), "dim")


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
            table = plain_table(name.replace("_", " "), "times", "before")
            for one in answer[name]:
                table.add_row(Text(_flat(one["query"])), f"{one['count']:,}", f"{one['before']:,}")
            yield table


def _read(answer: Row) -> Iterable[RenderableType]:
    if answer["endpoints"]:
        table = plain_table("operations read", "api", "times", "id")
        for one in answer["endpoints"]:
            call = Text(one["operation"])
            table.add_row(call, Text(one["provider"]), f"{one['count']:,}", Text(one["endpoint"], "dim"))
        yield table


def _by(answer: Row) -> Iterable[RenderableType]:
    """Figures by API and by day, and errors by code."""
    for title, name in (("api", "per_provider"), ("day", "per_day")):
        rows = answer[name]
        if rows:
            columns = list(next(iter(rows.values())))
            table = plain_table(title, *columns)
            for key, row in rows.items():
                table.add_row(Text(key), *(_number(row[column]) for column in columns))
            yield table
    if answer["errors"]:
        yield Text("errors: " + ", ".join(f"{code} {count:,}" for code, count in answer["errors"].items()))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _finding(one: Row) -> list[Text]:
    place = one["place"]
    head = Text(f"{one['severity']:<8}", _SEVERITIES.get(one["severity"], ""))
    head.append(f"{one['rule']}  ", "bold").append(f"{one['operation']}  {place['pointer']}", "dim")
    head.append(f"  line {place['line']}" if place["line"] else "", "dim")
    texts = [one["message"], *([one["fix"]] if one["fix"] else [])]
    seen = [Text(f"          seen: {_flat(one['evidence'])}", "dim")] if one["evidence"] else []
    return [head, Text("          " + " ".join(map(_flat, texts))), *seen]


def _flat(text: str) -> str:
    return " ".join(text.split())


apis = new_group(
    {
        "call": CommandEntry("knowledge.api_calls:call", "Call an operation; arguments are checked before it is sent."),
        "hosts": CommandEntry("knowledge.api_calls:hosts", "Allow calls of an API to reach a host."),
        "credentials": CommandEntry("knowledge.api_calls:credentials", "Store what calls of an API sign in with."),
    }
)

FindingKind = Literal["all", "clarity", "examples", "structure", "errors", "security"]
Severity = Literal["error", "warning", "info", "hint"]
Name = Annotated[str, typer.Argument(metavar="NAME", help="An API, as `apis list` names it.")]

Version = Annotated[str | None, typer.Option("--version", help="One of its versions.")]

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")]

FAILED = 1
"""Exit code if a description could not be read."""


@apis.command("add")
@writes
def add(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME] SOURCE...",
            help="A short lower-case name, by default from the title; OpenAPI descriptions: files or URLs.",
        ),
    ],
    display: Annotated[str | None, typer.Option(help="The name as people write it.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another name of it in questions; repeatable.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The address of the API, if the description does not have it.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="A label for this version; that of the description by default.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an API of the same name.")] = False,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Index the descriptions of an API; several sources are several versions of it."""
    named = len(sources) > 1 and not _is_source(sources[0])
    arguments = {
        "name": sources[0] if named else None,
        "sources": [absolute_source(one) for one in sources[named:]],
        "display_name": display,
        "aliases": alias,
    }
    more = {"base_url": base_url, "version": version, "replace": replace or None}
    _finish(ask("add_api", without_none(arguments | more)), wait, as_json)


def _is_source(text: str) -> bool:
    """Return whether the first of several arguments is a source and no name, which may look like a file's."""
    return "/" in text or os.sep in text or Path(text).is_file()


@apis.command("sync")
@writes
def sync(name: Name, version: Version = None, wait: Wait = True, as_json: AsJson = False) -> None:
    """Read the descriptions of an API again, and index what changed."""
    _finish(ask("sync_api", without_none({"provider": name, "version": version})), wait, as_json)


@apis.command("schedule")
@writes
def schedule(
    name: Name,
    every: Annotated[int | None, typer.Option(metavar="SECONDS", min=10, help="Check every so many seconds.")] = None,
    never: Annotated[bool, typer.Option("--never", help="Do not check at all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how often the sources of an API are checked for changes; without an option, as the settings say."""
    show(ask("schedule_api", {"provider": name, "seconds": schedule_of(every, never)}), as_json, _scheduled)


def _scheduled(one: Row) -> RenderableType:
    """When the sources of an API are checked."""
    return Text(one["name"], "bold").append(f": its sources are checked {how_often(one['check_seconds'])}", "not bold")


@apis.command("enable")
@writes
def enable(name: Name, as_json: AsJson = False) -> None:
    """Include an API in searches again."""
    show(ask("set_api_active", {"provider": name, "active": True}), as_json, provider_card)


@apis.command("disable")
@writes
def disable(name: Name, as_json: AsJson = False) -> None:
    """Keep an API, but exclude it from searches."""
    show(ask("set_api_active", {"provider": name, "active": False}), as_json, provider_card)


@apis.command("show")
def show_endpoint(
    endpoint: Annotated[
        list[str], typer.Argument(metavar="ENDPOINT", help="op_..., METHOD PATH, PATH, or an operation's own name.")
    ],
    api: Annotated[str | None, typer.Option("--api", "-a", help="The API of the operation.")] = None,
    version: Version = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="The most tokens; 4000 by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print one operation in full: parameters, request, answers, sign-in, schemas, code."""
    arguments = {**named_endpoint(endpoint), "provider": api, "version": version, "budget": budget}
    show(ask("get_api_endpoint", without_none(arguments)), as_json, endpoint_text)


@apis.command("improve")
def improve(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An API; all by default.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Only this operation: op_...")] = None,
    version: Version = None,
    kind: Annotated[FindingKind, typer.Option("--type", "-t", help="Only findings of this kind.")] = "all",
    severity: Annotated[Severity, typer.Option("--min-severity", "-s", help="The lowest severity to report.")] = "hint",
    patch: Annotated[
        Literal["overlay", "diff"] | None, typer.Option(help="Print a patch for what can be fixed automatically.")
    ] = None,
    form: Annotated[
        Literal["markdown", "json"] | None, typer.Option("--format", "-f", help="markdown for a page; json as --json.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="The most findings; 50 by default.")] = None,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the last answer, to get the rest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the problems of a description, worst first, or a patch that fixes them."""
    arguments = {"provider": name, "endpoint_id": endpoint, "version": version, "feedback_type": kind}
    more = {"min_severity": severity, "limit": limit, "cursor": cursor, "patch": patch}
    given = without_none(arguments | more | {"format": form})
    with progress_bar("Reading", as_json) as follow:
        answer = ask("suggest_api_improvements", given, progress=follow)
    if as_json or form == "json":
        show(answer, True, improvements)
    elif patch is not None:
        _export(_patch(answer["patch"], patch))
    elif form == "markdown":
        _export(answer["markdown"])
    else:
        show(answer, False, improvements)


def _finish(provider: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Wait for the jobs of an API, if wanted, and show the API."""
    jobs = [version["job"] for version in provider["versions"] if version["job"]]
    if wait and jobs:
        for job in dict.fromkeys(jobs):
            follow_job(job, "Indexing", as_json=as_json)
        named = [one for one in ask("list_api_providers")["providers"] if one["name"] == provider["name"]]
        provider = named[0] if named else provider
    show(provider, as_json, provider_card)
    if any(version["failure"] for version in provider["versions"]):
        raise typer.Exit(FAILED)


def named_endpoint(words: list[str]) -> dict[str, str]:
    """The operation that is meant: `op_...`, `GET /path`, `GET` and `/path`, `/path`, or its own name."""
    text = " ".join(words)
    parts = text.split()
    if len(parts) == 2 and parts[1].startswith("/"):
        return {"method": parts[0], "path": parts[1]}
    if len(words) > 1 or (len(parts) > 1 and "/" in text):
        raise typer.BadParameter(f"'{text}' is not one operation; give op_..., METHOD PATH, PATH, or its own name.")
    if text.startswith("/"):
        return {"path": text}
    return {"endpoint_id": text} if text.startswith("op_") else {"operation_id": text}


def _patch(patch: dict[str, Any] | None, form: str) -> str:
    if patch is None:
        return ""
    return patch["diff"] if form == "diff" else json.dumps(patch["overlay"], ensure_ascii=False, indent=2)


def _export(text: str) -> None:
    export(text if text.endswith("\n") or not text else f"{text}\n")


add_command(apis, "list", APIS["list_api_providers"], provider_list)

add_command(
    apis,
    "remove",
    APIS["remove_api"],
    removed,
    arguments={"provider": "NAME: An API, as `apis list` names it"},
)

add_command(
    apis,
    "search",
    APIS["search_api_docs"],
    found_endpoints,
    arguments={"query": "QUERY: What the operation does, in any words; '' lists the tags of an API"},
    flags={
        "providers": "--api -a: Only this API; repeatable",
        "methods": "--method -m: Only this HTTP method; repeatable",
        "tags": "--tag -t: Only this tag; repeatable",
        "limit": "--limit -n: The most operations",
    },
)

add_command(
    apis,
    "usage",
    APIS["analyze_api_usage"],
    usage_report,
    arguments={"provider": "NAME: An API; all by default"},
    flags={"time_range": "--range -r: How far to look back", "metrics": "--metric: Only this figure; repeatable"},
)
