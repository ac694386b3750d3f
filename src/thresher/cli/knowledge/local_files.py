"""Commands over local files: `packs new`, `lint`, `export` and `install`, and `solutions check`.

They import the readers of packs and workspaces, which takes most of a second: this module is loaded only for them.

Invariant: no command starts a daemon; `packs lint` asks a running one for the names of its tools.
"""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import given_path, path_option
from thresher.cli.client import ask
from thresher.cli.commands import writes
from thresher.cli.knowledge.packs import SEVERITIES
from thresher.cli.knowledge.solutions import (
    broken_file,
)
from thresher.cli.output import AsJson, progress_bar, show
from thresher.cli.views import Row
from thresher.core import NotFound, Settings, ThresherError, did_you_mean, load_settings, nearest
from thresher.daemon import DaemonFailure
from thresher.embedding import Matrix, open_encoder
from thresher.knowledge.intents import (
    OWN_TOOLS,
    KnownTools,
    LintSubject,
    Pack,
    Packs,
    assemble,
    discover,
    export_skills,
    install_lines,
    lint,
    new_pack,
    rehearsed_files,
    remove_lines,
    sources_of,
    subject_at,
    subject_of,
)
from thresher.knowledge.solutions import check_round_trip
from thresher.packs import BUILT_IN

_DONE = {
    "created": "Created",
    "added": "Added to",
    "updated": "Updated in",
    "removed": "Removed from",
    "deleted": "Deleted, as it held nothing else:",
    "unchanged": "Nothing to do in",
}


def made(answer: Row) -> RenderableType:
    """Where the new pack is, and the next steps."""
    path = answer["path"]
    steps = (
        "Fill in SKILL.md, examples.txt, not_examples.txt and evals/eval_queries.json, then:",
        f"  thresher packs lint {path}",
        f"  thresher packs trust {answer['name']}      (in a project)",
    )
    return Group(Text(f"Created {path}."), *(Text(step, "dim") for step in steps))


def lint_report(answer: Row) -> RenderableType:
    """Findings by pack, their number, and what was not checked."""
    parts: list[RenderableType] = []
    last = ""
    for finding in answer["findings"]:
        if finding["pack"] != last:
            last = finding["pack"]
            parts.append(Text(last, "bold"))
        parts.append(_finding(finding))
    counts = ", ".join(_counted(answer[key], key) for key in ("errors", "warnings", "hints") if answer[key])
    packs = _counted(len(answer["packs"]), "packs")
    parts.append(Text(f"{packs}: {counts or 'no problems'}."))
    parts += [Text(f"not checked: {what}", "dim") for what in answer["not_checked"]]
    return Group(*parts)


def _counted(count: int, things: str) -> str:
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def _finding(finding: Row) -> Text:
    where = f"{finding['where']}: " if finding["where"] else ""
    line = Text(f"  {finding['severity']:<8}", SEVERITIES[finding["severity"]])
    line.append(f"{where}{finding['message']}", "")
    line.append(f" [{finding['check']}]", "dim")
    if finding["hint"]:
        line.append(f"\n          {finding['hint']}", "dim")
    return line


def exported(answer: Row) -> RenderableType:
    """The folders that were written."""
    parts = [Text(f"wrote {path}") for path in answer["written"]]
    parts += [Text(f"unchanged: {path}", "dim") for path in answer["unchanged"]]
    parts += [Text(f"left out: {pack['name']}. {pack['why']}", "yellow") for pack in answer["left"]]
    return Group(*(parts or [Text("There is no pack to export.")]))


def installed(answer: Row) -> RenderableType:
    """The change of a client's instructions file."""
    return Text(f"{_DONE[answer['did']]} {answer['path']}")


def round_trip(answer: Row) -> RenderableType:
    """How many files would be written back unchanged, and which would not."""
    differ, broken = answer["differ"], answer["broken"]
    good = answer["files"] - differ - len(broken)
    head = Text(
        f"{good:,} of {answer['files']:,} files come back byte for byte", "yellow" if differ or broken else "green"
    )
    names = [Text(f"differs: {name}", "red") for name in answer["differing"]]
    return Group(head, *names, *(broken_file(one) for one in broken))


