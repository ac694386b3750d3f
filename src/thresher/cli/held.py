"""Shows the tools that wait for a person: why, what changed, what looks wrong.

Invariant: text from servers is never markup, and hidden characters in it are written out before they come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_REASONS = {
    "changed": "its definition is not the approved one",
    "poisoned": "it looks poisoned",
    "rejected": "it was rejected",
}

_DECIDE = "Decide: thresher tools approve NAME@DIGEST, or reject NAME@DIGEST."
_DECIDED = "Nothing asks for a decision. To use a rejected definition after all: thresher tools approve NAME@DIGEST."


def held_list(answer: Sequence[Row]) -> RenderableType:
    """Every tool that waits: reason, findings, and the difference line by line."""
    if not answer:
        return Text("No tool waits for approval.")
    parts: list[RenderableType] = []
    for tool in answer:
        head = Text(f"{tool['name']}@{tool['digest']}", style="bold")
        head.append(f"  {_REASONS.get(tool['reason'], tool['reason'])}, since {tool['since'][:16]}", style="yellow")
        parts.append(head)
        for finding in tool["findings"]:
            style = "red" if finding["severity"] == "danger" else "yellow"
            parts.append(Text(f"  {finding['severity']}: {finding['why']} ({finding['where']})", style=style))
            parts.append(Text(f"    {finding['excerpt']}", style="dim"))
        parts += [_compared(line) for line in tool["difference"]]
        parts.append(Text(""))
    undecided = any(tool["reason"] != "rejected" for tool in answer)
    parts.append(Text(_DECIDE if undecided else _DECIDED, style="dim"))
    return Group(*parts)


def _compared(line: str) -> Text:
    style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
    return Text(f"  {line}", style=style)


def decided(answer: Row) -> RenderableType:
    """What was decided, and what was left out of a blanket approval."""
    word = {"approve": "Approved", "reject": "Rejected"}[answer["decision"]]
    lines = [Text(f"{word}: {', '.join(answer['tools'])}." if answer["tools"] else "Nothing was waiting.")]
    if answer["left"]:
        names = ", ".join(answer["left"])
        lines.append(Text(f"Left, since they look poisoned: {names}. Name them to approve them.", style="yellow"))
    return Group(*lines)


def consent_list(answer: Sequence[Row]) -> RenderableType:
    """The tools that a person has agreed to, and whether that still holds."""
    if not answer:
        return Text("No consent is remembered. A chat asks before it calls a tool of a server that is not trusted.")
    table = Table("tool", "definition", "since", "", box=None, pad_edge=False, header_style="dim")
    for one in answer:
        lapsed = "" if one["holds"] else "lapsed: its definition has changed"
        table.add_row(Text(one["tool"]), one["definition"], one["since"][:16].replace("T", " "), Text(lapsed, "yellow"))
    return table


def forgotten(answer: Row) -> RenderableType:
    """What will be asked about again."""
    return Text(f"You will be asked again before a call of {', '.join(answer['forgotten'])}.")
