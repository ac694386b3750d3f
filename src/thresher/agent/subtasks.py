"""Small questions that a conversation asks a model besides the answer.

A question that stands alone, which passages are relevant, which tables are needed. Neither the answering model nor a
client is offered these; each is one function over one prompt.

Invariant: if the model fails or its reply cannot be read, the result is the input: the question unchanged, all
passages, all tables.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from langchain_core.messages import HumanMessage

from thresher.agent.artifacts import within
from thresher.agent.prompts import fill_text
from thresher.agent.state import PlacedPassage
from thresher.agent.turn_context import TurnContext
from thresher.core import ThresherError, event
from thresher.embedding import count_tokens

logger = logging.getLogger("thresher.agent")

SECONDS: Final = 20.0
"""Time limit of each question, since the person waits."""
TURNS: Final = 3
"""Former turns given with a question."""
HISTORY_TOKENS: Final = 400
GRADED_TOKENS: Final = 900
"""Approximate tokens of all extracts of a grading: whole passages would cost as much as using them."""
EXTRACT_TOKENS: Final = (16, 80)
"""Least and most tokens of one section's extract."""
_LONGEST_QUESTION: Final = 1_000
_VERDICT: Final = re.compile(r"^\W*(\d{1,3})\W+(yes|no)\b", re.IGNORECASE | re.MULTILINE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"\w{3,}")


async def rephrase(context: TurnContext, question: str, former: Sequence[str]) -> str:
    """Return a question that can be understood without the conversation.

    Args:
        context: The turn.
        question: As asked.
        former: Earlier messages, oldest first.
    """
    if not former:
        return question
    history = within("\n".join(" ".join(one.split())[:600] for one in former), HISTORY_TOKENS)
    said = await _ask_model(context, "rephrase", {"HISTORY": history, "QUESTION": question})
    plain = " ".join(said.split()).strip('"')
    if not plain or len(plain) > _LONGEST_QUESTION:
        if said:
            context.account.note("The question was not rephrased: the model's words were none.")
        return question
    return plain


async def grade(context: TurnContext, question: str, passages: Sequence[PlacedPassage]) -> list[PlacedPassage]:
    """Those of some passages that the model takes for relevant; one that it says nothing of is kept.

    Passages under one heading of a document are asked about as one.
    """
    sections: defaultdict[tuple[str, ...], list[PlacedPassage]] = defaultdict(list)
    for one in passages:
        sections[one.repository, one.path, *one.heading].append(one)
    least, most = EXTRACT_TOKENS
    room = max(least, min(most, GRADED_TOKENS // max(1, len(sections))))
    texts = [f"[{number}] {extract(same, question, room)}" for number, same in enumerate(sections.values(), 1)]
    said = await _ask_model(context, "grade", {"QUESTION": question, "PASSAGES": "\n".join(texts)})
    verdicts = {int(number): word.lower() == "yes" for number, word in _VERDICT.findall(said)}
    if said and not verdicts:
        context.account.note("The passages were not graded: the model's words were no verdicts.")
    kept = {one.place for number, same in enumerate(sections.values(), 1) if verdicts.get(number, True) for one in same}
    return [one for one in passages if one.place in kept]


async def select_tables(context: TurnContext, question: str, tables: Mapping[str, str]) -> list[str]:
    """Return the tables that a question needs, most needed first; empty if the model names none.

    Args:
        context: The turn.
        question: The question for the database.
        tables: A description of each, by name.
    """
    listed = "\n".join(f"{name}: {about}" if about else name for name, about in tables.items())
    said = await _ask_model(context, "table_selection", {"QUESTION": question, "TABLES": listed})
    words = [line.strip(" -*`\"'.,:") for line in said.splitlines()]
    return [name for name in dict.fromkeys(words) if name in tables]


def extract(section: Sequence[PlacedPassage], question: str, tokens: int) -> str:
    """Return the graded part of a section: its last heading, and the sentences that share most with the question.

    Args:
        section: Its passages.
        question: As asked.
        tokens: Most tokens of the sentences; a longer best sentence is cut.
    """
    words = set(_WORD.findall(question.casefold()))
    sentences = [one.strip() for passage in section for one in _SENTENCE.split(passage.text) if one.strip()]
    shared = [len(words & set(_WORD.findall(one.casefold()))) for one in sentences]
    order = sorted(range(len(sentences)), key=lambda number: (-shared[number], number))
    chosen, room = dict[int, str](), tokens
    for number in order:
        text = sentences[number] if chosen else within(sentences[number], tokens)
        if (cost := count_tokens(text)) <= room:
            chosen[number] = text
            room -= cost
    heading = section[0].heading or (section[0].path,)
    return f"{heading[-1]}: {' '.join(chosen[number] for number in sorted(chosen))}"


async def _ask_model(context: TurnContext, prompt: str, values: Mapping[str, str]) -> str:
    """Return the model's answer to a prompt; a failure is noted and gives an empty answer."""
    if context.model is None:
        return ""
    text = fill_text(context.prompts[prompt].text, values)
    try:
        said = await context.model.complete([HumanMessage(text)], temperature=0.0, seconds=SECONDS)
    except ThresherError as error:
        name = prompt.replace("_", " ")
        event(logger, "step degraded", level=logging.WARNING, step=prompt, reason=str(error))
        context.account.note(f"The step '{name}' was left out: the model did not answer it.")
        return ""
    context.account.spent(said.usage)
    return said.text