_BATCH = 64


def report(paths: Sequence[Path], *, by_words: bool, as_json: bool) -> dict[str, Any]:
    """Lint packs.

    Args:
        paths: Packs and folders of packs; by default all that are found from the working folder.
        by_words: Compare lines without an encoder.
        as_json: Whether to print JSON for programs.

    Returns:
        Findings, their number by severity, the names of the packs, and what could not be checked and why.

    Raises:
        InvalidInput: A path has no pack.
    """
    settings = load_settings()
    here = found_from(settings, Path.cwd())
    subject = subject_at(paths, here.active) if paths else subject_of(here.active, here.problems)
    not_checked: list[str] = []
    vectors = None if by_words else _vectors(settings, subject, not_checked, as_json=as_json)
    findings = lint(subject, known=_known_tools(not_checked), vectors=vectors)
    counts = Counter(finding.severity for finding in findings)
    return {
        "packs": [pack.name for pack in subject.packs],
        "findings": [asdict(finding) for finding in findings],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "hints": counts["hint"],
        "not_checked": not_checked,
    }


def found_from(settings: Settings, folder: Path) -> Packs:
    """The packs that a client in this folder would see if all were trusted."""
    found = discover(sources_of(settings, BUILT_IN).locations(str(folder)))
    return assemble(found, {str(pack.path): pack.digest for pack in found.packs})


def chosen_packs(names: Sequence[str]) -> tuple[list[Pack], list[dict[str, str]]]:
    """The packs to export, and those that are left out with the reason.

    Args:
        names: Names or folders; by default all packs outside projects. A pack of the current project can be named
            unless a pack outside it has the name.

    Raises:
        NotFound: No pack has this name.
        InvalidInput: A folder has no pack.
    """
    settings = load_settings()
    found = discover(sources_of(settings, BUILT_IN).locations())
    packs = assemble(found, {})
    left = [{"name": held.pack.name, "why": held.hint} for held in packs.inert if held.reason != "shadowed"]
    if not names:
        return list(packs.active), left
    by_name = {pack.name: pack for pack in (*found_from(settings, Path.cwd()).active, *packs.active)}
    chosen: dict[str, Pack] = {}
    for name in names:
        chosen |= {pack.name: pack for pack in _named(name, by_name)}
    return list(chosen.values()), []


def _named(name: str, packs: Mapping[str, Pack]) -> Sequence[Pack]:
    if name in packs:
        return [packs[name]]
    if "/" in name or "\\" in name or Path(name).is_dir():
        return subject_at([Path(name)]).packs
    raise NotFound(
        f"There is no pack '{name}'.", hint=did_you_mean(nearest(name, packs)) or "See: thresher packs list."
    )


def _known_tools(not_checked: list[str]) -> KnownTools | None:
    try:
        tools = ask("list_tools", {"server": None}, start=False)
        servers = ask("list_servers", start=False)
    except DaemonFailure as error:
        why = "no daemon is running" if error.code == "not_running" else str(error).rstrip(".")
        not_checked.append(f"names of tools: {why}")
        return None
    names = frozenset(tool["name"] for tool in tools) | frozenset(OWN_TOOLS)
    return KnownTools(names, frozenset(server["name"] for server in servers))


def _vectors(settings: Settings, subject: LintSubject, not_checked: list[str], *, as_json: bool) -> Matrix | None:
    lines = [line.text for line in subject.training]
    if not lines:
        return None
    try:
        with progress_bar("Comparing lines", as_json) as follow:
            return asyncio.run(_embedded(settings, lines, follow))
    except ThresherError as error:
        not_checked.append(f"lines with nearly the same meaning: {error.message}")
        return None


