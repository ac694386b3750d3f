"""Runs the conformance suite against an address, and reads what it says.

Invariant: a scenario counts as passed only where the suite itself says so, and one that it leaves out is not there.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.npm import program

REVISIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "2025-11-25": ("conformance-2025-11-25", ("--suite", "all", "--spec-version", "2025-11-25")),
    "2026-07-28": ("conformance-2026-07-28", ("--requirements", "2026-07-28")),
}
"""A revision to the package that tests it, and its options."""
EXTENSIONS = "tasks-"
"""Scenarios of optional extensions, which the suite runs without counting them."""
SECONDS = 300.0
_LINE = re.compile(r"^(?P<mark>[✓✗]) (?P<name>[\w./-]+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the suite says of one scenario."""

    name: str
    ok: bool
    passed: int
    failed: int
    reasons: tuple[str, ...] = ()


async def scenarios(url: str, revision: str) -> dict[str, Scenario]:
    """Run every scenario of a revision against a server.

    Raises:
        Unavailable: The suite cannot be had here.
        RuntimeError: It ran and said nothing that can be read.
    """
    name, options = REVISIONS[revision]
    command = await asyncio.to_thread(program, name)
    with tempfile.TemporaryDirectory() as results:
        process = await asyncio.create_subprocess_exec(
            *command, "server", "--url", url, *options, "-o", results,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return read(out.decode(errors="replace"), Path(results))


def read(output: str, results: Path) -> dict[str, Scenario]:
    """The scenarios in what the suite printed and wrote down, extensions left out.

    Raises:
        RuntimeError: There is none.
    """
    _, _, summary = output.rpartition("=== SUMMARY ===")
    found = {
        name: Scenario(
            name, match["mark"] == "✓", int(match["passed"]), int(match["failed"]), tuple(_reasons(results, name))
        )
        for match in _LINE.finditer(summary)
        if not (name := match["name"]).startswith(EXTENSIONS)
    }
    if not found:
        raise RuntimeError(f"The conformance suite printed no result: {output[-500:]}")
    return found


def _reasons(results: Path, name: str) -> Iterator[str]:
    """What went wrong in a scenario, check by check."""
    for file in sorted(results.glob(f"server-{name}-20*/checks.json")):
        for check in json.loads(file.read_text(encoding="utf-8")):
            if check["status"] not in ("SUCCESS", "INFO"):
                yield f"{check['id']} ({check['status']}): {str(check.get('errorMessage'))[:400]}"


def lost(direct: Mapping[str, Scenario], through: Mapping[str, Scenario]) -> list[str]:
    """Scenarios that pass in front of the gateway and not behind it."""
    return [name for name, one in direct.items() if one.ok and (name not in through or not through[name].ok)]


def weaker(direct: Mapping[str, Scenario], through: Mapping[str, Scenario]) -> list[str]:
    """Scenarios that pass on both sides, but only in front of the gateway without a warning."""
    return [
        name
        for name, one in direct.items()
        if one.ok and not one.reasons and name in through and through[name].ok and through[name].reasons
    ]


def table(direct: Mapping[str, Scenario], through: Mapping[str, Scenario]) -> str:
    """Scenario, direct, through: a line each."""
    lines = ["| scenario | direct | through |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {name} | {_cell(one)} | {_cell(through.get(name))} |" for name, one in direct.items())]
    )


def _cell(one: Scenario | None) -> str:
    if one is None:
        return "did not run"
    return f"{'passes' if one.ok else 'FAILS'} {one.passed}/{one.passed + one.failed}"
