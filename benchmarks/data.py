"""Readers of the public benchmark sets; the data itself is not part of the project.

`THRESHER_BENCH_DATA` names the folder (`tools/livemcpbench`, `tools/metatool`, `tools/bfcl`, `tools/mcpproxy`).
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thresher.core import Tool

DEFAULT_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
METATOOL_SAMPLE = 2_000
METATOOL_SEED = 0
NUMBERING = re.compile(r"^\s*\d+[.)]\s*")


@dataclass(frozen=True, slots=True)
class Case:
    """One message with what should be found.

    Attributes:
        message: What a person wrote.
        queries: The same task as the annotated steps; empty where a set has none.
        relevant: One set of acceptable tool keys for each needed tool; empty when no tool fits.
        grades: Graded relevance by tool key, where a set has it.
        origin: The file the case came from.
        server: The server to search inside; empty for all.
    """

    message: str
    relevant: tuple[frozenset[str], ...]
    queries: tuple[str, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict[str, int])
    origin: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class BenchSet:
    """A pool of tools and the cases asked against it."""

    name: str
    tools: tuple[Tool, ...]
    cases: tuple[Case, ...]
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])


def folder() -> Path:
    """The data folder.

    Raises:
        SystemExit: It is not there; the message says what to set.
    """
    path = Path(os.environ.get("THRESHER_BENCH_DATA") or DEFAULT_DATA) / "tools"
    if not path.is_dir():
        raise SystemExit(f"No benchmark data at {path}. Set THRESHER_BENCH_DATA to the folder that holds tools/.")
    return path


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := NUMBERING.sub("", raw).strip())]


def livemcpbench() -> BenchSet:
    """LiveMCPBench (Apache-2.0): real servers, whole tasks; a gold name is met by any server's tool of that name."""
    tools: list[Tool] = []
    descriptions: dict[str, str] = {}
    for entry in _json(folder() / "livemcpbench" / "tools.json"):
        for key, listing in entry["tools"].items():
            server = listing.get("server_name") or key
            descriptions[server] = entry.get("description") or ""
            tools += [
                Tool(server, tool["name"], "", tool.get("description") or "", tool.get("inputSchema") or {})
                for tool in listing["tools"]
            ]
    named: dict[str, set[str]] = {}
    for tool in tools:
        named.setdefault(tool.name, set()).add(tool.key)
    cases: list[Case] = []
    for task in _json(folder() / "livemcpbench" / "annotations.json"):
        notes = task["Annotator Metadata"]
        gold = [name for name in dict.fromkeys(_lines(notes.get("Tools", ""))) if name in named]
        if gold:
            steps = tuple(_lines(notes.get("Steps", "")))
            cases.append(Case(task["Question"], tuple(frozenset(named[name]) for name in gold), steps))
    return BenchSet("livemcpbench", tuple(tools), tuple(cases), descriptions)


def _plugins() -> tuple[Tool, ...]:
    described: dict[str, str] = _json(folder() / "metatool" / "plugin_des.json")
    return tuple(Tool("plugins", name, "", text) for name, text in described.items())


def metatool_multi() -> BenchSet:
    """MetaTool (MIT), the 497 queries that need two tools."""
    rows = _json(folder() / "metatool" / "multi_tool_query_golden.json")
    cases = (Case(row["query"], tuple(frozenset({f"plugins/{name}"}) for name in row["tool"])) for row in rows)
    return BenchSet("metatool_multi", _plugins(), tuple(cases))


def metatool_single() -> BenchSet:
    """MetaTool (MIT), 2,000 single-tool queries drawn with a fixed seed."""
    tools = _plugins()
    known = {tool.name for tool in tools}
    with (folder() / "metatool" / "all_clean_data.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Tool"] in known]
    drawn = random.Random(METATOOL_SEED).sample(rows, METATOOL_SAMPLE)
    cases = tuple(Case(row["Query"], (frozenset({f"plugins/{row['Tool']}"}),)) for row in drawn)
    return BenchSet("metatool_single", tools, cases)


def _bfcl_rows(name: str) -> Iterator[dict[str, Any]]:
    with (folder() / "bfcl" / f"{name}.json").open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _asked(row: Mapping[str, Any]) -> str:
    return "\n".join(turn["content"] for turn in row["question"][0] if turn["role"] == "user")


def bfcl() -> BenchSet:
    """BFCL v4 (Apache-2.0): the union of all functions.

    Functions of one name and other texts are tools apart, and the relevant one is that which the question offers. The
    set knows no servers; each function is filed under one of its own, so that none profits from a neighbour.
    """
    seen: dict[tuple[str, str], Tool] = {}
    cases: list[Case] = []
    for origin in ("multiple", "live_multiple", "live_simple", "simple_python"):
        answers = {row["id"]: row["ground_truth"] for row in _bfcl_rows(f"possible_answer/BFCL_v4_{origin}")}
        for row in _bfcl_rows(f"BFCL_v4_{origin}"):
            offered = [_union(function, seen) for function in row["function"]]
            gold = dict.fromkeys(name for call in answers[row["id"]] for name in call)
            relevant = tuple(frozenset(tool.key for tool in offered if tool.name == name) for name in gold)
            cases.append(Case(_asked(row), relevant, origin=origin))
    return BenchSet("bfcl", tuple(seen.values()), tuple(cases))


def _union(function: Mapping[str, Any], seen: dict[tuple[str, str], Tool]) -> Tool:
    name, text = function["name"], function["description"]
    if (name, text) not in seen:
        seen[name, text] = Tool(f"f{len(seen)}", name, "", text, function["parameters"])
    return seen[name, text]


def bfcl_offered() -> BenchSet:
    """BFCL v4, each question with the functions offered to it alone, filed under a server of its own.

    658 questions that one offered function answers (simple_python, live_simple), and all questions of the two
    irrelevance sets, which none does. A case's `server` is the filter to ask with.
    """
    tools: list[Tool] = []
    cases: list[Case] = []
    for origin in ("simple_python", "live_simple", "irrelevance", "live_irrelevance"):
        for row in _bfcl_rows(f"BFCL_v4_{origin}"):
            server = f"f{len(cases)}"
            offered = [
                Tool(server, function["name"], "", function["description"], function["parameters"])
                for function in {function["name"]: function for function in row["function"]}.values()
            ]
            relevant = () if "irrelevance" in origin else (frozenset(tool.key for tool in offered),)
            tools += offered
            if offered:
                cases.append(Case(_asked(row), relevant, origin=origin, server=server))
    return BenchSet("bfcl_offered", tuple(tools), tuple(cases))


def mcpproxy() -> BenchSet:
    """mcpproxy-go's golden set (MIT): 45 tools, 47 graded queries, with published figures."""
    base = folder() / "mcpproxy"
    listed = _json(base / "corpus_v1.tools.json")["tools"]
    by_id = {entry["tool_id"]: Tool(entry["server"], entry["tool"], "", entry["description"]) for entry in listed}
    cases: list[Case] = []
    for row in _json(base / "retrieval_golden_v1.json")["queries"]:
        grades = {by_id[label["tool_id"]].key: int(label["relevance"]) for label in row["labels"]}
        cases.append(Case(row["query"], tuple(frozenset({key}) for key in grades), grades=grades))
    return BenchSet("mcpproxy", tuple(by_id.values()), tuple(cases))
