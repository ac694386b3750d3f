"""`thresher tools health` and `tools improve`: whether tools are found, and what would improve a server; also as SARIF.

Invariant: text from servers is never markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher import __version__
from thresher.cli.arguments import path_option
from thresher.cli.client import ask, without_none
from thresher.cli.knowledge.servers import server_entry
from thresher.cli.output import AsJson, export, progress_bar, show
from thresher.cli.views import Row, percent

_SHOWN: Final = 20
"""Findings of a rule, and tools; `--json` has all."""
_HEADINGS: Final = {
    "not-found": "nobody would find",
    "confused": "confused with a sibling",
    "no-description": "without a description",
    "short-description": "descriptions that are too short",
    "vague-description": "descriptions that do not say what the tool does",
    "no-verb": "descriptions without a verb",
    "same-name": "one name on several servers",
    "same-description": "one description on several servers",
    "parameters-without-words": "parameters without words",
}
_LEVELS: Final = {"not-found": "error", "no-description": "error", "parameters-without-words": "note"}
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def health_report(answer: Row) -> RenderableType:
    """The findings by rule, then how many queries were answered with their tool."""
    lines: list[RenderableType] = []
    for rule, heading in _HEADINGS.items():
        found = [one for one in answer["findings"] if one["rule"] == rule]
        if found:
            lines.append(Text(f"{heading}: {len(found):,}", style="bold"))
            lines += [Text(f"  {one['tool']}").append(f"  {one['message']}", "dim") for one in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(Text(f"  and {len(found) - _SHOWN:,} more (--json has all)", style="dim"))
    if answer["degraded"]:
        lines.append(Text(f"degraded: {answer['degraded']}", style="yellow"))
    if answer["left_out"]:
        lines.append(Text(f"{answer['left_out']:,} tools were not searched: name a server (-s).", style="yellow"))
    share = f"{percent(answer['found'])} of {answer['queries']:,} queries find their tool"
    when = f"; measured {answer['measured_at'][:16].replace('T', ' ')}" if answer["measured_at"] else ""
    return Group(*lines, Text(f"{answer['tools']:,} tools, {share}{when}", style="dim"))


def improvement_report(answer: Row, *, is_installed: bool = False) -> RenderableType:
    """The score, then each tool with findings: its score, the findings, the proposal and its effect.

    Args:
        answer: The improvement of a server.
        is_installed: Whether the server is one of the catalogue, whose proposals can be applied.
    """
    lines: list[RenderableType] = [Text(f"{answer['server']}: {answer['score']} of 100", style="bold")]
    listed = [tool for tool in answer["tools"] if tool["findings"] or tool["proposal"]]
    for tool in listed[:_SHOWN]:
        lines.append(Text(f"{tool['score']:>4}  {tool['name']}", style="bold"))
        lines += [Text(f"      {one['message']}", style="yellow") for one in tool["findings"]]
        if tool["proposal"]:
            lines.append(Text(f"      proposal: {tool['proposal']}"))
            effect = f"{percent(tool['before'])} of its queries find it, {percent(tool['after'])} with the proposals"
            lines.append(Text(f"      {effect}", style="dim"))
    if len(listed) > _SHOWN:
        lines.append(Text(f"and {len(listed) - _SHOWN:,} more tools (--json has all)", style="dim"))
    if answer["degraded"]:
        lines.append(Text(f"degraded: {answer['degraded']}", style="yellow"))
    if answer["left_out"]:
        lines.append(Text(f"{answer['left_out']:,} further tools were not tried.", style="yellow"))
    found = f"{percent(answer['before'])} of {answer['queries']:,} queries find their tool"
    rivals = f"in competition with {answer['rivals']:,} tools of other servers"
    lines.append(Text(f"{found}, {percent(answer['after'])} with the proposals; {rivals}", style="dim"))
    if is_installed and any(tool["proposal"] for tool in listed):
        lines.append(Text("To search for a tool by its proposal: thresher tools rewrites apply NAME", style="dim"))
    return Group(*lines)


def sarif_log(answer: Row, version: str, definitions: Path | None) -> str:
    """Return the findings as a SARIF 2.1.0 log.

    Args:
        answer: The improvement of a server.
        version: That of Thresher.
        definitions: The file of the definitions: findings get its lines. None for a server of the catalogue.
    """
    text = "" if definitions is None else definitions.read_text(encoding="utf-8", errors="replace")
    uri = "" if definitions is None else definitions.as_posix()
    results = [
        _result(tool, one, uri, _line_of(text, tool["name"])) for tool in answer["tools"] for one in tool["findings"]
    ]
    rules = [{"id": rule, "shortDescription": {"text": heading}} for rule, heading in _HEADINGS.items()]
    driver = {"name": "thresher tools improve", "version": version, "rules": rules}
    properties = {name: answer[name] for name in ("server", "score", "before", "after", "queries", "rivals")}
    run = {"tool": {"driver": driver}, "results": results, "properties": properties}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"


def _result(tool: Row, finding: Row, uri: str, line: int) -> Mapping[str, Any]:
    place: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding["tool"], "kind": "function"}]}
    if uri:
        place["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}
    effect = {name: tool[name] for name in ("score", "before", "after", "proposal")}
    return {
        "ruleId": finding["rule"],
        "level": _LEVELS.get(finding["rule"], "warning"),
        "message": {"text": f"{finding['tool']}: {finding['message']}"},
        "locations": [place],
        "properties": effect,
    }


def _line_of(text: str, name: str) -> int:
    """The first line of a file that gives something this name; 1 if there is none."""
    found = re.search(rf'"name"\s*:\s*{re.escape(json.dumps(name, ensure_ascii=False))}', text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def health(
    server: Annotated[str | None, typer.Option("--server", "-s", help="Only tools of this server.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure what is known, too: other servers have changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the tools that nobody would find by what their own definitions say, and why."""
    with progress_bar("Searching", as_json) as follow:
        answer = ask("tool_health", without_none({"server": server, "again": again or None}), progress=follow)
    show(answer, as_json, health_report)


