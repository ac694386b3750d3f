"""Results of our own, in every form that the demo shows."""

from __future__ import annotations

from typing import Any

from thresher.context import Prompt
from thresher.core import Arm, Rule, Scored, Tool, Why
from thresher.demo.messages import DemoMessage, LocalCall
from thresher.demo.report import (
    CallRecord,
    DemoReport,
    IndexingResult,
    LiveServer,
    PassageResult,
    RulesResult,
    ToolsResult,
)
from thresher.demo.servers import MissingServer
from thresher.knowledge.documents import Retrieval
from thresher.knowledge.intents import Decision, IntentScore
from thresher.knowledge.tools import FindResult, FoundTool


def found(name: str, score: float = 0.9, *, source: str = "hybrid", query: int = 0, terms: int = 2) -> FoundTool:
    """A tool that both arms found, or none when it is a core tool."""
    arms = (Arm(1, 0.8), Arm(None, None)) if source == "hybrid" else (Arm(None, None), Arm(None, None))
    why = Why(source, *arms, terms=tuple(f"term{number}" for number in range(terms)), query=query)
    return FoundTool(name, Scored(Tool("server", name), score, why), f"{name}()", 20)


def result(*tools: FoundTool, **changes: Any) -> FindResult:
    """A result with these tools."""
    values: dict[str, Any] = {
        "tools": tools,
        "text": "",
        "total_searched": 750,
        "abstained": False,
        "probability": 0.93,
        "degraded": "",
        "fallback": False,
        "clauses": ("one",),
        "embedding_ms": 4.0,
        "duration_ms": 6.5,
        "trace_id": "t",
        "tokens_sent": 400,
        "tokens_all": 200_000,
    }
    return FindResult(**(values | changes))


def answer(*tools: FoundTool, **changes: Any) -> ToolsResult:
    """A message with its result."""
    message = DemoMessage("What time is it in Tokyo?", "a clock", ("time_convert_time",))
    return ToolsResult(message, result(*tools, **changes), frozenset(message.wants))


def guided(*packs: str, **changes: Any) -> RulesResult:
    """A message with the rules of these packs."""
    scores = tuple(IntentScore(pack, 0.9, 0.4, best_line="commit it", matched=True) for pack in packs)
    values: dict[str, Any] = {
        "decision": Decision(scores or (IntentScore("git", 0.1, 0.4),), embedding_ms=4.0),
        "rules": tuple(Rule(pack, "Commit with care.", "built-in") for pack in packs),
        "timings": {"total": 6.5},
    }
    return RulesResult(DemoMessage("commit it", "rules", ("git",)), Prompt("commit it", **(values | changes)), 1_200)


def consulted(text: str = "Never stage a secret.", *, found: bool = True) -> PassageResult:
    """A question with its passage."""
    answer = Retrieval(
        text, (), 20, was_compressed=True, original_token_count=1_800, document="git/SKILL.md", found=found
    )
    return PassageResult(DemoMessage("May a secret be staged?", "a passage", ("Never stage",)), answer, 300)


def report(**changes: Any) -> DemoReport:
    """A whole run."""
    values: dict[str, Any] = {
        "servers": (LiveServer("time", "1.2", 2, 0.7), LiveServer("git", "", 1, 1.0)),
        "left_out": (
            MissingServer("memory", "npx is not on the PATH", "install Node.js"),
            MissingServer("slow", "It said: " + "no " * 60),
        ),
        "catalogue": "package 1",
        "vendors": 17,
        "indexing": IndexingResult(750, 750, 0, 5.0),
        "answers": (answer(found("time_convert_time")), answer(abstained=True, tokens_sent=0, duration_ms=9.5)),
        "guided": (guided("git"),),
        "calls": (CallRecord(LocalCall("time", "convert_time", {"time": "09:30"}), "16:30", failed=False, ms=8.2),),
        "consulted": (consulted(), consulted(found=False)),
        "encoder": "bge-small-en-v1.5",
        "meta_tokens": 1_800,
        "start_seconds": 1.0,
        "total_seconds": 20.0,
        "folder": "/data/demo",
    }
    return DemoReport(**(values | changes))
