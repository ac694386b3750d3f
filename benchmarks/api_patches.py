"""Patches of API descriptions: whether each keeps its promises, what it mends, and what search makes of it.

Every patch that the rules suggest for a description is made, applied by git and, as an overlay, by two readers that are
not ours; the results must be the document that was meant. Then the same questions are asked over the descriptions
before and after.
"""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonpath_rfc9535

from benchmarks import api_reading, machine, product
from tests.conformance import npm
from thresher.core import Caller
from thresher.openapi import Description, Patch, find_problems, make_patch, read_description, suggest_edits
from thresher.openapi.patching import applied, contract
from thresher.services import Services

OVERLAYS = {"overlays": "npm:openapi-overlays-js@0.2.0"}
"""A reader of overlays that others wrote, and the oldest there is."""
ASKED = ("kubernetes", "jira", "datadog-v1", "datadog-v2")
QUESTIONS = Path(__file__).parent / "questions" / "apis"


def _edited(root: Any, overlay: Mapping[str, Any]) -> Any:
    """The document with an overlay applied by paths of RFC 9535 and Overlay 1.0's merge."""
    document = copy.deepcopy(root)
    for action in overlay["actions"]:
        for node in jsonpath_rfc9535.find(action["target"], document):
            if not action.get("remove"):
                _merge(node.value, action["update"])
                continue
            holder = document
            for key in node.location[:-1]:
                holder = holder[key]
            del holder[node.location[-1]]
    return document


def _merge(target: Any, update: Any) -> None:
    for key, value in update.items():
        old = target.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            old += value
        else:
            target[key] = copy.deepcopy(value)


def _by_git(content: bytes, patch: Patch, name: str) -> bytes:
    """What git makes of the file and the diff."""
    with tempfile.TemporaryDirectory(prefix="thresher-patches-") as place:
        file = Path(place) / name
        file.write_bytes(content)
        subprocess.run(["git", "apply"], cwd=place, input=patch.diff.encode(), check=True)
        return file.read_bytes()


def _by_others(root: Any, patch: Patch) -> Any:
    """What the other reader makes of the overlay.

    Raises:
        Unavailable: It cannot be had here, or fails.
    """
    program = npm.installed(OVERLAYS) / "node_modules" / "overlays" / "index.js"
    with tempfile.TemporaryDirectory(prefix="thresher-patches-") as place:
        document, overlay = Path(place) / "document.json", Path(place) / "overlay.json"
        document.write_text(json.dumps(root), encoding="utf-8")
        overlay.write_text(json.dumps(patch.overlay), encoding="utf-8")
        command = [str(npm.NODE), str(program), "--openapi", str(document), "--overlay", str(overlay)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise npm.Unavailable(f"The reader of overlays failed: {done.stderr.strip()[-300:]}")
    return read_description(done.stdout.encode()).root


def _floats(document: Any) -> Any:
    """A document as JavaScript has it: every number a float."""
    return json.loads(json.dumps(document), parse_int=float)


def _kept(before: Description, patch: Patch, after: Description) -> dict[str, bool]:
    """The promises, each with whether it was kept."""
    found = {_key(each) for each in find_problems(before)}
    fresh = [each for each in find_problems(after) if _key(each) not in found]
    wanted = applied(before.root, patch.edits)
    return {
        "reads": len(after.problems) <= len(before.problems) and len(after.operations) == len(before.operations),
        "says_what_was_meant": after.root == wanted,
        "contract_unchanged": contract(after.root) == contract(before.root),
        "findings_gone": {*map(_key, patch.mended)}.isdisjoint(map(_key, find_problems(after))) and bool(patch.mended),
        "none_new_where_it_edits": not any(_near(each, before, patch) for each in fresh),
        "score_up": patch.after.value > patch.before.value,
        "overlay_says_the_same": _edited(before.root, patch.overlay) == wanted,
    }


def _near(finding: Any, before: Description, patch: Patch) -> bool:
    """Whether a finding is at what a patch sets, or about an operation whose words it sets."""
    places = {each.pointer for each in before.operations if each.key == finding.operation}
    return any(
        edit.pointer.rpartition("/")[0] in places or f"{edit.pointer}/".startswith(f"{finding.place.pointer}/")
        for edit in patch.edits
    )


def _key(finding: Any) -> tuple[str, str]:
    return finding.rule, finding.place.pointer


def figures_of(content: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """What one description's patch does, and the description after it."""
    before = read_description(content, name=name)
    findings = find_problems(before)
    began = time.process_time()
    edits = suggest_edits(before, findings)
    suggested = time.process_time() - began
    patch = make_patch(before, edits)
    seconds = time.process_time() - began
    made = _by_git(content, patch, name)
    try:
        others: bool | str = _floats(_by_others(before.root, patch)) == _floats(applied(before.root, patch.edits))
    except (npm.Unavailable, subprocess.TimeoutExpired) as error:
        others = f"not run: {error}"
    figures = {
        "findings": len(findings),
        "edits": len(patch.edits),
        "dropped": len(patch.dropped),
        "mended": len(patch.mended),
        "new_elsewhere": len({*map(_key, find_problems(read_description(made)))} - {*map(_key, findings)}),
        "mended_by_rule": dict(Counter(each.rule for each in patch.mended).most_common()),
        "score_before": patch.before.value,
        "score_after": patch.after.value,
        "suggest_seconds": round(suggested, 2),
        "seconds": round(seconds, 2),
        "diff_megabytes": round(len(patch.diff) / 1e6, 2),
        "kept": {**_kept(before, patch, read_description(made)), "other_reader_says_the_same": others},
    }
    return figures, made


async def _asked(services: Services, sources: Mapping[str, Path], suffix: str) -> dict[str, float]:
    """Shares of questions whose first hit, and one of the first five hits, is right, over all descriptions together."""
    caller = Caller(await services.database.tenant(f"bench-{time.monotonic_ns()}"))
    names = {"kubernetes": "kubernetes", "jira": "jira", "datadog-v1": "datadog", "datadog-v2": "datadog"}
    for provider in dict.fromkeys(names.values()):
        files = [str(path) for name, path in sources.items() if names[name] == provider]
        await services.apis.add(caller, provider, files)
        await services.apis.index_here(caller, provider)
    first, five, count = 0, 0, 0
    for name in ASKED:
        for line in (QUESTIONS / f"{name}{suffix}.jsonl").read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            found = await services.apis.search(caller, question["query"], limit=5)
            right = [
                each.provider == names[name] and f"{each.method} {each.path}" in question["relevant"]
                for each in found.endpoints
            ]
            first, five, count = first + any(right[:1]), five + any(right), count + 1
    return {"questions": count, "hit_at_1": round(first / count, 3), "hit_at_5": round(five / count, 3)}


async def run(suffix: str = "") -> dict[str, Any]:
    """Measure and save."""
    sources = {name: api_reading.folder() / path for name, path in api_reading.FILES.items()}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thresher-apis-") as place:
        patched: dict[str, Path] = {}
        for name, path in sources.items():
            figures[name], made = await asyncio.to_thread(figures_of, path.read_bytes(), path.name)
            patched[name] = Path(place) / f"{name}{path.suffix}"
            patched[name].write_bytes(made)
            print(name, json.dumps(figures[name]), flush=True)
        async with product.running(workers=0) as services:
            before = await _asked(services, {name: sources[name] for name in ASKED}, suffix)
            after = await _asked(services, {name: patched[name] for name in ASKED}, suffix)
    figures["search"] = {"before": before, "after": after}
    print(json.dumps(figures["search"]), flush=True)
    machine.save("api_patches", figures)
    return figures
