"""The sources of a context: one per kind of piece.

A new kind adds one more `PieceSource`: budgets, cursors, the list of what is left out and both forms of the answer
treat its pieces like all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Protocol

from thresher.context.offers import ToolOffers
from thresher.context.probabilities import TOOLS, Evidence
from thresher.context.records import EnrichmentRequest, Note
from thresher.context.rendering import reason, rule_data, rule_heading, tool_data, tools_heading
from thresher.context.rulebooks import Rulebooks
from thresher.core import Caller, Piece, Rule, dumps
from thresher.embedding import count_tokens
from thresher.knowledge.intents import Decision, Pack
from thresher.knowledge.tools import FoundTool, found_line, why_text

RULES: Final = "rules"
_NAMED_TOOL: Final = 0.3
"""The probability that a tool is needed that the rules name which a message needs."""


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """What every source gets.

    Attributes:
        caller: The user and tenant.
        request: The message.
        decision: Which rules it needs.
        packs: The packs of these rules, best first.
        tasks: The message as texts to search for, one for each of its tasks; the message alone if it has one.
    """

    caller: Caller
    request: EnrichmentRequest
    decision: Decision
    packs: tuple[Pack, ...]
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Find:
    """One thing that a search found, from which pieces are made.

    Attributes:
        name: Its name.
        probability: The probability, 0 to 1, that it fits its task.
        task: The number of that task.
        why: The reason, in a few words.
    """

    name: str
    probability: float
    task: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class SourcePieces:
    """What a source has for a message.

    Attributes:
        pieces: In the order in which a model reads them; the value of each is the probability that it is needed if its
            kind is.
        tasks: For each piece, the number of the task that it was found for; empty if all are for the first.
        notes: What must be known about them.
        evidence: What the search says of each task of the message; empty if the pieces' values are probabilities
            already.
        attached: Pieces that rules name, behind the others; their values are probabilities already.
        finds: What the search found, where that is not the pieces.
        ms: How long the source took, in milliseconds.
    """

    pieces: tuple[Piece, ...] = ()
    tasks: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    attached: tuple[Piece, ...] = ()
    finds: tuple[Find, ...] = ()
    ms: float = 0.0


class PieceSource(Protocol):
    """Returns the pieces of one kind."""

    @property
    def kind(self) -> str:
        """The kind's name, in the plural; the pieces' `kind`."""
        ...

    async def prepare(self, caller: Caller) -> None:
        """Read what the search needs whatever the message is; the searches of one answer share it."""
        ...

    async def gather(self, query: SourceQuery) -> SourcePieces:
        """Return the candidates for one message. The same query gives the same ones while nothing changes."""
        ...


class RuleSource:
    """Rules of the matched packs."""

    kind = RULES

    def __init__(self, rulebooks: Rulebooks) -> None:
        self._rulebooks = rulebooks

    async def prepare(self, caller: Caller) -> None:
        """The decision has read it."""

    async def gather(self, query: SourceQuery) -> SourcePieces:
        """See `PieceSource.gather`."""
        book = await self._rulebooks.of(query.caller, query.packs, query.request.files, outlined=True)
        return SourcePieces(tuple(_rule_piece(rule, query.decision) for rule in book.rules), notes=book.notes)


class ToolSource:
    """Tools that fit the message, and those of the matched packs."""

    kind = TOOLS

    def __init__(self, offers: ToolOffers) -> None:
        self._offers = offers

    async def prepare(self, caller: Caller) -> None:
        """The catalogue is at hand."""

    async def gather(self, query: SourceQuery) -> SourcePieces:
        """See `PieceSource.gather`."""
        offers = await self._offers.of_message(query.caller, query.request, query.packs, query.tasks)
        found = [tool for tool in offers.tools if tool.why.source != "pack"]
        pieces = tuple(_tool_piece(tool, tool.need) for tool in found)
        evidence = tuple(map(Evidence, offers.probabilities))
        tasks = tuple(offers.task_of(tool) for tool in found)
        scores = [score.score for score in query.decision.matched]
        value = _NAMED_TOOL * max(scores, default=0.0)
        attached = tuple(_tool_piece(tool, value) for tool in offers.tools if tool.why.source == "pack")
        return SourcePieces(pieces, tasks, offers.notes, evidence, attached)


def _rule_piece(rule: Rule, decision: Decision) -> Piece:
    score = next(one.score for one in decision.matched if one.intent == rule.intent)
    piece = rule_piece(rule, score, reason(decision, rule.intent))
    if rule.whole is None:
        return piece
    whole = rule_piece(rule.whole, score, piece.why)
    return replace(piece, whole=whole, content=f"{rule.text}\n{rule.whole.text}")


def rule_piece(rule: Rule, score: float, why: str) -> Piece:
    """Return the rules of a pack as a piece."""
    data = {**rule_data(rule), "score": round(score, 3), "why": why}
    return piece_of(RULES, rule.intent, rule.text, rule_heading(rule), data, score, why)


def _tool_piece(tool: FoundTool, value: float) -> Piece:
    why = why_text(tool.why)
    piece = piece_of(TOOLS, tool.name, found_line(tool), tools_heading(), tool_data(tool, explained=False), value, why)
    return replace(piece, content=tool.line)


def piece_of(kind: str, name: str, text: str, heading: str, data: Mapping[str, Any], value: float, why: str) -> Piece:
    """Return a piece whose tokens are not counted yet: most of what is offered is not needed."""
    return Piece(kind, name, text, heading, data, value, why)


def counted(piece: Piece) -> Piece:
    """Return a piece, and its full form, with the tokens of the more expensive of its two forms."""
    if piece.tokens:
        return piece
    whole = None if piece.whole is None else counted(piece.whole)
    return replace(piece, tokens=max(_tokens(piece.text), _tokens(dumps(piece.data))), whole=whole)


@lru_cache(maxsize=1_024)
def _tokens(text: str) -> int:
    """Cached while a pack stays the same."""
    return count_tokens(text)
