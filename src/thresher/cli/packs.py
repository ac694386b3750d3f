"""`thresher packs`: the rule books, from an empty folder to a client that uses them.

Invariant: new, lint, export and install work without a daemon and never start one; what is trusted was on the screen,
or was named by its digest.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from thresher.cli.client import ask
from thresher.cli.dry_run import writes, writes_files
from thresher.cli.files import given_path
from thresher.cli.output import AsJson, confirm, show
from thresher.cli.pack_views import (
    exported,
    installed,
    lint_report,
    made,
    pack_list,
    pack_text,
    trusted,
    untrusted,
)

commands = typer.Typer(
    help="Write, check, trust and hand out packs of rules.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(help="A pack, as `packs list` names it, or its path.")]
FINDINGS = 1
"""Exit code of `packs lint` when something must be mended."""
_SHORT_DIGEST = 12


@commands.command("list")
def list_packs(as_json: AsJson = False) -> None:
    """List the packs in use, those that are not and why, and what is broken."""
    show(ask("list_packs"), as_json, pack_list)


@commands.command("show")
def show_pack(name: Name, as_json: AsJson = False) -> None:
    """Show a pack: rules, lines, files, what the scanner says.

    NAME@DIGEST is the one that waits to be trusted, where another of that name is in use.
    """
    name, digest = _with_digest(name)
    show(ask("show_pack", {"name": name, "waiting": bool(digest)}), as_json, pack_text)


@commands.command("new")
@writes_files
def new(
    name: Annotated[str, typer.Argument(help="1 to 64 of a-z, 0-9 and single hyphens.")],
    folder: Annotated[
        Path, typer.Option("--dir", parser=given_path, metavar="PATH", help="The folder to put it into.")
    ] = Path(".agents/skills"),
    description: Annotated[str, typer.Option(help="What it is for, and when to use it.")] = "",
    code: Annotated[bool, typer.Option("--code", help="With a tools.py for tools of its own.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pack with every section to fill in."""
    from thresher.knowledge.intents import new_pack  # noqa: PLC0415 - `--help` does without what it imports

    path = new_pack(name, folder, description=description, code=code)
    show({"name": name, "path": str(path.absolute())}, as_json, made)


@commands.command("lint")
def lint(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=given_path,
            metavar="PATH",
            help="Packs, or folders of them; without any, all that are found from here.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings and hints too.")] = False,
    words: Annotated[bool, typer.Option("--words", help="Compare lines by their words alone: at once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is missing, contradictory, repeated or unknown in packs.

    Names of tools are checked against the daemon, if one runs.
    """
    from thresher.cli.linting import report  # noqa: PLC0415 - `--help` does without what it imports

    answer = report(paths or [], by_words=words, as_json=as_json)
    show(answer, as_json, lint_report)
    if answer["errors"] or (strict and answer["findings"]):
        raise typer.Exit(FINDINGS)


@commands.command("export")
@writes_files
def export(
    skills: Annotated[
        Path, typer.Option("--skills", parser=given_path, metavar="PATH", help="The folder of skills to write into.")
    ],
    names: Annotated[
        list[str] | None, typer.Argument(help="Packs by name or folder; without any, all outside projects.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite folders that were not exported.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write packs as Agent Skills for clients that read those."""
    from thresher.cli.linting import chosen_packs  # noqa: PLC0415 - `--help` does without what it imports
    from thresher.knowledge.intents import export_skills  # noqa: PLC0415 - as above

    packs, left = chosen_packs(names or [])
    done = export_skills(packs, skills, force=force)
    answer = {
        "written": [str(path) for path in done.written],
        "unchanged": [str(path) for path in done.unchanged],
        "left": [*left, *({"name": name, "why": "It has no rules."} for name in done.left)],
    }
    show(answer, as_json, exported)


@commands.command("install")
@writes_files
def install(
    client: Annotated[Literal["copilot", "cursor", "claude", "agents"], typer.Option(help="Whose file.")],
    project: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="PATH", help="The project's folder; this one unless given."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the lines out again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell a client, in its instructions file, to call process_prompt first."""
    from thresher.knowledge.intents import install_lines, remove_lines  # noqa: PLC0415 - `--help` does without it

    done = (remove_lines if remove else install_lines)(client, project or Path.cwd())
    show({"client": client, "path": str(done.path), "did": done.did}, as_json, installed)


@commands.command("trust")
@writes
def trust(
    name: Annotated[str, typer.Argument(help="A pack: NAME or its path, or NAME@DIGEST as it was shown.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a pack of a project be used, with exactly the content that was shown.

    --yes does not cover a pack that the scanner calls dangerous: name such a one with its digest.
    """
    name, digest = _with_digest(name)
    pack = ask("show_pack", {"name": name, "waiting": True})
    if len(digest) >= _SHORT_DIGEST and pack["digest"].startswith(digest):
        digest = pack["digest"]
    elif not digest:
        _confirm(pack, yes=yes, as_json=as_json)
    answer = ask("trust_pack", {"name": pack["path"], "digest": digest or pack["digest"]})
    show(answer, as_json, trusted)


@commands.command("untrust")
@writes
def untrust(name: Name, as_json: AsJson = False) -> None:
    """Take a pack of a project out of use again."""
    show(ask("untrust_pack", {"name": _named(name)}), as_json, untrusted)


def _confirm(pack: dict[str, Any], *, yes: bool, as_json: bool) -> None:
    dangerous = any(finding["severity"] == "danger" for finding in pack["findings"])
    if yes and not dangerous:
        return
    if as_json or not sys.stdin.isatty():
        name = f"{pack['name']}@{pack['digest'][:_SHORT_DIGEST]}"
        raise typer.BadParameter(
            f"Nobody can be asked here: give {'' if dangerous else '--yes, or '}{name}, once you have read it."
        )
    show(pack, as_json, pack_text)
    question = "The scanner calls it dangerous. Trust it all the same?" if dangerous else "Trust it as shown?"
    confirm(question)


def _with_digest(text: str) -> tuple[str, str]:
    """Name and digest; an @ in a path is part of the path."""
    name, _, digest = text.rpartition("@")
    if not name or not digest.isalnum() or Path(text).exists():
        return _named(text), ""
    return _named(name), digest


def _named(text: str) -> str:
    """A name as it is; a path as the daemon knows it."""
    return str(Path(text).resolve()) if "/" in text or "\\" in text else text
