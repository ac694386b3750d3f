"""From what a conversation took to the figures of its evaluation: pure, no clock, no model.

Invariant: a ratio is this product's share of what the standard pattern took for the same script; None without data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.evaluation.chat_counting import (
    Prompt,
    called_before,
    costs,
    stale_documents,
    unanswered_calls,
    visible_tools,
)
from thresher.evaluation.metrics import mean, percentile

INTERNAL: Final = ("rephrase", "grade", "select_tables")
"""What is asked of the model beside the answer; none of it is ever a tool of it."""
SEARCH: Final = "search_documents"
"""The tool whose calls and answers leave no trace in later prompts."""

READER: Final = "read_result"
"""Reads on in a long result; the standard pattern has the whole result, and no such tool."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn as it went.

    Attributes:
        offered: Tools that the model had.
        called: Tools that were called.
        wanted: Tools that the script names; None: it does not say.
        documents: Passages that were placed in the prompt.
        document_tokens: Theirs.
        finish: Why it ended.
        ms: Until the end.
        first_ms: Until the first word of the answer; None where there was none.
    """

    offered: frozenset[str]
    called: frozenset[str]
    wanted: frozenset[str] | None
    documents: int
    document_tokens: int
    finish: str
    ms: float
    first_ms: float | None


@dataclass(frozen=True, slots=True)
class Conversed:
    """A whole conversation, and the same script in the standard pattern.

    Attributes:
        name: Of the script.
        turns: As they went.
        prompts: That were sent, in order.
        found: The passages that each turn has placed.
        standard: The prompts of the standard pattern.
        standard_ms: How long its turns took.
    """

    name: str
    turns: Sequence[Spoken]
    prompts: Sequence[Prompt]
    found: Sequence[Sequence[str]]
    standard: Sequence[Prompt]
    standard_ms: Sequence[float]


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """What one turn took; `turn` from 1."""

    conversation: str
    turn: int
    calls: int
    prompt_tokens: int
    standard_calls: int
    standard_prompt_tokens: int
    documents: int
    document_tokens: int
    ms: float
    first_ms: float | None
    finish: str


@dataclass(frozen=True, slots=True)
class ChatFigures:
    """What conversations took.

    Attributes:
        conversations: How many.
        turns: Of all.
        failed: Turns without an answer of the model, or whose steps were used up.
        calls: Requests to the model, those beside the answer included.
        standard_calls: Of the standard pattern.
        prompt_tokens: Of all requests.
        standard_prompt_tokens: The same.
        prompt_tokens_ratio: The first by the second.
        cached_cost: Prompt tokens, those of a beginning that was sent before at a tenth.
        standard_cached_cost: The same.
        cached_cost_ratio: The first by the second.
        tokens_per_turn: Prompt tokens of a turn, on average.
        standard_tokens_per_turn: The same.
        document_tokens_per_turn: Of passages placed, over the turns that had some.
        stale_documents: How often a prompt held a passage that its turn had not found.
        unanswered_tool_calls: How often a prompt held a call without its answer.
        internal_tools_visible: How often a prompt offered or named what is internal.
        right_tools_offered: Share of the turns whose script names tools in which all of these were offered.
        right_tools_called: Share of the turns whose script says in which exactly these were called.
        p50_ms: Of a turn.
        p95_ms: The same.
        first_p50_ms: Until the first word of the answer.
        standard_p50_ms: Of a turn of the standard pattern.
    """

    conversations: int
    turns: int
    failed: int
    calls: int
    standard_calls: int
    prompt_tokens: int
    standard_prompt_tokens: int
    prompt_tokens_ratio: float | None
    cached_cost: float
    standard_cached_cost: float
    cached_cost_ratio: float | None
    tokens_per_turn: float | None
    standard_tokens_per_turn: float | None
    document_tokens_per_turn: float | None
    stale_documents: int
    unanswered_tool_calls: int
    internal_tools_visible: int
    right_tools_offered: float | None
    right_tools_called: float | None
    p50_ms: float | None
    p95_ms: float | None
    first_p50_ms: float | None
    standard_p50_ms: float | None


def figures_of_chat(conversed: Sequence[Conversed]) -> tuple[ChatFigures, tuple[TurnFigures, ...]]:
    """The figures of all conversations, and of each turn."""
    ours = [costs(one.prompts) for one in conversed]
    standard = [costs(one.standard) for one in conversed]
    rows = tuple(
        row
        for one, mine, theirs in zip(conversed, ours, standard, strict=True)
        for row in _rows(one, [cost.tokens for cost in mine], [cost.tokens for cost in theirs])
    )
    turns = [turn for one in conversed for turn in one.turns]
    tokens, standard_tokens = (sum(cost.tokens for side in sides for cost in side) for sides in (ours, standard))
    cost, standard_cost = (sum(cost.weighted for side in sides for cost in side) for sides in (ours, standard))
    prompts = [prompt for one in conversed for prompt in one.prompts]
    figures = ChatFigures(
        conversations=len(conversed),
        turns=len(turns),
        failed=sum(turn.finish in ("error", "limit") for turn in turns),
        calls=len(prompts),
        standard_calls=sum(len(one.standard) for one in conversed),
        prompt_tokens=tokens,
        standard_prompt_tokens=standard_tokens,
        prompt_tokens_ratio=tokens / standard_tokens if standard_tokens else None,
        cached_cost=round(cost, 1),
        standard_cached_cost=round(standard_cost, 1),
        cached_cost_ratio=cost / standard_cost if standard_cost else None,
        tokens_per_turn=mean(row.prompt_tokens for row in rows),
        standard_tokens_per_turn=mean(row.standard_prompt_tokens for row in rows),
        document_tokens_per_turn=mean(turn.document_tokens for turn in turns if turn.documents),
        stale_documents=sum(stale_documents(one.prompts, one.found) for one in conversed),
        unanswered_tool_calls=unanswered_calls(prompts),
        internal_tools_visible=visible_tools(prompts, INTERNAL) + called_before(prompts, SEARCH),
        right_tools_offered=mean(float(turn.wanted <= turn.offered) for turn in turns if turn.wanted),
        right_tools_called=mean(float(turn.wanted == turn.called) for turn in turns if turn.wanted is not None),
        p50_ms=percentile([turn.ms for turn in turns], 0.5),
        p95_ms=percentile([turn.ms for turn in turns], 0.95),
        first_p50_ms=percentile([turn.first_ms for turn in turns if turn.first_ms is not None], 0.5),
        standard_p50_ms=percentile([ms for one in conversed for ms in one.standard_ms], 0.5),
    )
    return figures, rows


def _rows(one: Conversed, tokens: Sequence[int], standard: Sequence[int]) -> Iterable[TurnFigures]:
    for number, turn in enumerate(one.turns):
        mine = [cost for cost, prompt in zip(tokens, one.prompts, strict=True) if prompt.turn == number]
        theirs = [cost for cost, prompt in zip(standard, one.standard, strict=True) if prompt.turn == number]
        yield TurnFigures(
            conversation=one.name,
            turn=number + 1,
            calls=len(mine),
            prompt_tokens=sum(mine),
            standard_calls=len(theirs),
            standard_prompt_tokens=sum(theirs),
            documents=turn.documents,
            document_tokens=turn.document_tokens,
            ms=turn.ms,
            first_ms=turn.first_ms,
            finish=turn.finish,
        )
