"""The standard pattern to compare with: one loop in which every tool's answer stays in the messages.

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
from thresher.evaluation.chat_figures import READER, SEARCH, SentPrompt
from thresher.llm import Completion, Function

ROUNDS: Final = 12
"""The most requests of one turn."""


@dataclass(frozen=True, slots=True)
class StandardPattern:
    """The tools, the model and the settings of the loop.

    Attributes:
        offers: The tools.
        model: The model.
        settings: Those of the conversation that it is compared with.
    """

    offers: Offers
    model: OpenModel
    settings: ChatSettings


async def run_standard(
    bench: StandardPattern, questions: Sequence[str], prompts: Sequence[SentPrompt], found: Sequence[Sequence[str]]
) -> tuple[list[SentPrompt], list[float]]:
    """Run the same conversation in the standard pattern.

    Args:
        bench: The tools, the model and the settings.
        questions: The user's messages.
        prompts: The prompts of the conversation that it is compared with.
        found: The passages in the prompts of each of its turns; a search shows these, if there are any.

    Returns:
        The prompts, and the milliseconds of each turn.

    Raises:
        ModelError: The model fails.
    """
    sent: list[SentPrompt] = []
    times: list[float] = []
    messages: list[dict[str, Any]] = []
    for turn, text in enumerate(questions):
        tools, system = setting_of([prompt for prompt in prompts if prompt.turn == turn])
        messages = [*system, *(one for one in messages if one["role"] != "system"), {"role": "user", "content": text}]
        started = time.perf_counter()
        for _ in range(ROUNDS):
            sent.append(SentPrompt(turn, tuple(messages), tools))
            answer = await bench.model.complete(messages, functions=[_function(tool) for tool in tools])
            messages.append(_message(answer))
            if not answer.calls:
                break
            for call in answer.calls:
                result = await _called(bench, call.name, call.arguments, found[turn])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        times.append((time.perf_counter() - started) * 1000)
    return sent, times


def setting_of(prompts: Sequence[SentPrompt]) -> tuple[tuple[Mapping[str, Any], ...], list[dict[str, Any]]]:
    """The tools and the system prompt of a turn, from its first request with a system prompt."""
    first = next((one for one in prompts if any(message["role"] == "system" for message in one.messages)), None)
    if first is None:
        return (), []
    tools = tuple(tool for tool in first.tools if tool["function"]["name"] != READER)
    return tools, [dict(message) for message in first.messages if message["role"] == "system"]


def shown_passages(data: Mapping[str, Any], room: int, among: Collection[str] = ()) -> str:
    """The passages of a search as a model reads them, within a number of tokens; of `among` only, if given."""
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


async def _called(bench: StandardPattern, name: str, arguments: str, found: Sequence[str]) -> str:
    tool = bench.offers.get(name)
    if tool is None or not tool.reads:
        return "Declined: not run."
    try:
        given = cast("dict[str, Any]", json.loads(arguments or "{}"))
    except (ValueError, RecursionError):
        return "The arguments are not a JSON object."
    if tool.name == SEARCH:
        given = {**given, "limit": bench.settings.top_k}
    outcome = await bench.offers.call(tool.name, given, bench.settings.tool_seconds)
    if outcome.rules:
        outcome = await bench.offers.call(tool.name, given, bench.settings.tool_seconds)
    if tool.name == SEARCH and not outcome.failed:
        return shown_passages(outcome.data, bench.settings.document_tokens, found)
    return outcome.text


def _message(answer: Completion) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    return message


def _function(tool: Mapping[str, Any]) -> Function:
    about = tool["function"]
    return Function(about["name"], about.get("description", ""), about.get("parameters", {}))
