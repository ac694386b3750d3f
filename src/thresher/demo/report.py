"""The results of the demo, as records and as JSON.

Invariant: every number was measured in this run. Shares are 0 to 1; the name of a time says its unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from thresher.context import Prompt
from thresher.core import Scored
from thresher.demo.messages import DemoMessage, LocalCall
from thresher.demo.servers import MissingServer
from thresher.knowledge.documents import Retrieval
from thresher.knowledge.tools import FindResult, FoundTool


@dataclass(frozen=True, slots=True)
class LiveServer:
    """A real server that answered.

    Attributes:
        name: The server.
        version: Its own version; may be empty.
        tools: How many tools it listed.
        seconds: From its start to its listing.
    """

    name: str
    version: str
    tools: int
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """The result of indexing.

    Attributes:
        tools: All tools of the demo.
        embedded: Tools whose vectors were computed in this run.
        kept: Tools that were already indexed.
        seconds: From the first tool to the last one stored.
    """

    tools: int
    embedded: int
    kept: int
    seconds: float

    @property
    def rate(self) -> float:
        """Tools embedded and stored per second; 0 if none was."""
        return self.embedded / self.seconds if self.embedded and self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class ToolsResult:
    """The tools found for a message.

    Attributes:
        message: The message.
        result: The answer of `find_tools`.
        wanted: The tools that a person would choose, as far as they are indexed.
    """

    message: DemoMessage
    result: FindResult
    wanted: frozenset[str] = frozenset()

    @property
    def missed(self) -> frozenset[str]:
        """Wanted tools that were not found."""
        return self.wanted - {found.name for found in self.result.tools}

    @property
    def right(self) -> bool:
        """Whether every wanted tool was found, or rightly none."""
        return self.result.abstained if not self.message.wants else not self.missed

    @property
    def saved(self) -> float:
        """Share of the tokens of all definitions that need not be sent."""
        return 1 - self.result.tokens_sent / self.result.tokens_all if self.result.tokens_all else 0.0


@dataclass(frozen=True, slots=True)
class RulesResult:
    """The rules found for a message.

    Attributes:
        message: The message.
        prompt: The answer of `process_prompt`.
        tokens: The tokens of that text.
    """

    message: DemoMessage
    prompt: Prompt
    tokens: int

    @property
    def packs(self) -> tuple[str, ...]:
        """The packs whose rules are given, best first."""
        return tuple(rule.intent for rule in self.prompt.rules)

    @property
    def right(self) -> bool:
        """Whether these are exactly the rules that a person would choose."""
        return set(self.packs) == set(self.message.wants)


@dataclass(frozen=True, slots=True)
class PassageResult:
    """The passages found for a question.

    Attributes:
        message: The question.
        answer: The answer of `retrieve_document`.
        budget: The most tokens that it may have.
    """

    message: DemoMessage
    answer: Retrieval
    budget: int

    @property
    def right(self) -> bool:
        """Whether it contains the answer, or rightly says that nothing fits."""
        held = all(words in self.answer.content for words in self.message.wants)
        return self.answer.found == bool(self.message.wants) and held


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call and its answer.

    Attributes:
        call: The call.
        text: The beginning of the answer.
        failed: Whether the tool reported a failure, or the server did not answer.
        ms: Milliseconds, from the call to the answer.
        rules: The packs whose rules came first in place of an answer; the call was then repeated.
        rules_tokens: The tokens of those rules.
    """

    call: LocalCall
    text: str
    failed: bool
    ms: float
    rules: tuple[str, ...] = ()
    rules_tokens: int = 0


@dataclass(frozen=True, slots=True)
class DemoReport:
    """The results of a run.

    Attributes:
        servers: The real servers that took part.
        left_out: Those that did not, with reasons.
        catalogue: The catalogue's package.
        vendors: Servers in the catalogue.
        indexing: The result of indexing.
        answers: The messages with their results.
        guided: The messages with their rules.
        calls: The calls that were made.
        consulted: The questions with their passages.
        encoder: The embedding model's id.
        meta_tokens: Tokens of the definitions that a client always sends in place of all tools.
        folder: Where the database is.
        start_seconds: Until the database was ready.
        total_seconds: The time of the run.
    """

    servers: tuple[LiveServer, ...]
    left_out: tuple[MissingServer, ...]
    catalogue: str
    vendors: int
    indexing: IndexingResult
    answers: tuple[ToolsResult, ...]
    guided: tuple[RulesResult, ...]
    calls: tuple[CallRecord, ...]
    consulted: tuple[PassageResult, ...]
    encoder: str
    meta_tokens: int
    folder: str
    start_seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def tokens_all(self) -> int:
        """Tokens of all definitions, which a client without Thresher sends in each request."""
        return max((answer.result.tokens_all for answer in self.answers), default=0)

    @property
    def tokens_each(self) -> float:
        """Median tokens of an answer with tools."""
        return median([answer.result.tokens_sent for answer in self.answers if answer.result.tools] or [0])

    @property
    def right(self) -> int:
        """The number of messages with the right tools, or rightly none."""
        return sum(answer.right for answer in self.answers)

    @property
    def saved(self) -> float:
        """Share of tokens saved by a median request: the fixed definitions and one answer, against all definitions."""
        return 1 - (self.meta_tokens + self.tokens_each) / self.tokens_all if self.tokens_all else 0.0

    @property
    def median_ms(self) -> float:
        """Median time of `find_tools`, without the log row that is written after the answer."""
        return median([answer.result.duration_ms for answer in self.answers] or [0.0])


