"""Counts prompts: what they cost, with caches and without, and what stands in them that should not.

A prompt is what a request sends, in the OpenAI wire format: its tools, then its messages.

Invariant: pure; tokens are o200k, and both sides of a comparison are counted by the same rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.core import dumps
from thresher.embedding import count_tokens

CACHED: Final = 0.1
"""What a token costs that a service has cached, as a share of one that it has not."""
_GRADED: Final = "begin PASSAGES"
"""Stands in the prompts that ask which of the passages just found are relevant."""
_PROBE: Final = 120
"""Characters of a passage that are looked for; three such pieces of each are."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request sends.

    Attributes:
        turn: Of the conversation, from 0.
        messages: As the wire has them.
        tools: The same.
    """

    turn: int
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()

    def written(self) -> str:
        """All of it as one text, in the order in which services cache: tools first, each message after the other."""
        parts = [dumps(tool) for tool in self.tools]
        for message in self.messages:
            about = f"{message['role']} {message.get('tool_call_id', '')}".strip()
            calls = "\n".join(f"{call['id']} {dumps(call['function'])}" for call in message.get("tool_calls") or ())
            parts.append("\n".join(part for part in (f"<{about}>", text_of(message), calls) if part))
        return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a prompt costs: all its tokens, and those of them that an earlier prompt began with too."""

    tokens: int
    cached: int

    @property
    def weighted(self) -> float:
        """Tokens, those in the cache at their share."""
        return self.tokens - (1 - CACHED) * self.cached


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, of its parts where it has such."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def costs(prompts: Sequence[Prompt]) -> list[Cost]:
    """What each prompt of a conversation costs, in order.

    The cached part is the longest beginning that it shares with an earlier prompt of the conversation.
    """
    written = [prompt.written() for prompt in prompts]
    found: list[Cost] = []
    for place, text in enumerate(written):
        shared = max((_shared(text, earlier) for earlier in written[:place]), default=0)
        found.append(Cost(count_tokens(text), count_tokens(text[:shared])))
    return found


def _shared(one: str, other: str) -> int:
    """Characters that two texts have in common from their beginning; comparing slices is quicker than going along."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def stale_documents(prompts: Sequence[Prompt], found: Sequence[Sequence[str]]) -> int:
    """How often a passage stands in a prompt of a turn that did not find it, over all prompts.

    A model may quote a passage in its answer, which later prompts repeat; so what models have said does not count. Nor
    does what a turn found and left out again after asking whether it is relevant, nor what the first system prompt says
    of the repositories that there are.

    Args:
        prompts: Of a conversation.
        found: The passages that each turn has found.
    """
    rightly = _said(prompts)
    whole = [(prompt.turn, "\n".join(map(text_of, prompt.messages))) for prompt in prompts]
    graded = [(turn, text) for turn, text in whole if _GRADED in text]
    return sum(
        _stale(prompt, found, "\n".join((rightly, *(text for turn, text in graded if turn == prompt.turn))))
        for prompt in prompts
    )


def _said(prompts: Sequence[Prompt]) -> str:
    """What models have said, and the first system prompt."""
    messages = [message for prompt in prompts for message in prompt.messages]
    said = [message for message in messages if message["role"] == "assistant"]
    first = [message for message in messages[:1] if message["role"] == "system"]
    return "\n".join(dict.fromkeys(map(text_of, (*first, *said))))


def _stale(prompt: Prompt, found: Sequence[Sequence[str]], known: str) -> int:
    text = "\n".join(text_of(message) for message in prompt.messages if message["role"] != "assistant")
    rightly = "\n".join((*(found[prompt.turn] if prompt.turn < len(found) else ()), known))
    earlier = dict.fromkeys(passage for turn in found[: prompt.turn] for passage in turn)
    return sum(any(probe in text and probe not in rightly for probe in probes(passage)) for passage in earlier)


def probes(passage: str) -> list[str]:
    """Pieces of a passage by which it is known again: of its beginning, its middle and its end."""
    text = passage.strip()
    if len(text) <= _PROBE:
        return [text] if text else []
    starts = (0, (len(text) - _PROBE) // 2, len(text) - _PROBE)
    return [text[start : start + _PROBE] for start in starts]


def unanswered_calls(prompts: Iterable[Prompt]) -> int:
    """How many calls stand in prompts without their answer right behind them, over all prompts.

    The wire format wants an answer to each call of an assistant's message before anybody speaks again.
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


def visible_tools(prompts: Iterable[Prompt], internal: Iterable[str]) -> int:
    """How often prompts offer, call or answer one of some tools, over all prompts."""
    names = frozenset(internal)
    return sum(sum(name in names for name in _named(prompt)) for prompt in prompts)


def called_before(prompts: Iterable[Prompt], tool: str) -> int:
    """How many calls of a tool stand in prompts, over all prompts."""
    return sum(
        call["function"]["name"] == tool
        for prompt in prompts
        for message in prompt.messages
        for call in message.get("tool_calls") or ()
    )


def _named(prompt: Prompt) -> Iterable[str]:
    for tool in prompt.tools:
        yield tool["function"]["name"]
    for message in prompt.messages:
        if message["role"] == "tool":
            yield str(message.get("name", ""))
        for call in message.get("tool_calls") or ():
            yield call["function"]["name"]