async def _embedded(settings: Settings, lines: Sequence[str], follow: Any) -> Matrix:
    encoder = open_encoder(settings)
    parts: list[Matrix] = []
    try:
        for start in range(0, len(lines), _BATCH):
            parts.append(await encoder.embed_queries(lines[start : start + _BATCH]))
            follow({"done": min(start + _BATCH, len(lines)), "total": len(lines)})
    finally:
        await encoder.close()
    return np.concatenate(parts)


def _files_rehearsed(plans: list[dict[str, Any]]) -> AbstractContextManager[None]:
    def add(change: dict[str, Any], diff: str) -> None:
        plans.append({"changes": [change], "checked": [], "left_out": [], "result": {"diff": diff}})

    return rehearsed_files(add)


writes_files = functools.partial(writes, files=_files_rehearsed)
"""`writes`, for a command that writes files itself."""

FINDINGS = 1
"""Exit code of `packs lint` if something must be fixed."""


@writes_files
def new(
    name: Annotated[str, typer.Argument(help="1 to 64 of a-z, 0-9 and single hyphens.")],
    folder: Annotated[Path, path_option("The folder for the pack.", "--dir", metavar="PATH")] = Path(".agents/skills"),
    description: Annotated[str, typer.Option(help="What it is for, and when to use it.")] = "",
    code: Annotated[bool, typer.Option("--code", help="Add a tools.py for the pack's own tools.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a pack with every section to fill in."""
    path = new_pack(name, folder, description=description, code=code)
    show({"name": name, "path": str(path.absolute())}, as_json, made)


def lint_packs(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=given_path,
            metavar="PATH",
            help="Packs or folders of packs; by default all that are found from here.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings and hints too.")] = False,
    words: Annotated[bool, typer.Option("--words", help="Compare lines by words only, which is quick.")] = False,
    as_json: AsJson = False,
) -> None:
    """Report what is missing, contradictory, repeated or unknown in packs.

    Names of tools are checked against the daemon, if one is running.
    """
    answer = report(paths or [], by_words=words, as_json=as_json)
    show(answer, as_json, lint_report)
    if answer["errors"] or (strict and answer["findings"]):
        raise typer.Exit(FINDINGS)


@writes_files
def export(
    skills: Annotated[Path, path_option("The folder of skills to write to.", "--skills", metavar="PATH")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Packs by name or folder; by default all outside projects.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite folders that this command did not write.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write packs as Agent Skills, for clients that read those."""
    packs, left = chosen_packs(names or [])
    done = export_skills(packs, skills, force=force)
    answer = {
        "written": [str(path) for path in done.written],
        "unchanged": [str(path) for path in done.unchanged],
        "left": [*left, *({"name": name, "why": "It has no rules."} for name in done.left)],
    }
    show(answer, as_json, exported)


@writes_files
def install(
    client: Annotated[Literal["copilot", "cursor", "claude", "agents"], typer.Option(help="The client.")],
    project: Annotated[
        Path | None, path_option("The folder of the project; the current one by default.", metavar="PATH")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the instruction again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add the instruction to call process_prompt first to a client's instructions file."""
    done = (remove_lines if remove else install_lines)(client, project or Path.cwd())
    show({"client": client, "path": str(done.path), "did": done.did}, as_json, installed)


DIFFERENT = 1
"""Exit code if a file would not be written back unchanged, or cannot be read."""


def check(
    folder: Annotated[Path, path_option("The folder whose solution files are checked.", "--round-trip", metavar="DIR")],
    as_json: AsJson = False,
) -> None:
    """Check which files would be written back byte for byte; nothing is written."""
    found = check_round_trip(folder)
    broken = [
        {"path": one.path, "message": one.message, "line": one.line, "column": one.column} for one in found.broken
    ]
    figures: dict[str, Any] = {"files": found.files, "differ": len(found.differ), "differing": list(found.differ)}
    show({**figures, "broken": broken}, as_json, round_trip)
    if found.differ or found.broken:
        raise typer.Exit(DIFFERENT)
