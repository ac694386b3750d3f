"""How the findability of tools is printed: the health of a catalogue, and what would improve a server, also as SARIF.

Invariant: text from servers is never markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

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
    return Group(*lines, Text(f"{answer['tools']:,} tools, {share}", style="dim"))


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
