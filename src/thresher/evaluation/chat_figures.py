"""The figures of conversations: what prompts cost, with caches and without, and what they should not contain.

A prompt is what a request sends, in the OpenAI wire format: its tools, then its messages.

Invariant: pure; tokens are o200k, and both sides of a comparison are counted by the same rule. A ratio is the product's
share of what the standard pattern took for the same script; None without data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.core import dumps
from thresher.embedding import count_tokens
from thresher.evaluation.metrics import mean, percentile

CACHED: Final = 0.1
"""The price of a cached token, as a share of that of another."""

_GRADED: Final = "begin PASSAGES"
"""Marks the prompts that grade the passages just found."""

_PROBE: Final = 120
"""Characters of each of the three pieces by which a passage is recognised."""


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The prompt of one request.

    Attributes:
        turn: The turn of the conversation, from 0.
        messages: The messages, as sent.
        tools: The tools, as sent.
    """

    turn: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()

    def written(self) -> str:
        """The prompt as one text, in the order in which services cache: tools, then messages."""
        parts = [dumps(tool) for tool in self.tools]
        for message in self.messages:
            about = f"{message['role']} {message.get('tool_call_id', '')}".strip()
            calls = "\n".join(f"{call['id']} {dumps(call['function'])}" for call in message.get("tool_calls") or ())
            parts.append("\n".join(part for part in (f"<{about}>", text_of(message), calls) if part))
        return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class PromptCost:
    """The tokens of a prompt, and those that it shares with the beginning of an earlier prompt."""

    tokens: int
    cached: int

    @property
    def weighted(self) -> float:
        """Tokens, with the cached ones at their share."""
        return self.tokens - (1 - CACHED) * self.cached


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, or of its parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def costs(prompts: Sequence[SentPrompt]) -> list[PromptCost]:
    """The cost of each prompt of a conversation, in order.

    The cached part is the longest beginning that it shares with an earlier prompt of the conversation.
    """
    written = [prompt.written() for prompt in prompts]
    found: list[PromptCost] = []
    for place, text in enumerate(written):
        shared = max((_shared(text, earlier) for earlier in written[:place]), default=0)
        found.append(PromptCost(count_tokens(text), count_tokens(text[:shared])))
    return found


