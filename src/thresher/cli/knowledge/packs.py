"""`thresher packs`: the packs in use, their content, and trust in those of projects.

Invariant: a pack is trusted only after it was shown, or by its digest. Text of packs is never markup.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.client import ask
from thresher.cli.command_table import CommandEntry, new_group
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, confirm, shortened, show
from thresher.cli.views import Row, plain_table

SEVERITIES = {"error": "red", "danger": "red", "warning": "yellow", "hint": "dim"}

_DESCRIPTION = 80

_LINES = 10

_DIGEST = 12


def pack_list(answer: Row) -> RenderableType:
    """Packs in use, packs that are not used, and problems."""
    parts: list[RenderableType] = []
    if answer["reading"]:
        parts.append(Text("Packs are being read: this list is an earlier one. Try again.", "yellow"))
    if answer["active"]:
        table = plain_table("pack", "from", "lines", "what it is for")
        for pack in answer["active"]:
            description = Text(shortened(pack["description"], _DESCRIPTION), "dim")
            table.add_row(Text(pack["name"], "bold"), _origin(pack), str(pack["examples"]), description)
        parts.append(table)
    else:
        parts.append(Text("No packs yet. Create one: thresher packs new NAME", "bold"))
    for pack in answer["inert"]:
        text = f"not used: {pack['name']}@{pack['digest'][:_DIGEST]} ({pack['reason']}), {pack['path']}"
        parts += [Text(text, "yellow"), Text(f"  {pack['hint']}", "dim")]
    for problem in answer["problems"]:
        text = f"{problem['path']}: {problem['message']} {problem['hint']}".rstrip()
        parts.append(Text(text, SEVERITIES[problem.get("severity", "warning")]))
    return Group(*parts)


def _origin(pack: Row) -> str:
    return pack["origin"] if pack["form"] in ("pack", "skill") else f"{pack['origin']}, {pack['form']}"


def pack_text(pack: Row) -> RenderableType:
    """A pack, with the first of its lines."""
    head = Text(f"{pack['name']}@{pack['digest'][:_DIGEST]}", "bold")
    head.append(f"  {pack['form']} of {pack['origin']}, {pack['path']}", "dim")
    parts: list[RenderableType] = [head]
    if pack["reason"]:
        parts.append(Text(f"not used ({pack['reason']}): {pack['hint']}", "yellow"))
    if pack.get("changed"):
        parts.append(Text("changed since it was trusted:"))
        lines = pack["changed"].splitlines()
        parts += [Text(line, {"+": "green", "-": "red"}.get(line[:1], "dim")) for line in lines]
    parts.append(Text(pack["description"]))
    for finding in pack["findings"]:
        text = f"{finding['severity']}: {finding['why']} ({finding['where']})\n  {finding['excerpt']}"
        parts.append(Text(text, SEVERITIES[finding["severity"]]))
    if pack["code"]:
        parts.append(Text("It has a tools.py, which runs in Thresher once the pack is trusted.", "yellow"))
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


def trusted(answer: Row) -> RenderableType:
    """The pack that is now trusted."""
    return Text(f"Trusted: {answer['name']}@{answer['digest'][:_DIGEST]}. Any change to it needs trust again.")


def untrusted(answer: Row) -> RenderableType:
    """The pack that is no longer trusted."""
    return Text(f"No longer trusted: {answer['name']}.")


_LOCAL = {
    "new": CommandEntry("knowledge.local_files:new", "Create a pack with every section to fill in."),
    "lint": CommandEntry(
        "knowledge.local_files:lint_packs", "Report what is missing, contradictory, repeated or unknown in packs."
    ),
    "export": CommandEntry("knowledge.local_files:export", "Write packs as Agent Skills, for clients that read those."),
    "install": CommandEntry(
        "knowledge.local_files:install",
        "Add the instruction to call process_prompt first to a client's instructions file.",
    ),
}
packs = new_group(_LOCAL)

Name = Annotated[str, typer.Argument(help="A pack, as `packs list` names it, or its path.")]

_SHORT_DIGEST = 12


@packs.command("list")
def list_packs(as_json: AsJson = False) -> None:
    """List the packs in use, those that are not used and why, and problems."""
    show(ask("list_packs"), as_json, pack_list)


@packs.command("show")
def show_pack(name: Name, as_json: AsJson = False) -> None:
    """Show a pack: rules, lines, files, findings of the scanner.

    NAME@DIGEST shows the pack that waits to be trusted, if another one of that name is in use.
    """
    name, digest = _with_digest(name)
    show(ask("show_pack", {"name": name, "waiting": bool(digest)}), as_json, pack_text)


@packs.command("trust")
@writes
def trust(
    name: Annotated[str, typer.Argument(help="A pack: NAME, its path, or NAME@DIGEST.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trust a pack of a project, with exactly the content that was shown.

    --yes does not cover a pack that the scanner calls dangerous: name such a pack with its digest.
    """
    name, digest = _with_digest(name)
    pack = ask("show_pack", {"name": name, "waiting": True})
    if len(digest) >= _SHORT_DIGEST and pack["digest"].startswith(digest):
        digest = pack["digest"]
    elif not digest:
        _confirm(pack, yes=yes, as_json=as_json)
    answer = ask("trust_pack", {"name": pack["path"], "digest": digest or pack["digest"]})
    show(answer, as_json, trusted)


@packs.command("untrust")
@writes
def untrust(name: Name, as_json: AsJson = False) -> None:
    """End the trust in a pack of a project."""
    show(ask("untrust_pack", {"name": _named(name)}), as_json, untrusted)


def _confirm(pack: dict[str, Any], *, yes: bool, as_json: bool) -> None:
    dangerous = any(finding["severity"] == "danger" for finding in pack["findings"])
    if yes and not dangerous:
        return
    if as_json or not sys.stdin.isatty():
        name = f"{pack['name']}@{pack['digest'][:_SHORT_DIGEST]}"
        raise typer.BadParameter(
            f"No user can be asked here: read the pack, then give {'' if dangerous else '--yes, or '}{name}."
        )
    show(pack, as_json, pack_text)
    question = "The scanner calls it dangerous. Trust it anyway?" if dangerous else "Trust it as shown?"
    confirm(question)


def _with_digest(text: str) -> tuple[str, str]:
    """Name and digest; an @ in a path is part of the path."""
    name, _, digest = text.rpartition("@")
    if not name or not digest.isalnum() or Path(text).exists():
        return _named(text), ""
    return _named(name), digest


def _named(text: str) -> str:
    """A name as it is; a path made absolute."""
    return str(Path(text).resolve()) if "/" in text or "\\" in text else text
