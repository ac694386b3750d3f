"""Chooses the kind of source that answers a question, by each kind's findings.

Every kind is searched. Its evidence is the calibrated probability that its best result fits. The router's scores, the
sources named in the question, file paths in it and the kind of the last answer are weighted with it, in a softmax over
the kinds. `benchmarks/ask.py` measures the choice; the weights were fitted on its first set of questions.

Invariant: pure; a kind whose tools the caller does not see is never chosen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.agent.assistant import catalogue, endpoints, passages, schemas
from thresher.agent.assistant.inquiry import Findings, Inquiry
from thresher.agent.assistant.records import AssistantCall
from thresher.agent.assistant.toolbox import ToolAnswer, Toolbox

Find: TypeAlias = Callable[[Toolbox, Inquiry], Awaitable[Findings]]
Refine: TypeAlias = Callable[[Toolbox, Inquiry, Findings], Awaitable[Findings]]

APIS, DOCUMENTS, DATABASES, TOOLS = "apis", "documents", "databases", "tools"


@dataclass(frozen=True, slots=True)
class AnswerKind:
    """A kind of source that answers questions.

    Attributes:
        entry: The tool whose presence shows that there is something to ask.
        find: Searches for a question; returns the findings with the probability that the best one fits.
        refine: Answers with the findings: reads one in full, fills a tool's arguments, counts rows.
        bias: Added to its score.
        slope: Factor of the logit of its probability.
    """

    entry: str
    find: Find
    refine: Refine
    bias: float
    slope: float


KINDS: Final[Mapping[str, AnswerKind]] = {
    APIS: AnswerKind(endpoints.SEARCH, endpoints.find_endpoints, endpoints.read_best, -0.2, 1.75),
    DOCUMENTS: AnswerKind(passages.SEARCH, passages.find_passages, passages.keep, -1.1, 1.1),
    DATABASES: AnswerKind(schemas.CONNECTIONS, schemas.find_tables, schemas.count_rows, 0.2, 1.7),
    TOOLS: AnswerKind(catalogue.FIND, catalogue.find_tools, catalogue.use_best, 1.1, 1.3),
}
ROUTED: Final = 0.5
"""Weight of the logit of the router's score, counted from its lowest."""
NAMED: Final = 1.5
"""Added if the question names a source of the kind."""
PATH: Final = 2.2
"""Added to tools for a path or the name of a file."""
CONTINUED: Final = 2.5
"""Added to the kind of the last answer if the question continues it."""
_LEAST, _MOST = 0.01, 0.995
_FILE: Final = re.compile(
    r"(?:^|\s)(?:~|\.{0,2})/[\w.-]|\b[\w-]+\.(?:md|txt|ya?ml|json|pdf|docx?|xlsx?|py|csv|log|toml|ini)\b"
)
_READERS: Final[Mapping[str, Callable[[ToolAnswer], Findings]]] = {
    endpoints.SEARCH: endpoints.found_endpoints,
    endpoints.READ: endpoints.read,
    endpoints.IMPROVE: endpoints.reviewed,
    passages.SEARCH: passages.found_passages,
    passages.READ: passages.read,
    schemas.SCHEMA: schemas.shown,
    catalogue.FIND: catalogue.found_tools,
    catalogue.DESCRIBE: catalogue.described,
}

_KIND_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys((endpoints.SEARCH, endpoints.READ, endpoints.IMPROVE), APIS),
    **dict.fromkeys((passages.SEARCH, passages.READ), DOCUMENTS),
    schemas.SCHEMA: DATABASES,
    **dict.fromkeys((catalogue.FIND, catalogue.DESCRIBE), TOOLS),
}


def installed(tools: Container[str]) -> tuple[str, ...]:
    """Return the kinds with something to ask, by the tools that a caller sees."""
    return tuple(name for name, kind in KINDS.items() if kind.entry in tools)


def kind_of(tool: str) -> str:
    """Return the kind that one of Thresher's tools reads; else empty."""
    return _KIND_OF.get(tool, "")


def weighed(found: Mapping[str, Findings], inquiry: Inquiry, routed: Mapping[str, float]) -> dict[str, float]:
    """Return the probability that each kind should answer a question, the most likely first.

    Args:
        found: The findings of each kind.
        inquiry: The question.
        routed: The router's scores by pack; a pack that stands for no kind counts for tools.
    """
    scores = {name: _score(name, one, inquiry, routed) for name, one in found.items()}
    most = max(scores.values(), default=0.0)
    shares = {name: math.exp(score - most) for name, score in scores.items()}
    total = sum(shares.values()) or 1.0
    return {name: shares[name] / total for name in sorted(shares, key=lambda name: -shares[name])}


def _score(name: str, found: Findings, inquiry: Inquiry, routed: Mapping[str, float]) -> float:
    kind = KINDS[name]
    evidence = found.relevance
    packs = [score for pack, score in routed.items() if (pack if pack in KINDS else TOOLS) == name]
    score = kind.bias + kind.slope * _logit(evidence) + ROUTED * (_logit(max(packs, default=0.0)) - _logit(0.0))
    score += NAMED * found.named + CONTINUED * (inquiry.asked.kind == name)
    return score + PATH * (name == TOOLS and not inquiry.cues.api and _FILE.search(inquiry.text) is not None)


def _logit(probability: float) -> float:
    bounded = min(max(probability, _LEAST), _MOST)
    return math.log(bounded / (1 - bounded))


async def follow(box: Toolbox, call: AssistantCall) -> Findings:
    """Return the answer of a call that a former answer offered: to read a result, or the next page."""
    return _READERS[call.tool](await box.call(call))
