"""`thresher apis`: APIs whose descriptions are indexed, their operations, their use, and what would improve them."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from thresher.cli.api_views import (
    endpoint_text,
    found_endpoints,
    improvements,
    provider_card,
    provider_list,
    removed,
    usage_report,
)
from thresher.cli.client import ask, follow_job
from thresher.cli.dry_run import writes
from thresher.cli.files import placed
from thresher.cli.output import AsJson, export, progress_bar, show
from thresher.cli.verbs import add_command
from thresher.verbs import APIS

commands = typer.Typer(help="Ask and manage descriptions of APIs.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="An API, as `apis list` names it.")]
Version = Annotated[str | None, typer.Option("--version", help="One of its versions.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")]

FAILED = 1
"""Exit code where a description that was waited for could not be read."""


class Feedback(StrEnum):
    """What about a description is looked at."""

    all = "all"
    clarity = "clarity"
    examples = "examples"
    structure = "structure"
    errors = "errors"
    security = "security"


class Severity(StrEnum):
    """How bad a finding is."""

    error = "error"
    warning = "warning"
    info = "info"
    hint = "hint"


class PatchForm(StrEnum):
    """How a patch is written."""

    overlay = "overlay"
    diff = "diff"


class Format(StrEnum):
    """How findings are written."""

    markdown = "markdown"
    json = "json"


@commands.command("add")
@writes
def add(
    name: Annotated[str, typer.Argument(help="What the API is called from now on: short, lower case.")],
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="OpenAPI descriptions: files or URLs.")],
    display: Annotated[str | None, typer.Option(help="Its name as people write it.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another word for it in questions; repeatable.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Where it is called, if the description does not say.")] = None,
    version: Annotated[
        str | None, typer.Option(help="What to call this version; the description says unless given.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Give an existing name these sources.")] = False,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Make the operations of an API searchable; several sources are several versions of it."""
    arguments = {"name": name, "sources": [placed(one) for one in sources], "display_name": display, "aliases": alias}
    more = {"base_url": base_url, "version": version, "replace": replace or None}
    _finish(ask("add_api", _given(arguments | more)), wait, as_json)


@commands.command("sync")
@writes
def sync(name: Name, version: Version = None, wait: Wait = True, as_json: AsJson = False) -> None:
    """Read an API's descriptions again; what did not change is kept as it is."""
    _finish(ask("sync_api", _given({"provider": name, "version": version})), wait, as_json)


@commands.command("enable")
@writes
def enable(name: Name, as_json: AsJson = False) -> None:
    """Let an API be found again."""
    show(ask("set_api_active", {"provider": name, "active": True}), as_json, provider_card)


@commands.command("disable")
@writes
def disable(name: Name, as_json: AsJson = False) -> None:
    """Keep an API, but let nobody find it."""
    show(ask("set_api_active", {"provider": name, "active": False}), as_json, provider_card)


@commands.command("show")
def show_endpoint(
    endpoint: Annotated[
        list[str], typer.Argument(metavar="ENDPOINT", help="op_..., METHOD PATH, PATH, or an operation's own name.")
    ],
    api: Annotated[str | None, typer.Option("--api", "-a", help="Whose operation it is.")] = None,
    version: Version = None,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Tokens at most; 4000 unless told.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print one operation in full: parameters, request, answers, sign-in, schemas, code."""
    arguments = {**_endpoint(endpoint), "provider": api, "version": version, "budget": budget}
    show(ask("get_api_endpoint", _given(arguments)), as_json, endpoint_text)


@commands.command("improve")
def improve(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An API; all unless given.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="op_...: only this operation.")] = None,
    version: Version = None,
    kind: Annotated[Feedback, typer.Option("--type", "-t", help="Only findings of this kind.")] = Feedback.all,
    severity: Annotated[Severity, typer.Option("--min-severity", "-s", help="No milder ones.")] = Severity.hint,
    patch: Annotated[PatchForm | None, typer.Option(help="Print the change that mends what it can.")] = None,
    form: Annotated[Format | None, typer.Option("--format", "-f", help="markdown for a page; json as --json.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="Findings at most; 50 unless told.")] = None,
    cursor: Annotated[str | None, typer.Option(help="Of the last answer: what it left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print what is wrong with a description, worst first, or the patch that mends it."""
    arguments = {"provider": name, "endpoint_id": endpoint, "version": version, "feedback_type": kind.value}
    more = {"min_severity": severity.value, "limit": limit, "cursor": cursor, "patch": patch.value if patch else None}
    given = _given(arguments | more | {"format": form.value if form else None})
    with progress_bar("Reading", as_json) as follow:
        answer = ask("suggest_api_improvements", given, progress=follow)
    if as_json or form is Format.json:
        show(answer, True, improvements)
    elif patch is not None:
        _export(_patch(answer["patch"], patch))
    elif form is Format.markdown:
        _export(answer["markdown"])
    else:
        show(answer, False, improvements)


def _finish(provider: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Follow the jobs of an API to their ends, if that is wanted, and show how it stands then."""
    jobs = [version["job"] for version in provider["versions"] if version["job"]]
    if wait and jobs:
        for job in dict.fromkeys(jobs):
            follow_job(job, "Indexing", as_json=as_json)
        named = [one for one in ask("list_api_providers")["providers"] if one["name"] == provider["name"]]
        provider = named[0] if named else provider
    show(provider, as_json, provider_card)
    if any(version["failure"] for version in provider["versions"]):
        raise typer.Exit(FAILED)


def _endpoint(words: list[str]) -> dict[str, str]:
    """Which operation is meant: `op_...`, `GET /path`, `GET` and `/path`, `/path` alone, or its own name."""
    text = " ".join(words)
    parts = text.split()
    if len(parts) == 2 and parts[1].startswith("/"):
        return {"method": parts[0], "path": parts[1]}
    if len(words) > 1 or (len(parts) > 1 and "/" in text):
        raise typer.BadParameter(f"'{text}' is not one operation; give op_..., METHOD PATH, PATH, or its own name.")
    if text.startswith("/"):
        return {"path": text}
    return {"endpoint_id": text} if text.startswith("op_") else {"operation_id": text}


def _patch(patch: dict[str, Any] | None, form: PatchForm) -> str:
    if patch is None:
        return ""
    return patch["diff"] if form is PatchForm.diff else json.dumps(patch["overlay"], ensure_ascii=False, indent=2)


def _export(text: str) -> None:
    export(text if text.endswith("\n") or not text else f"{text}\n")


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


add_command(commands, "list", APIS["list_api_providers"], provider_list)
add_command(
    commands,
    "remove",
    APIS["remove_api"],
    removed,
    arguments={"provider": "NAME: An API, as `apis list` names it"},
)
add_command(
    commands,
    "search",
    APIS["search_api_docs"],
    found_endpoints,
    arguments={"query": "QUERY: What shall be done, in any words; '' lists the tags of an API"},
    flags={
        "providers": "--api -a: Only this API; repeatable",
        "methods": "--method -m: Only this HTTP method; repeatable",
        "tags": "--tag -t: Only this tag; repeatable",
        "limit": "--limit -n: Most operations",
    },
)
add_command(
    commands,
    "usage",
    APIS["analyze_api_usage"],
    usage_report,
    arguments={"provider": "NAME: An API; all unless given"},
    flags={"time_range": "--range -r: How far back", "metrics": "--metric: Only this figure; repeatable"},
)
