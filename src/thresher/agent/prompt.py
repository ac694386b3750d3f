"""Assembles a prompt: constant parts first, parts of this turn last.

The beginning of a prompt - tools, system prompt, history - is that of the call before, so that services answer from
their cache; passages and rules are behind the last message and gone in the next turn.

Invariant: pure; text of others stands between borders that it cannot contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import HumanMessage, SystemMessage

from thresher.agent.exchange import PromptTokens
from thresher.agent.offers import READ_RESULT, SEARCH
from thresher.agent.prompts import fill_text
from thresher.agent.state import Messages, PlacedPassage, Searches, State
from thresher.agent.transcript import message_tokens, shown, this_turn
from thresher.agent.turn_context import TurnContext
from thresher.core import dumps, plain
from thresher.embedding import count_tokens
from thresher.llm import Function

ROUNDS: Final = 4
"""Most searches of documents in one turn."""


def functions_of(context: TurnContext, state: State) -> list[Function]:
    """Return the tools that the model is offered: Thresher's in their order, then the client's."""
    searches = state.get("searches") or Searches()
    # A search that found nothing, or ran often enough, is not offered again in this turn.
    closed = {SEARCH} if searches.barren or searches.rounds >= ROUNDS else set[str]()
    theirs = {function.name for function in context.call.functions}
    ours = [
        tool.function
        for tool in context.offers.known(state.get("offered", []))
        if tool.name not in closed and tool.function.name not in theirs
    ]
    reader = [READ_RESULT] if ours and READ_RESULT.name not in theirs else []
    return [*ours, *reader, *context.call.functions]


def prompt_of(context: TurnContext, state: State, searches: Searches, functions: Sequence[Function]) -> Messages:
    """Return the messages sent to the model."""
    history = shown(state["messages"], context.settings.history_tokens)
    theirs = [one for one in history if isinstance(one, SystemMessage)]
    system = [context.prompts["tools" if functions else "basic"].text]
    if functions and (around := state.get("around")):
        system.append(fill_text("{{AVAILABLE}}", {"AVAILABLE": around}))
    system += [text for text in (state.get("instruction", ""), *(str(one.text) for one in theirs)) if text]
    rest = [one for one in history if not isinstance(one, SystemMessage)]
    tail = [text for text in (state.get("rules", ""), _cited(context, searches)) if text]
    last = [HumanMessage("\n\n".join(tail))] if tail else []
    return [SystemMessage("\n\n".join(system)), *rest, *last]


def prompt_tokens(
    context: TurnContext, state: State, searches: Searches, functions: Sequence[Function], prompt: Messages
) -> PromptTokens:
    """Return what a prompt consists of.

    Args:
        context: The turn.
        state: Of which it was made.
        searches: Whose passages it has.
        functions: The tools beside it.
        prompt: As `prompt_of` made it.
    """
    tail = bool(state.get("rules")) or bool(searches.passages)
    said = prompt[1 : len(prompt) - tail]
    turn = sum(map(message_tokens, this_turn(said)))
    return PromptTokens(
        instructions=message_tokens(prompt[0]),
        tools=count_tokens(dumps(plain(functions))) if functions else 0,
        rules=count_tokens(state.get("rules", "")),
        passages=count_tokens(_cited(context, searches)),
        history=sum(map(message_tokens, said)) - turn,
        turn=turn,
        all_tools=state.get("all_tools", 0),
    )


def _cited(context: TurnContext, searches: Searches) -> str:
    if not searches.passages:
        return ""
    text = "\n\n".join(f"[{one.number}] {place_of(one)}\n{one.text.strip()}" for one in searches.passages)
    return fill_text(context.prompts["context"].text, {"CONTEXT": text})


def place_of(passage: PlacedPassage) -> str:
    """Return the location of a passage, for a model."""
    heading = f" | {' > '.join(passage.heading)}" if passage.heading else ""
    return f"{passage.repository}: {passage.path}, lines {passage.lines[0]}-{passage.lines[1]}{heading}"
