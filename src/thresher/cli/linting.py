"""What `packs lint` and `packs export` work on: packs found from here, vectors of their lines, the tools that exist.

Invariant: a daemon that runs is asked for its tools, and none is started.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from thresher.cli.client import ask
from thresher.cli.output import progress_bar
from thresher.core import NotFound, Settings, ThresherError, did_you_mean, load_settings, nearest
from thresher.daemon import DaemonFailure
from thresher.embedding import Matrix, open_encoder
from thresher.knowledge.intents import (
    KnownTools,
    LintSubject,
    Pack,
    Packs,
    assemble,
    discover,
    lint,
    sources_of,
    subject_at,
    subject_of,
)
from thresher.packs import BUILT_IN

OWN_TOOLS = ("call_tool", "call_tool_write", "describe_tools", "find_tools", "get_context", "process_prompt")
"""The gateway's own, which stand in no catalogue."""
_BATCH = 64


def report(paths: Sequence[Path], *, by_words: bool, as_json: bool) -> dict[str, Any]:
    """Lint packs.

    Args:
        paths: Packs and folders of packs; all that are found from the working folder where there is none.
        by_words: Compare lines without an encoder.
        as_json: Whether a program reads the output.

    Returns:
        Findings, their number by severity, the names of the packs, and what could not be checked and why.

    Raises:
        InvalidInput: There is no pack at a path.
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
    """The packs that a client in a folder would see if all were trusted."""
    found = discover(sources_of(settings, BUILT_IN).locations(str(folder)))
    return assemble(found, {str(pack.path): pack.digest for pack in found.packs})


def chosen_packs(names: Sequence[str]) -> tuple[list[Pack], list[dict[str, str]]]:
    """The packs to export, and those that are left out with the reason.

    Args:
        names: Names or folders; none for all outside projects. A name stands for a pack of the project that is the
            working folder where no pack outside it has the name.

    Raises:
        NotFound: No pack has such a name.
        InvalidInput: There is no pack in such a folder.
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
        why = "no daemon runs" if error.code == "not_running" else str(error).rstrip(".")
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
        not_checked.append(f"lines that mean nearly the same: {error.message}")
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
