"""The standard pattern, to compare with: one loop, every tool's answer stays in the messages.

It has the tools, the system prompt, the model and the passages of the conversation that it is compared with.

Invariant: a tool that may write is not called.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from thresher.agent import ChatSettings, Offers, OpenModel
from thresher.embedding import count_tokens
from thresher.evaluation.chat_counting import Prompt
from thresher.evaluation.chat_figures import READER, SEARCH
from thresher.llm import Completion, Function

ROUNDS: Final = 12
"""Requests of one turn, at most."""


@dataclass(frozen=True, slots=True)
class Standard:
    """What the loop works with.

    Attributes:
        offers: Calls tools.
        model: Answers.
        settings: As in the conversation that it is compared with.
    """

    offers: Offers
    model: OpenModel
    settings: ChatSettings


async def run_standard(
    bench: Standard, said: Sequence[str], prompts: Sequence[Prompt], found: Sequence[Sequence[str]]
) -> tuple[list[Prompt], list[float]]:
    """Have the same conversation in the standard pattern.

    Args:
        bench: What it works with.
        said: The person's messages.
        prompts: Of the conversation that it is compared with.
        found: The passages that each of its turns has placed; a search here shows these, where there were any.

    Returns:
        Its prompts, and the milliseconds of its turns.

    Raises:
        ModelError: The model fails.
    """
    sent: list[Prompt] = []
    times: list[float] = []
    messages: list[dict[str, Any]] = []
    for turn, text in enumerate(said):
        tools, system = setting_of([prompt for prompt in prompts if prompt.turn == turn])
        messages = [*system, *(one for one in messages if one["role"] != "system"), {"role": "user", "content": text}]
        started = time.perf_counter()
        for _ in range(ROUNDS):
            sent.append(Prompt(turn, tuple(messages), tools))
            answer = await bench.model.complete(messages, functions=[_function(tool) for tool in tools])
            messages.append(_message(answer))
            if not answer.calls:
                break
            for call in answer.calls:
                told = await _called(bench, call.name, call.arguments, found[turn])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
        times.append((time.perf_counter() - started) * 1000)
    return sent, times


def setting_of(prompts: Sequence[Prompt]) -> tuple[tuple[Mapping[str, Any], ...], list[dict[str, Any]]]:
    """The tools and the system prompt of a turn, from the first request in which the model could answer the person."""
    first = next((one for one in prompts if any(message["role"] == "system" for message in one.messages)), None)
    if first is None:
        return (), []
    tools = tuple(tool for tool in first.tools if tool["function"]["name"] != READER)
    return tools, [dict(message) for message in first.messages if message["role"] == "system"]


def shown_passages(data: Mapping[str, Any], room: int, among: Collection[str] = ()) -> str:
    """The passages of a search as a model is shown them, within so many tokens; if any are named, of these alone."""
    parts: list[str] = []
    for one in data.get("passages", ()):
        text, part = str(one["text"]).strip(), one["part"]
        if (cost := count_tokens(text)) > room or (among and one["text"] not in among):
            continue
        room -= cost
        heading = f" | {' > '.join(part['heading_path'])}" if part["heading_path"] else ""
        lines = f"lines {part['first_line']}-{part['last_line']}"
        parts.append(f"[{len(parts) + 1}] {one['repository']}: {part['path']}, {lines}{heading}\n{text}")
    return "\n\n".join(parts) or "Nothing fits."


async def _called(bench: Standard, name: str, arguments: str, found: Sequence[str]) -> str:
    tool = bench.offers.get(name)
    if tool is None or not tool.reads:
        return "Declined: not run."
    try:
        given = cast("dict[str, Any]", json.loads(arguments or "{}"))
    except (ValueError, RecursionError):
        return "The arguments are no JSON object."
    if tool.name == SEARCH:
        given = {**given, "limit": bench.settings.top_k}
    outcome = await bench.offers.call(tool.name, given, bench.settings.tool_seconds)
    if outcome.rules:
        outcome = await bench.offers.call(tool.name, given, bench.settings.tool_seconds)
    if tool.name == SEARCH and not outcome.failed:
        return shown_passages(outcome.data, bench.settings.document_tokens, found)
    return outcome.text


def _message(answer: Completion) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    return said


def _function(tool: Mapping[str, Any]) -> Function:
    about = tool["function"]
    return Function(about["name"], about.get("description", ""), about.get("parameters", {}))
