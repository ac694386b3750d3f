"""Rules about API descriptions: agreement with Spectral on the rules that both have, and seconds.

Spectral runs with all of its rules for OpenAPI, also those that it must be asked for. A finding is a rule and a
pointer; precision is the share of ours that Spectral has, recall the share of Spectral's that we have. Our seconds are
of the processor, in a process of its own, with the rules of our own and the first look at lines.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import machine
from benchmarks.api_reading import FILES, folder
from tests.conformance import npm
from thresher.openapi import RULES, find_problems, read_description, score

SPECTRAL = {"@stoplight/spectral-cli": "6.16.3"}
SECONDS = 900
RUNS = 3
_RULESET = {"extends": [["spectral:oas", "all"]]}

Places = set[tuple[str, str]]


def spectral(path: Path) -> tuple[Places, float]:
    """What Spectral finds, and the seconds it takes.

    Raises:
        Unavailable: It cannot be installed, or fails.
    """
    program = npm.installed(SPECTRAL) / "node_modules" / "@stoplight" / "spectral-cli" / "dist" / "index.js"
    with TemporaryDirectory() as place:
        rules, found = Path(place) / "rules.json", Path(place) / "found.json"
        rules.write_text(json.dumps(_RULESET), encoding="utf-8")
        command = [str(npm.NODE), "--max-old-space-size=6000", str(program), "lint", str(path), "--quiet"]
        command += ["--ruleset", str(rules), "--format", "json", "--output", str(found)]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        seconds = time.perf_counter() - started
        if not found.exists():
            raise npm.Unavailable(f"Spectral failed on {path.name}: {done.stderr.strip()[-300:]}")
        results = json.loads(found.read_text(encoding="utf-8"))
    return {(each["code"], _pointer(each["path"])) for each in results}, seconds


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


def _ours(path: Path) -> dict[str, Any]:
    """Our findings and the seconds they take, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.api_rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measured(path: Path) -> dict[str, Any]:
    """Findings of one description, with the least seconds of several runs; reading it is not counted."""
    content = path.read_bytes()
    seconds: list[float] = []
    for _ in range(RUNS):
        description = read_description(content)
        started = time.process_time()
        findings = find_problems(description)
        whole = score(findings, description).whole
        seconds.append(time.process_time() - started)
    return {
        "operations": len(description.operations),
        "findings": len(findings),
        "score": whole.value,
        "by_kind": dict(sorted(Counter(each.kind for each in findings).items())),
        "seconds": round(min(seconds), 2),
        "shared": sorted((each.rule, each.place.pointer) for each in findings if RULES[each.rule].shared),
    }


def _agreement(ours: Places, theirs: Places) -> dict[str, Any]:
    both = len(ours & theirs)
    return {
        "spectral": len(theirs),
        "both": both,
        "precision": round(both / len(ours), 4) if ours else 1.0,
        "recall": round(both / len(theirs), 4) if theirs else 1.0,
        "rules": len({rule for rule, _ in theirs}),
        "only_ours": dict(Counter(rule for rule, _ in ours - theirs)),
        "only_spectral": dict(Counter(rule for rule, _ in theirs - ours)),
    }


async def run() -> dict[str, Any]:
    """Measure and save the figures."""
    figures: dict[str, Any] = {"spectral": SPECTRAL, "files": {}, "shared_rules": sum(r.shared for r in RULES.values())}
    totals: tuple[Places, Places] = (set(), set())
    for name, path in FILES.items():
        found = await asyncio.to_thread(_ours, folder() / path)
        ours = {(rule, pointer) for rule, pointer in found.pop("shared")}
        figures["files"][name] = found
        try:
            theirs, seconds = await asyncio.to_thread(spectral, folder() / path)
        except npm.Unavailable as error:
            raise SystemExit(f"NOT COMPARED WITH SPECTRAL, nothing is saved: {error}") from None
        found |= _agreement(ours, theirs) | {"spectral_seconds": round(seconds, 1)}
        totals[0].update((name + rule, pointer) for rule, pointer in ours)
        totals[1].update((name + rule, pointer) for rule, pointer in theirs)
        print(name, found, flush=True)
    figures["agreement"] = {key: _agreement(*totals)[key] for key in ("spectral", "both", "precision", "recall")}
    print(machine.save("api_rules", figures), figures["agreement"])
    return figures


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))))
