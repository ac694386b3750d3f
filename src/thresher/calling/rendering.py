"""Writes the answers of our own tools: compact text for a model, and lean structured content.

Invariant: pure; answers are short, since a model reads each one, and state what is cut, guessed or degraded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.core import JSON, border_of, one_line
from thresher.knowledge.tools import (
    WANTED,
    Descriptions,
    FindResult,
    FoundTool,
    compact,
    why_text,
)
from thresher.programs import stub

_SERVERS = 12


def find_content(result: FindResult) -> dict[str, Any]:
    """An answer of `find_tools` as structured content, with the reasons of those tools that stand there in full."""
    several = len(result.clauses) > 1
    content: dict[str, Any] = {
        "tools": [_tool(tool, several=several) for tool in result.tools],
        "searched": result.total_searched,
        "abstained": result.abstained,
        "trace_id": result.trace_id,
    }
    if result.degraded:
        content["degraded"] = result.degraded
    if result.fallback:
        content["fallback"] = True
    if result.held_back:
        content["held_back"] = list(result.held_back)
    return content


def empty_search(overview: Mapping[str, int], trace: str) -> tuple[str, dict[str, Any]]:
    """The answer to a search for nothing: how to search, and what there is; as text, and as structured content."""
    servers = ", ".join(sorted(overview, key=lambda name: (-overview[name], name))[:_SERVERS])
    there = f" There are {sum(overview.values())} tools{f' ({servers})' if servers else ''}."
    content: dict[str, Any] = {"tools": [], "searched": 0, "abstained": False, "degraded": WANTED, "trace_id": trace}
    return f"Nothing was searched. {WANTED}{there}", content


def _tool(tool: FoundTool, *, several: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"name": tool.name}
    if tool.form == "full":
        content["signature"] = tool.line.removeprefix(tool.name)
        content |= {"score": round(tool.score, 2), "why": why_text(tool.why)}
        if several and tool.why.source not in ("core", "fallback", "written"):
            content["query"] = tool.why.query
    elif tool.gist:
        content["gist"] = tool.gist
    if tool.write:
        content["write"] = True
    if tool.also:
        content["also"] = list(tool.also)
    return content


def describe_text(found: Descriptions) -> str:
    """Each definition below a line of ours with its name: whole description, input schema as JSON without blanks."""
    tools = [
        (one_line(item.name), f"{item.tool.description.strip()}\ninputSchema: {compact(item.tool.input_schema)}")
        for item in found.tools
    ]
    unknown = [f"Unknown: {one_line(name)}.{_offer(near)}" for name, near in found.unknown.items()]
    if not tools:
        return "\n".join(unknown)
    mark = border_of([*unknown, *(text for tool in tools for text in tool)])
    parts = [f"{mark} {name}\n{text}" for name, text in tools]
    return "\n".join([*parts, *(f"{mark} {line}" for line in unknown or ["end"])])


def stubs_text(found: Descriptions, shapes: Mapping[str, JSON]) -> str:
    """Each definition as a Python function, for programs.

    Args:
        found: The definitions.
        shapes: What results have looked like, by name.
    """
    unknown = [f"# Unknown: {one_line(name)}.{_offer(near)}" for name, near in found.unknown.items()]
    return "\n\n".join([*(stub(item.name, item.tool, shapes.get(item.name)) for item in found.tools), *unknown])


def _offer(near: tuple[str, ...]) -> str:
    return f" Near: {', '.join(map(one_line, near))}." if near else ""


def describe_content(found: Descriptions) -> dict[str, Any]:
    """The definitions as the servers gave them, empty parts left out."""
    content: dict[str, Any] = {"tools": []}
    for item in found.tools:
        whole = {
            "name": item.name,
            "server": item.tool.server,
            "title": item.tool.title,
            "description": item.tool.description,
            "inputSchema": item.tool.input_schema,
            "outputSchema": item.tool.output_schema,
            "annotations": item.tool.annotations,
        }
        content["tools"].append({key: value for key, value in whole.items() if value or key == "inputSchema"})
    if found.unknown:
        content["unknown"] = {name: list(near) for name, near in found.unknown.items()}
    return content
