"""The scanner of tool definitions: what it finds among poisoned ones, and how often it is wrong about harmless ones."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import data, machine
from scripts.ship_classifier import teaches
from thresher.core import Tool
from thresher.demo.catalogue import read_catalogue
from thresher.knowledge.tools.definitions import first_sentence
from thresher.scanner import Finding, PeerTool, PeerTools, scan

CORPORA = ("security", "detect")
_OWN = Path(__file__).parent.parent / "tests" / "scanner" / "definitions"


@dataclass(frozen=True, slots=True)
class Labelled:
    """One definition of a corpus.

    Attributes:
        tool: The definition.
        peers: The tools beside it, where the corpus gives some.
        poisoned: Its label.
        category: What sort of attack, or of harmless text.
        half: `design`: the rules were written with it in sight; `held_out`: it was looked at last. By a hash of its id.
    """

    tool: Tool
    peers: PeerTools
    poisoned: bool
    category: str
    half: str


def corpus(name: str) -> list[Labelled]:
    """mcpproxy-go's corpora (MIT): self-written attacks, harmless definitions, and harmless ones that come near."""
    path = data.folder() / "mcpproxy" / f"{name}_corpus_v1.json"
    return [_labelled(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["entries"]]


def _labelled(entry: dict[str, Any]) -> Labelled:
    server = entry.get("server", "server")
    shown = entry.get("tool") or {"name": "tool", "description": entry["description"]}
    beside = [
        Tool(one["server"], one["tool"]["name"], "", one["tool"]["description"]) for one in entry.get("peers", ())
    ]
    own = [shown["name"], *(tool.name for tool in beside if tool.server == server)]
    half = "held_out" if hashlib.sha256(entry["id"].encode()).digest()[0] % 2 else "design"
    return Labelled(
        tool=Tool(server, shown["name"], "", shown["description"]),
        peers=PeerTools.of((_peer(tool) for tool in beside if tool.server != server), own),
        poisoned=entry["label"] == "malicious",
        category=entry["category"],
        half=half,
    )


def _peer(tool: Tool) -> PeerTool:
    return PeerTool(tool.server, tool.name, first_sentence(tool.description or tool.title))


def _is_danger(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "danger" for finding in findings)


def _scores(entries: Sequence[Labelled]) -> dict[str, Any]:
    """Recall and false alarms: of any finding, and of dangerous ones, which hold a tool back."""
    found = [(entry, scan(entry.tool, entry.peers)) for entry in entries]
    poisoned = [findings for entry, findings in found if entry.poisoned]
    harmless = [findings for entry, findings in found if not entry.poisoned]
    missed = Counter(entry.category for entry, findings in found if entry.poisoned and not findings)
    return {
        "poisoned": len(poisoned),
        "harmless": len(harmless),
        "recall": _share(map(bool, poisoned)),
        "false_alarms": _share(map(bool, harmless)),
        "held_recall": _share(map(_is_danger, poisoned)),
        "held_false_alarms": _share(map(_is_danger, harmless)),
        "missed": dict(missed),
    }


def _share(hits: Iterable[bool]) -> float | None:
    counted = list(hits)
    return round(sum(counted) / len(counted), 4) if counted else None


def _pool(bench: data.BenchSet, *, beside: bool) -> dict[str, Any]:
    """False alarms among public tools, which count as harmless, and the time for one."""
    by_server: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in bench.tools:
        by_server[tool.server].append(tool)
    everyone = [_peer(tool) for tool in bench.tools]
    peers = {
        server: PeerTools.of(
            (peer for peer in everyone if beside and peer.server != server), (tool.name for tool in own)
        )
        for server, own in (by_server.items() if beside else ())
    }
    marked, held, untaught, alarms, spent = 0, 0, 0, 0, list[float]()
    for tool in bench.tools:
        started = time.process_time()
        findings = scan(tool, peers.get(tool.server, PeerTools()))
        spent.append((time.process_time() - started) * 1e6)
        marked += bool(findings)
        held += _is_danger(findings)
        if not teaches(tool):
            untaught += 1
            alarms += _is_danger(findings)
    spent.sort()
    return {
        "tools": len(bench.tools),
        "marked": marked,
        "held": held,
        "untaught": untaught,
        "untaught_held": alarms,
        "false_alarms": round(marked / len(bench.tools), 4),
        "microseconds_p50": round(spent[len(spent) // 2]),
        "microseconds_p95": round(spent[int(len(spent) * 0.95)]),
    }


def _asked_blind() -> dict[str, str]:
    """How many of each set are held that was once asked blind; the classifier has learnt from all but the last."""
    found: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / "questions").glob("*_[0-9].jsonl")):
        rows = [json.loads(line)["tool"] for line in file.read_text(encoding="utf-8").splitlines()]
        tools = [Tool("server", row["name"], "", row["description"], row["inputSchema"]) for row in rows]
        found[file.stem] = f"{sum(_is_danger(scan(tool)) for tool in tools)} of {len(tools)}"
    return found


def _written(name: str) -> Path:
    """A file of definitions: the one that a variable names, else that of the tests."""
    given = os.environ.get(f"THRESHER_BENCH_{name.upper()}")
    return Path(given) if given else _OWN / f"{name}.jsonl"


def _by_language(name: str) -> dict[str, Any]:
    """How many definitions of a file are held and marked, in all and by language, and which are not as they should be.

    Args:
        name: `poisons` or `clean`. One JSON object a line: `tool` (name, description, inputSchema) and `language`.
    """
    held, marked, total, odd = Counter[str](), Counter[str](), Counter[str](), list[str]()
    for line in _written(name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tool, language = row["tool"], row.get("language", "en")
        definition = Tool("server", tool["name"], "", tool.get("description", ""), tool.get("inputSchema") or {})
        findings = scan(definition)
        for language_or_all in (language, "all"):
            total[language_or_all] += 1
            held[language_or_all] += _is_danger(findings)
            marked[language_or_all] += bool(findings)
        if _is_danger(findings) == (name == "clean"):
            odd.append(f"{language} {tool['name']}")
    shares = {one: {"definitions": total[one], "held": held[one], "marked": marked[one]} for one in sorted(total)}
    return {**shares, "missed" if name == "poisons" else "held_wrongly": odd}


def _shipped() -> data.BenchSet:
    """The catalogue of the demo."""
    return data.BenchSet("catalogue", tuple(read_catalogue().tools), ())


async def run() -> None:
    """Score both corpora, whole and by halves, files of definitions, and the pools of public tools; save."""
    entries = {name: corpus(name) for name in CORPORA}
    both = [entry for name in CORPORA for entry in entries[name]]
    figures: dict[str, Any] = {"both": _scores(both)}
    for half in ("design", "held_out"):
        figures[half] = _scores([entry for entry in both if entry.half == half])
    figures |= {name: _scores(entries[name]) for name in CORPORA}
    pools = [(data.livemcpbench(), True), (data.mcpproxy(), True), (data.metatool_multi(), False)]
    pools += [(data.bfcl(), False), (data.bfcl_offered(), False), (_shipped(), True)]
    figures |= {name: _by_language(name) for name in ("poisons", "clean")}
    figures["asked_blind"] = _asked_blind()
    figures["pools"] = {bench.name: _pool(bench, beside=beside) for bench, beside in pools}
    print(machine.save("scanner", figures))
    print(json.dumps(figures, indent=2))
