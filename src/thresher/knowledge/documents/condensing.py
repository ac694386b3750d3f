"""Has a model condense what was retrieved, where a caller asks for it and a model is at hand.

Invariant: whatever the model does or fails to do, the caller gets an answer, and is told which.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from thresher.core import ModelError, event
from thresher.embedding import count_tokens
from thresher.knowledge.documents.abstracting import Excerpt, abstract, extract_budget
from thresher.knowledge.documents.models import Retrieval
from thresher.knowledge.documents.question import Question
from thresher.llm import Chat

_logger = logging.getLogger("thresher.knowledge")

_NO_MODEL: Final = "Extractive: no model is configured (THRESHER_LLM_URL), and the client lends none."
_LEAST_ROOM: Final = 100
"""Tokens of passages below which a line about the way they were chosen is not worth its place."""

Extract: TypeAlias = Callable[[int], Awaitable[tuple[Retrieval, Sequence[Excerpt]]]]
"""Gives the extractive answer to the same question within another budget, and its passages."""


class Condenser:
    """Asks models.

    Args:
        chat: The configured model; it goes before a caller's own, since who runs this has chosen it.
        seconds: How long a model may take.
    """

    def __init__(self, chat: Chat | None, seconds: float) -> None:
        self._chat = chat
        self._seconds = seconds

    async def condensed(self, question: Question, answer: Retrieval, extract: Extract) -> tuple[Retrieval, str]:
        """A model's answer, or the extractive one and why it is that.

        Args:
            question: As it was asked.
            answer: The extractive answer.
            extract: Gives the model more to read.
        """
        chat = self._chat or question.chat
        if chat is None:
            return await _instead(question, answer, extract, _NO_MODEL)
        wide, excerpts = await extract(extract_budget(question.budget))
        try:
            told = question.query, question.context, question.budget
            return await abstract(chat, wide, excerpts, *told, self._seconds), ""
        except ModelError as error:
            event(_logger, "not condensed", level=logging.WARNING, model=chat.name, reason=error.code)
            return await _instead(question, answer, extract, f"Extractive: {error.message}")


async def _instead(question: Question, answer: Retrieval, extract: Extract, why: str) -> tuple[Retrieval, str]:
    """The extractive answer with a first line that says why it is one, where the budget has room for that."""
    room = question.budget - count_tokens(f"[{why}]\n")
    if room < _LEAST_ROOM:
        return answer, why
    shorter, _ = await extract(room)
    content = f"[{why}]\n{shorter.content}"
    tokens = count_tokens(content)
    if tokens > question.budget:
        return answer, why
    return replace(shorter, content=content, token_count=tokens), why
