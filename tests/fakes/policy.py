"""A model that behaves sensibly and always in the same way: it makes the calls that a script names, then answers.

It knows nothing but its request: whether a call is still to be made it reads from the messages, as a model does. What
its script does not name it answers with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.fakes.chat_answers import Said, text_of
from thresher.evaluation import Script, ScriptedCall, ScriptedTurn

SEARCH = "search_documents"
READER = "read_result"
NOT_YET = "Not run yet."
"""What an answer begins with that holds rules, after which the call is to be made again."""
_BLOCK = re.compile(r"^(\[\w+\]) begin (\w+)\n(.*?)\n?^\1 end \2$", re.MULTILINE | re.DOTALL)
"""Other people's text in a prompt, with the name of what it is."""
_PASSAGE = re.compile(r"^\[(\d+)\] ?(.*)$", re.MULTILINE)
_CURSOR = re.compile(r"cursor (\d+\.\d+\.\d{6})")
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMON = frozenset(
    "that this with from what which when where have does about they their there will would should".split()  # noqa: SIM905 - a text is easier to read
)


class Policy:
    """The model.

    Args:
        scripts: What is said to it, and what it does then.
        keeps_all: Whether it takes every passage for relevant, not only those that share a word with the question.
    """

    def __init__(self, scripts: Iterable[Script], *, keeps_all: bool = False) -> None:
        self._keeps_all = keeps_all
        self._turns: dict[str, ScriptedTurn] = {}
        for turn in (turn for script in scripts for turn in script.turns):
            if self._turns.setdefault(turn.user.strip(), turn) != turn:
                raise ValueError(f"two turns say the same and want different things: {turn.user}")

    def __call__(self, body: Mapping[str, Any]) -> Said:
        """Answer a request."""
        messages: Sequence[Mapping[str, Any]] = body["messages"]
        if (inner := _inner(body, keeps_all=self._keeps_all)) is not None:
            return Said(inner)
        place = max((n for n, one in enumerate(messages) if self._said(one)), default=-1)
        if place < 0:
            return Said(f"You said: {' '.join(text_of(messages[-1]).split())[:80]}")
        turn, now = self._turns[text_of(messages[place]).strip()], messages[place + 1 :]
        offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
        if calls := _next(turn, now, offered):
            return Said(calls=tuple((call.tool, _arguments(call, turn, messages)) for call in calls))
        return Said(turn.says or _answer(turn, now))

    def _said(self, message: Mapping[str, Any]) -> bool:
        return message["role"] == "user" and text_of(message).strip() in self._turns


def _next(turn: ScriptedTurn, now: Sequence[Mapping[str, Any]], offered: Iterable[str]) -> list[ScriptedCall]:
    """The calls of the first step that is not done and can be."""
    answers = {str(one.get("tool_call_id")): text_of(one) for one in now if one["role"] == "tool"}
    made = [call for one in now for call in one.get("tool_calls") or ()]
    done = [one["function"]["name"] for one in made if not answers.get(one["id"], "").startswith(NOT_YET)]
    for step in turn.steps or ():
        missing: list[ScriptedCall] = []
        for call in step:
            if call.tool in done:
                done.remove(call.tool)
            elif call.tool in offered and not (call.tool == SEARCH and _passages(now)):
                missing.append(call)
        if missing:
            return missing
    return []


def _arguments(call: ScriptedCall, turn: ScriptedTurn, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if call.arguments is not None:
        return dict(call.arguments)
    if call.tool == SEARCH:
        return {"query": turn.user}
    if call.tool == READER:
        cursors = [cursor for one in messages for cursor in _CURSOR.findall(text_of(one))]
        return {"cursor": cursors[-1] if cursors else ""}
    return {}


def _passages(now: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The passages that stand behind the person's message: number and first line."""
    texts = [text_of(one) for one in now if one["role"] == "tool"]
    texts += [_blocks(text_of(one)).get("CONTEXT", "") for one in now if one["role"] == "user"]
    return [found for text in texts for found in _PASSAGE.findall(text)]


def _answer(turn: ScriptedTurn, now: Sequence[Mapping[str, Any]]) -> str:
    about = " ".join(turn.user.split())[:200]
    if passages := _passages(now):
        return f"As to '{about}': what was found says so, in {passages[0][1][:120]} and elsewhere [{passages[0][0]}]."
    told = [text_of(one) for one in now if one["role"] == "tool"]
    if told:
        return f"As to '{about}': {' '.join(told[-1].split())[:160]}"
    return f"As to '{about}': nothing that I have says more, so this is what I know of it."


def _inner(body: Mapping[str, Any], *, keeps_all: bool) -> str | None:
    """The answer to a question that the product asks for itself; None where this is none."""
    messages = body["messages"]
    if body.get("tools") or len(messages) > 1:
        return None
    match _blocks(text_of(messages[0])):
        case {"QUESTION": question, "PASSAGES": passages}:
            return "\n".join(_verdicts(question, passages, keeps_all=keeps_all))
        case {"TABLES": tables}:
            return "\n".join(line.partition(":")[0] for line in tables.splitlines()[:2])
        case {"HISTORY": _, "QUESTION": question}:
            return question.strip()
        case _:
            return None


def _blocks(text: str) -> dict[str, str]:
    return {name: inside for _, name, inside in _BLOCK.findall(text)}


def _verdicts(question: str, passages: str, *, keeps_all: bool) -> Iterable[str]:
    """Yes to each passage that has a word of the question, or to all."""
    parts = _PASSAGE.split(passages)
    wanted = _words(question)
    for number, first, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield f"{number}: {'yes' if keeps_all or wanted & _words(first + rest) else 'no'}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _COMMON