def _shared(one: str, other: str) -> int:
    """The length of the common beginning of two texts, by bisection over slices."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def stale_documents(prompts: Sequence[SentPrompt], found: Sequence[Sequence[str]]) -> int:
    """How often a prompt contains a passage that its turn did not find.

    Text of models does not count: an answer may quote a passage, and later prompts repeat it. Nor do passages that a
    turn found and its grader rejected, nor what the first system prompt says about repositories.

    Args:
        prompts: The prompts of a conversation.
        found: The passages that each turn found.
    """
    rightly = _quotable(prompts)
    whole = [(prompt.turn, "\n".join(map(text_of, prompt.messages))) for prompt in prompts]
    graded = [(turn, text) for turn, text in whole if _GRADED in text]
    return sum(
        _stale(prompt, found, "\n".join((rightly, *(text for turn, text in graded if turn == prompt.turn))))
        for prompt in prompts
    )


def _quotable(prompts: Sequence[SentPrompt]) -> str:
    """The text of models, and the first system prompt."""
    messages = [message for prompt in prompts for message in prompt.messages]
    answers = [message for message in messages if message["role"] == "assistant"]
    first = [message for message in messages[:1] if message["role"] == "system"]
    return "\n".join(dict.fromkeys(map(text_of, (*first, *answers))))


def _stale(prompt: SentPrompt, found: Sequence[Sequence[str]], known: str) -> int:
    text = "\n".join(text_of(message) for message in prompt.messages if message["role"] != "assistant")
    rightly = "\n".join((*(found[prompt.turn] if prompt.turn < len(found) else ()), known))
    earlier = dict.fromkeys(passage for turn in found[: prompt.turn] for passage in turn)
    return sum(any(probe in text and probe not in rightly for probe in probes(passage)) for passage in earlier)


def probes(passage: str) -> list[str]:
    """Pieces of a passage by which it is recognised: from its beginning, middle and end."""
    text = passage.strip()
    if len(text) <= _PROBE:
        return [text] if text else []
    starts = (0, (len(text) - _PROBE) // 2, len(text) - _PROBE)
    return [text[start : start + _PROBE] for start in starts]


def unanswered_calls(prompts: Iterable[SentPrompt]) -> int:
    """The number of calls in prompts that their answer does not follow at once.

    The wire format requires an answer to each call of an assistant's message before the next message.
    """
    return sum(_unanswered(prompt.messages) for prompt in prompts)


def _unanswered(messages: Sequence[Mapping[str, Any]]) -> int:
    missing, still = 0, Counter[str]()
    for message in messages:
        if message["role"] == "tool":
            still[str(message.get("tool_call_id"))] -= 1
            continue
        missing += (+still).total()
        still = Counter(str(call["id"]) for call in message.get("tool_calls") or ())
    return missing + (+still).total()


def visible_tools(prompts: Iterable[SentPrompt], internal: Iterable[str]) -> int:
    """How often prompts offer, call or answer one of some tools."""
    names = frozenset(internal)
    return sum(sum(name in names for name in _tool_names(prompt)) for prompt in prompts)


def called_before(prompts: Iterable[SentPrompt], tool: str) -> int:
    """The number of calls of a tool in prompts."""
    return sum(
        call["function"]["name"] == tool
        for prompt in prompts
        for message in prompt.messages
        for call in message.get("tool_calls") or ()
    )


def _tool_names(prompt: SentPrompt) -> Iterable[str]:
    for tool in prompt.tools:
        yield tool["function"]["name"]
    for message in prompt.messages:
        if message["role"] == "tool":
            yield str(message.get("name", ""))
        for call in message.get("tool_calls") or ():
            yield call["function"]["name"]


INTERNAL: Final = ("rephrase", "grade", "select_tables")
"""Internal requests to the model, which must never be offered as tools."""

SEARCH: Final = "search_documents"
"""The tool whose calls and answers must not be in later prompts."""

READER: Final = "read_result"
"""Reads the next part of a long result; the standard pattern has the whole result, and no such tool."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn, as it went.

    Attributes:
        offered: The tools that the model was offered.
        called: The tools that were called.
        wanted: The tools that the script names; None if it does not say.
        documents: Number of passages in the prompt.
        document_tokens: Their tokens.
        finish: Why it ended.
        ms: Time until the end.
        first_ms: Time until the first word of the answer; None without one.
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
class ChatRun:
    """A whole conversation, and the same script in the standard pattern.

    Attributes:
        name: The name of the script.
        turns: The turns, as they went.
        prompts: The prompts, in order.
        found: The passages in the prompts of each turn.
        standard: The prompts of the standard pattern.
        standard_ms: The times of its turns.
    """

    name: str
    turns: Sequence[ChatTurn]
    prompts: Sequence[SentPrompt]
    found: Sequence[Sequence[str]]
    standard: Sequence[SentPrompt]
    standard_ms: Sequence[float]


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """The figures of one turn; `turn` counts from 1."""

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
    """The figures of conversations.

    Attributes:
        conversations: Number of conversations.
        turns: Number of turns.
        failed: Turns without an answer of the model, or that reached the limit of steps.
        calls: Requests to the model, including internal ones.
        standard_calls: The same of the standard pattern.
        prompt_tokens: Tokens of all prompts.
        standard_prompt_tokens: The same of the standard pattern.
        prompt_tokens_ratio: The first divided by the second.
        cached_cost: Prompt tokens, with cached ones at a tenth.
        standard_cached_cost: The same of the standard pattern.
        cached_cost_ratio: The first divided by the second.
        tokens_per_turn: Mean prompt tokens of a turn.
        standard_tokens_per_turn: The same of the standard pattern.
        document_tokens_per_turn: Mean tokens of passages, over the turns that had some.
        stale_documents: How often a prompt held a passage that its turn had not found.
        unanswered_tool_calls: How often a prompt held a call without its answer.
        internal_tools_visible: How often a prompt offered or named an internal tool.
        right_tools_offered: Share of the turns with tools in the script in which all of them were offered.
        right_tools_called: Share of the turns with tools in the script in which exactly these were called.
        p50_ms: Median time of a turn.
        p95_ms: The 95th percentile.
        first_p50_ms: Median time until the first word of the answer.
        standard_p50_ms: Median time of a turn of the standard pattern.
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


def figures_of_chat(conversed: Sequence[ChatRun]) -> tuple[ChatFigures, tuple[TurnFigures, ...]]:
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


def _rows(one: ChatRun, tokens: Sequence[int], standard: Sequence[int]) -> Iterable[TurnFigures]:
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
