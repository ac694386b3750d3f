"""Reading API descriptions: seconds, memory, lines, and what hostile ones cost.

Each description is read in a process of its own, so that its peak of memory is its own. Two of some ten megabytes are
made of the largest two by repeating their paths. All seconds are of the processor, the least of several runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks import data, machine
from thresher.core import InvalidInput
from thresher.openapi import Description, read_description, tips_of

FILES: Mapping[str, str] = {
    "kubernetes": "kubernetes/swagger.json",
    "jira": "atlassian/jira-v3.json",
    "datadog-v1": "datadog/v1.yaml",
    "datadog-v2": "datadog/v2.yaml",
    "tmdb": "restbench/tmdb_oas.json",
}
"""Name to path below the folder of API descriptions."""
RUNS = 5
COPIES = 3
_PATHS = re.compile(r"^paths:\n((?:[ #].*\n|\n)*)", re.MULTILINE)


def folder() -> Path:
    """The folder of API descriptions.

    Raises:
        SystemExit: It is not there; the message says what to set.
    """
    path = Path(os.environ.get("THRESHER_BENCH_DATA") or data.DEFAULT_DATA) / "apis"
    if not path.is_dir():
        raise SystemExit(f"No descriptions at {path}. Set THRESHER_BENCH_DATA to the folder that holds apis/.")
    return path


def large_json(content: bytes) -> bytes:
    """A JSON description with its paths repeated under other names."""
    document: dict[str, Any] = json.loads(content)
    paths = dict(document["paths"])
    for copy in range(COPIES):
        paths |= {f"/copy{copy}{path}": value for path, value in document["paths"].items()}
    return json.dumps({**document, "paths": paths}, indent=2).encode()


def large_yaml(content: bytes) -> bytes:
    """A YAML description with its paths repeated under other names."""

    def repeated(found: re.Match[str]) -> str:
        copies = [re.sub(r'^  ("?)/', rf"  \1/copy{copy}/", found[1], flags=re.MULTILINE) for copy in range(COPIES)]
        return found[0] + "".join(copies)

    return _PATHS.sub(repeated, content.decode()).encode()


def hostile() -> dict[str, bytes]:
    """Small descriptions that are meant to cost much."""
    head = "openapi: 3.0.3\npaths: {}\n"
    laughs = "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    merges = "a: &a {" + ",".join(f"k{i}: 1" for i in range(2_000)) + "}\n"
    knots = {f"k{i}": {"x": {"$ref": f"#/k{i - 1}/x/x/x"}} for i in range(1, 2_000)}
    chain = {f"n{i}": {"$ref": f"#/n{i + 1}/x"} for i in range(20_000)}
    texts = {
        "aliases of aliases": head + "a: &a [x, x, x, x, x, x, x, x, x]\n" + laughs,
        "merges of a large mapping": head + merges + "".join(f"m{i}: {{<<: *a}}\n" for i in range(20_000)),
        "a million brackets, YAML": head + "x: " + "[" * 1_000_000,
        "a million brackets, JSON": '{"openapi": "3.0.3", "x": ' + "[" * 1_000_000 + "]" * 1_000_000 + "}",
        "references through references": json.dumps({"openapi": "3.0.3", "paths": {}, "k0": {}, **knots}),
        "a chain of references": json.dumps({"openapi": "3.0.3", "paths": {}, **chain}),
        "30 MB of empty mappings": '{"openapi": "3.0.3", "x": [' + "{}," * 10_000_000 + "{}]}",
    }
    return {name: text.encode() for name, text in texts.items()}


def _least(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of the processor, the least of several runs."""
    found: list[float] = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return round(min(found), 3)


def _peak() -> int:
    """Megabytes that this process held at most; what its parent held does not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def figures_of(content: bytes, runs: int) -> dict[str, Any]:
    """What one description costs in this process."""
    before = _peak()
    description = read_description(content)
    after = _peak()
    pointers = [f"{each.pointer}/summary" for each in description.operations]
    begun = time.process_time()
    description.place(pointers[-1])
    first = time.process_time()
    for pointer in pointers:
        description.place(pointer)
    ended = time.process_time()
    return {
        "megabytes": round(len(content) / 1e6, 1),
        "dialect": description.dialect,
        "operations": len(description.operations),
        "problems": len(description.problems),
        "seconds": _least(lambda: read_description(content), runs),
        "first_line_seconds": round(first - begun, 3),
        "lines_of_all_operations_seconds": round(ended - first, 3),
        "tips_seconds": _least(lambda: _tips(description), runs),
        "memory_mb": after - before,
        "peak_memory_mb": after,
    }


def _tips(description: Description) -> int:
    return sum(len(tips_of(each, description)) for each in description.operations)


def _others(content: bytes, form: str) -> float:
    """Seconds of the usual reader of this form, which gives values alone."""
    if form == "json":
        return _least(lambda: json.loads(content), 3)
    return _least(lambda: yaml.load(content, Loader=yaml.CSafeLoader), 2)


def _refusal(content: bytes) -> dict[str, Any]:
    """What a hostile description costs, and what is said of it."""
    begun = time.process_time()
    try:
        description = read_description(content)
        said = f"read, {len(description.problems):,} problems"
    except InvalidInput as refusal:
        said = refusal.message
    return {"seconds": round(time.process_time() - begun, 3), "said": said}


def _apart(path: Path, runs: int) -> dict[str, Any]:
    """The figures of a description, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.api_reading", str(path), str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _all() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    sources = {name: folder() / path for name, path in FILES.items()}
    for name, path in sources.items():
        usual = _others(path.read_bytes(), path.suffix[1:])
        figures[name] = {**_apart(path, RUNS), "usual_reader_seconds": usual}
    with TemporaryDirectory() as place:
        for name, make in (("kubernetes", large_json), ("datadog-v2", large_yaml)):
            path = Path(place) / f"large{sources[name].suffix}"
            path.write_bytes(make(sources[name].read_bytes()))
            figures[f"{name}, large"] = _apart(path, 2)
    figures["operations"] = sum(figures[name]["operations"] for name in FILES if name != "tmdb")
    figures["hostile"] = {name: _refusal(content) for name, content in hostile().items()}
    return figures


async def run() -> None:
    """Read all descriptions; save."""
    figures = await asyncio.to_thread(_all)
    print(machine.save("api_reading", figures))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    print(json.dumps(figures_of(Path(sys.argv[1]).read_bytes(), int(sys.argv[2]))))
