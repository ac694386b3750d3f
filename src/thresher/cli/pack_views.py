"""Shows packs, and what was done with them.

Invariant: takes decoded JSON and returns something that Rich can print; text of packs is never markup, and characters
that cannot be seen are written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.output import shortened

Row = Mapping[str, Any]

_STYLES = {"error": "red", "danger": "red", "warning": "yellow", "hint": "dim"}
_DESCRIPTION = 80
_LINES = 10
_DIGEST = 12
_DONE = {
    "created": "Created",
    "added": "Added to",
    "updated": "Brought up to date in",
    "removed": "Removed from",
    "deleted": "Deleted, since it held nothing else:",
    "unchanged": "Nothing to do in",
}


def pack_list(answer: Row) -> RenderableType:
    """Packs in use, packs that are not, problems."""
    parts: list[RenderableType] = []
    if answer["reading"]:
        parts.append(Text("Packs are still being read: this list is an earlier one. Try again.", "yellow"))
    if answer["active"]:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("pack", "from", "lines", "what it is for"):
            table.add_column(heading, overflow="fold")
        for pack in answer["active"]:
            description = Text(_short(pack["description"], _DESCRIPTION), "dim")
            table.add_row(Text(pack["name"], "bold"), _origin(pack), str(pack["examples"]), description)
        parts.append(table)
    else:
        parts.append(Text("No packs yet. Make one: thresher packs new NAME", "bold"))
    for pack in answer["inert"]:
        told = f"not used: {pack['name']}@{pack['digest'][:_DIGEST]} ({pack['reason']}), {pack['path']}"
        parts += [Text(told, "yellow"), Text(f"  {pack['hint']}", "dim")]
    for problem in answer["problems"]:
        told = f"{problem['path']}: {problem['message']} {problem['hint']}".rstrip()
        parts.append(Text(told, _STYLES[problem.get("severity", "warning")]))
    return Group(*parts)


def _origin(pack: Row) -> str:
    return pack["origin"] if pack["form"] in ("pack", "skill") else f"{pack['origin']}, {pack['form']}"


def pack_text(pack: Row) -> RenderableType:
    """A pack in full, but for most of its lines."""
    head = Text(f"{pack['name']}@{pack['digest'][:_DIGEST]}", "bold")
    head.append(f"  {pack['form']} of {pack['origin']}, {pack['path']}", "dim")
    parts: list[RenderableType] = [head]
    if pack["reason"]:
        parts.append(Text(f"not used ({pack['reason']}): {pack['hint']}", "yellow"))
    parts.append(Text(pack["description"]))
    for finding in pack["findings"]:
        told = f"{finding['severity']}: {finding['why']} ({finding['where']})\n  {finding['excerpt']}"
        parts.append(Text(told, _STYLES[finding["severity"]]))
    if pack["code"]:
        parts.append(Text("It has a tools.py, which runs inside Thresher once the pack is trusted.", "yellow"))
    parts += [Text(f"\n{pack['rules']}\n")]
    parts += _lines("training lines", pack["examples"]) + _lines("near misses", pack["not_examples"])
    files = [f"  {file['path']}  {file['size']:,} bytes" for file in pack["files"]]
    return Group(*parts, Text("\n".join(["files", *files]), "dim"))


def _lines(title: str, lines: Sequence[str]) -> list[RenderableType]:
    if not lines:
        return []
    more = f"\n  and {len(lines) - _LINES:,} more (--json has all)" if len(lines) > _LINES else ""
    shown = "\n".join(f"  {line}" for line in lines[:_LINES])
    return [Text(f"{len(lines):,} {title}\n{shown}{more}", "dim")]


def made(answer: Row) -> RenderableType:
    """Where the new pack is, and what comes next."""
    path = answer["path"]
    steps = (
        "Fill in SKILL.md, examples.txt, not_examples.txt and evals/eval_queries.json, then:",
        f"  thresher packs lint {path}",
        f"  thresher packs trust {answer['name']}      (in a project)",
    )
    return Group(Text(f"Made {path}."), *(Text(step, "dim") for step in steps))


def lint_report(answer: Row) -> RenderableType:
    """Findings by pack, the sum, and what was not checked."""
    parts: list[RenderableType] = []
    last = ""
    for finding in answer["findings"]:
        if finding["pack"] != last:
            last = finding["pack"]
            parts.append(Text(last, "bold"))
        parts.append(_finding(finding))
    counts = ", ".join(_counted(answer[key], key) for key in ("errors", "warnings", "hints") if answer[key])
    packs = _counted(len(answer["packs"]), "packs")
    parts.append(Text(f"{packs}: {counts or 'nothing to mend'}."))
    parts += [Text(f"not checked: {what}", "dim") for what in answer["not_checked"]]
    return Group(*parts)


def _counted(count: int, things: str) -> str:
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def _finding(finding: Row) -> Text:
    where = f"{finding['where']}: " if finding["where"] else ""
    line = Text(f"  {finding['severity']:<8}", _STYLES[finding["severity"]])
    line.append(f"{where}{finding['message']}", "")
    line.append(f" [{finding['check']}]", "dim")
    if finding["hint"]:
        line.append(f"\n          {finding['hint']}", "dim")
    return line


def exported(answer: Row) -> RenderableType:
    """What was written."""
    parts = [Text(f"wrote {path}") for path in answer["written"]]
    parts += [Text(f"as it was: {path}", "dim") for path in answer["unchanged"]]
    parts += [Text(f"left out: {pack['name']}. {pack['why']}", "yellow") for pack in answer["left"]]
    return Group(*(parts or [Text("There is no pack to export.")]))


def installed(answer: Row) -> RenderableType:
    """What was done to a client's file."""
    return Text(f"{_DONE[answer['did']]} {answer['path']}")


def trusted(answer: Row) -> RenderableType:
    """What is in use from now on."""
    return Text(f"Trusted: {answer['name']}@{answer['digest'][:_DIGEST]}. Any change to it asks again.")


def untrusted(answer: Row) -> RenderableType:
    """What is in use no longer."""
    return Text(f"No longer trusted: {answer['name']}.")


def _short(text: str, limit: int) -> str:
    return shortened(text, limit)
