"""What a context is filled from: one source a kind.

A later kind joins by one more `Source`: budgets, cursors, the list of what is left out and both forms of the answer
take its pieces as they take all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from thresher.context.offers import ToolOffers
from thresher.context.records import Asked, Note, Offer
from thresher.context.rendering import offer_data, reason, rule_data, rule_heading, tools_heading
from thresher.context.rulebooks import Rulebooks
from thresher.core import Caller, Piece, Rule, dumps
from thresher.embedding import count_tokens
from thresher.knowledge.intents import Decision, Pack
from thresher.knowledge.tools import found_line, why_text

RULES, TOOLS = "rules", "tools"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What every source is asked.

    Attributes:
        caller: Who asks.
        asked: The message.
        decision: Which rules it needs.
        packs: The packs of these rules, best first.
    """

    caller: Caller
    asked: Asked
    decision: Decision
    packs: tuple[Pack, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a source has for a message.

    Attributes:
        pieces: In the order in which a model reads them.
        notes: What must be known of them.
        present: Whether there is anything of this kind at all; else the answer does not name it.
    """

    pieces: tuple[Piece, ...]
    notes: tuple[Note, ...] = ()
    present: bool = True


class Source(Protocol):
    """Gives the pieces of one kind."""

    @property
    def kind(self) -> str:
        """The kind's name, in the plural; the pieces' `kind`."""
        ...

    async def gather(self, inquiry: Inquiry) -> Gathered:
        """The candidates for one message. The same inquiry gives the same ones while nothing changes."""
        ...


class RuleSource:
    """Rules of the matched packs."""

    kind = RULES

    def __init__(self, rulebooks: Rulebooks) -> None:
        self._rulebooks = rulebooks

    async def gather(self, inquiry: Inquiry) -> Gathered:
        """See `Source.gather`."""
        book = await self._rulebooks.of(inquiry.caller, inquiry.packs, inquiry.asked.files)
        return Gathered(tuple(_rule_piece(rule, inquiry.decision) for rule in book.rules), book.notes)


class ToolSource:
    """Tools that fit the message, and those of the matched packs."""

    kind = TOOLS

    def __init__(self, offers: ToolOffers) -> None:
        self._offers = offers

    async def gather(self, inquiry: Inquiry) -> Gathered:
        """See `Source.gather`."""
        offers = await self._offers.of_message(inquiry.caller, inquiry.asked, inquiry.packs)
        return Gathered(tuple(_tool_piece(offer) for offer in offers.tools), offers.notes)


def _rule_piece(rule: Rule, decision: Decision) -> Piece:
    score = next(one.score for one in decision.matched if one.intent == rule.intent)
    piece = rule_piece(rule, score, reason(decision, rule.intent))
    if rule.whole is None:
        return piece
    whole = rule_piece(rule.whole, score, piece.why)
    return replace(piece, whole=whole, content=f"{rule.text}\n{rule.whole.text}")


def rule_piece(rule: Rule, score: float, why: str) -> Piece:
    """The rules of a pack, as they are, as a piece."""
    data = {**rule_data(rule), "score": round(score, 3), "why": why}
    return piece_of(RULES, rule.intent, rule.text, rule_heading(rule), data, score, why)


def _tool_piece(offer: Offer) -> Piece:
    text = found_line(offer.tool, write=offer.write)
    why = why_text(offer.tool.why)
    piece = piece_of(TOOLS, offer.tool.name, text, tools_heading(), offer_data(offer), offer.tool.score, why)
    return replace(piece, content=offer.tool.line)


def piece_of(kind: str, name: str, text: str, heading: str, data: Mapping[str, Any], value: float, why: str) -> Piece:
    """A piece that costs what the dearer of its two forms costs."""
    return Piece(kind, name, text, heading, data, value, why, max(_tokens(text), _tokens(dumps(data))))


@lru_cache(maxsize=1_024)
def _tokens(text: str) -> int:
    """Counted once while a pack stays as it is."""
    return count_tokens(text)