def improve(
    server: Annotated[str | None, typer.Argument(help="A server; may be left out if a file has only one.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="After --: the arguments of the command.")] = None,
    definitions: Annotated[
        Path | None,
        path_option(
            'Of a server that is being written: JSON list of {"server", "name", "description", "inputSchema"}.'
        ),
    ] = None,
    command: Annotated[str | None, typer.Option(help="The program of a stdio server that is being written.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of an HTTP server that is being written.")] = None,
    env: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, or NAME for the value in your shell; repeatable.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="'Name: value'; '${VARIABLE}' or '${file:PATH}' for a secret; repeatable.")
    ] = None,
    min_score: Annotated[int, typer.Option(min=0, max=100, help="End with 1 if the score is lower.")] = 0,
    form: Annotated[
        Literal["text", "json", "sarif"], typer.Option("--format", "-f", help="json as --json; sarif: SARIF 2.1.0.")
    ] = "text",
    as_json: AsJson = False,
) -> None:
    """Print how well a server's tools are found, and better descriptions with their measured effect.

    With --command or --url the server is started or reached and listed once; it is not added.

    Example: thresher tools improve git --command uvx -- mcp-server-git
    """
    sources = [source for source in (definitions, command, url) if source is not None]
    if len(sources) > 1:
        raise typer.BadParameter("Give one of --definitions, --command and --url.")
    if server is None and definitions is None:
        raise typer.BadParameter("Give the name of a server, or --definitions FILE.")
    given: dict[str, Any] = {"server": server}
    if command is None and url is None:
        if arguments or env or header:
            raise typer.BadParameter("--env, --header and arguments after -- need --command or --url.")
        given["definitions"] = None if definitions is None else str(definitions.absolute())
    else:
        given["draft"] = server_entry(
            str(server), command=command, url=url, arguments=arguments, env=env, header=header
        )
    for_programs = as_json or form != "text"
    with progress_bar("Searching", for_programs) as follow:
        answer = ask("improve_tools", without_none(given), progress=follow)
    if form == "sarif" and not as_json:
        export(sarif_log(answer, __version__, definitions))
    else:
        show(answer, for_programs, partial(improvement_report, is_installed=not sources))
    if answer["score"] < min_score:
        raise typer.Exit(1)