def report_json(report: DemoReport) -> Mapping[str, Any]:
    """The report as one JSON object, for `thresher demo --json`."""
    return {
        "servers": report.servers,
        "left_out": report.left_out,
        "catalogue": {"package": report.catalogue, "servers": report.vendors},
        "indexing": {
            "tools": report.indexing.tools,
            "embedded": report.indexing.embedded,
            "kept": report.indexing.kept,
            "seconds": round(report.indexing.seconds, 3),
            "tools_per_second": round(report.indexing.rate, 1),
        },
        "messages": [_answer_json(answer) for answer in report.answers],
        "rules": [_guided_json(guided) for guided in report.guided],
        "calls": [
            {
                "tool": f"{called.call.server}/{called.call.tool}",
                "arguments": called.call.arguments,
                "text": called.text,
                "failed": called.failed,
                "ms": round(called.ms, 1),
                "rules": list(called.rules),
                "rules_tokens": called.rules_tokens,
            }
            for called in report.calls
        ],
        "documents": [_consulted_json(consulted) for consulted in report.consulted],
        "summary": {
            "encoder": report.encoder,
            "tokens_all": report.tokens_all,
            "meta_tokens": report.meta_tokens,
            "tokens_saved": round(report.saved, 4),
            "right": report.right,
            "messages": len(report.answers),
            "p50_ms": round(report.median_ms, 1),
            "start_seconds": round(report.start_seconds, 2),
            "total_seconds": round(report.total_seconds, 2),
            "folder": report.folder,
        },
    }


def _consulted_json(consulted: PassageResult) -> Mapping[str, Any]:
    answer = consulted.answer
    return {
        "question": consulted.message.text,
        "right": consulted.right,
        "found": answer.found,
        "document": answer.document,
        "content": answer.content,
        "budget": consulted.budget,
        "tokens": answer.token_count,
        "tokens_all": answer.original_token_count,
        "ms": round(answer.timings.get("total", 0.0), 1),
    }


def _answer_json(answer: ToolsResult) -> Mapping[str, Any]:
    result = answer.result
    return {
        "message": answer.message.text,
        "clauses": result.clauses,
        "wanted": answer.wanted,
        "missed": answer.missed,
        "right": answer.right,
        "abstained": result.abstained,
        "degraded": result.degraded,
        "fallback": result.fallback,
        "probability": round(result.probability, 3),
        "tools": [_tool_json(found) for found in result.tools],
        "tokens_all": result.tokens_all,
        "tokens_sent": result.tokens_sent,
        "ms": round(result.duration_ms, 2),
        "embedding_ms": round(result.embedding_ms, 2),
    }


def _guided_json(guided: RulesResult) -> Mapping[str, Any]:
    prompt = guided.prompt
    return {
        "message": guided.message.text,
        "wanted": guided.message.wants,
        "right": guided.right,
        "packs": guided.packs,
        "confidence": round(prompt.decision.confidence, 3),
        "scores": {score.intent: round(score.score, 3) for score in prompt.decision.scores},
        "tools": [tool.name for tool in prompt.tools],
        "tokens": guided.tokens,
        "ms": round(prompt.timings["total"], 2),
        "embedding_ms": round(prompt.decision.embedding_ms, 2),
    }


def _tool_json(found: FoundTool) -> Mapping[str, Any]:
    scored: Scored[Any] = found.scored
    return {
        "name": found.name,
        "probability": round(scored.score, 3),
        "source": scored.why.source,
        "dense_rank": scored.why.dense.rank,
        "lexical_rank": scored.why.lexical.rank,
        "terms": scored.why.terms,
        "clause": scored.why.query,
        "tokens": found.tokens,
    }
