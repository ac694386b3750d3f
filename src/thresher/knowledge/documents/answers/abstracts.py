"""Answers written by a model, under the same contract as answers made of the document's own text.

    [manual.md, condensed by a model. [n]: word for word in passage n; [~n]: the model's words | 1: lines 210-233 Setup]
    The option is off by default. [1] Switch it on before the first run. [~1]
    [left out: 95000 tokens; cursor 12.348109234.207361]

The model reads more of the document than fits into the budget, as numbered passages. Its answer is cut into sentences;
each is looked up in the passages, and a sentence that is not there word for word is marked. If the model fails, the
caller gets the extractive answer and the reason.

Invariant: an answer never exceeds the budget, marks included, and is cut between sentences; each sentence names its
source or is marked as unsupported. The document's text is data for the model, and the model's text is data for us.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from thresher.core import ModelError, border_of, event
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers.fidelity import ModelSentence, SourceTexts
from thresher.knowledge.documents.instructions import fill_template
from thresher.knowledge.documents.layout import DocumentLayout, path_label
from thresher.knowledge.documents.models import DocumentPart, Retrieval
from thresher.knowledge.documents.question import DocumentQuestion
from thresher.llm import Chat, ChatRequest, Completion, Message

logger = logging.getLogger("thresher.knowledge.documents")

TEMPERATURE: Final = 0.1
EXTRACT_TIMES: Final = 4
"""Size of the passages that the model reads, as a multiple of the answer's budget."""
LARGEST_EXTRACT: Final = 24_000
"""Most tokens of passages that the model reads: more would take too long."""
EXCERPT_TOKENS: Final = 400
"""Most tokens of a passage that the model can cite."""
_WORDS_A_TOKEN: Final = 0.6
"""English has about 0.75; the rest is for marks and the head line, so that little has to be cut."""
_NOTHING: Final = "NOTHING"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a document with its text."""

    part: DocumentPart
    text: str


@dataclass(frozen=True, slots=True)
class Abstract:
    """A model's answer, checked.

    Attributes:
        text: The answer as the reader sees it.
        tokens: Exact size of the text; never above the budget.
        parts: The passages that it rests on, in document order.
        sentences: Number of sentences.
        unsupported: Number of sentences that are in no passage; each is marked.
    """

    text: str
    tokens: int
    parts: tuple[DocumentPart, ...]
    sentences: int
    unsupported: int


def extract_budget(budget: int) -> int:
    """Tokens of passages that a model reads for an answer of `budget` tokens; at least `budget`."""
    return max(budget, min(EXTRACT_TIMES * budget, LARGEST_EXTRACT))


def excerpts_of(parts: Sequence[DocumentPart], layout: DocumentLayout, texts: Mapping[int, str]) -> tuple[Excerpt, ...]:
    """The passages of an answer with their texts; long ones are split, so that each source names few lines.

    Args:
        parts: The parts of a `RenderedAnswer`.
        layout: Layout of the document.
        texts: Texts of the chunks that `chunks_of` names, by ordinal.
    """
    return tuple(excerpt for part in parts for excerpt in _excerpts(part, layout, texts))


def chunks_of(parts: Sequence[DocumentPart], layout: DocumentLayout) -> list[int]:
    """Ordinals of the chunks that contain some parts."""
    return sorted({place for part in parts for place in _range(part, layout)})


def _range(part: DocumentPart, layout: DocumentLayout) -> range:
    """Ordinals of the chunks of a part."""
    first, last = np.searchsorted(layout.starts, [part.start, max(part.end - 1, part.start)], "right").tolist()
    return range(first - 1, last)


def _excerpts(part: DocumentPart, layout: DocumentLayout, texts: Mapping[int, str]) -> Iterator[Excerpt]:
    places = _range(part, layout)
    offset = int(layout.starts[places.start])
    whole = "".join(texts[place] for place in places)
    starts = [part.start, *_cuts(places, layout), part.end]
    line = part.first_line
    for start, end in pairwise(starts):
        stretch = whole[start - offset : end - offset]
        blank = len(stretch) - len(stretch.lstrip("\n"))
        text = stretch.strip("\n")
        path = layout.paths[int(layout.headings[_range(replace(part, start=start + blank, end=end), layout).start])]
        first = line + blank
        line += stretch.count("\n")
        if text:
            span = start + blank, start + blank + len(text)
            yield Excerpt(
                DocumentPart(part.path, path, first, first + text.count("\n"), *span, count_tokens(text)), text
            )


def _cuts(places: range, layout: DocumentLayout) -> list[int]:
    """Characters at which a stretch of chunks is cut: at a new heading, or when `EXCERPT_TOKENS` are reached."""
    cuts: list[int] = []
    tokens = 0
    for place in places:
        tokens += int(layout.tokens[place])
        new = place > places.start and layout.headings[place] != layout.headings[place - 1]
        if place > places.start and (new or tokens > EXCERPT_TOKENS):
            cuts.append(int(layout.starts[place]))
            tokens = int(layout.tokens[place])
    return cuts


async def abstract(
    chat: Chat, extract: Retrieval, excerpts: Sequence[Excerpt], query: str, context: str, budget: int, seconds: float
) -> Retrieval:
    """Have a model answer from passages.

    Args:
        chat: The model.
        extract: The extractive answer with these passages, `extract_budget(budget)` tokens long.
        excerpts: Its passages.
        query: The question.
        context: What the conversation is about; empty for none.
        budget: Most tokens of the answer.
        seconds: Time limit for the model.

    Returns:
        The extract with the model's text in place of its own.

    Raises:
        ModelError: The model fails, takes too long, finds nothing, or writes nothing that fits.
    """
    answer = await chat.complete(request(excerpts, query, context, budget), seconds=seconds)
    made = await asyncio.to_thread(checked, answer, extract, excerpts, budget)
    counts = {"sentences": made.sentences, "unsupported": made.unsupported, "tokens": made.tokens}
    event(logger, "abstract", model=chat.name, counts=counts)
    return replace(
        extract,
        content=made.text,
        sources=made.parts,
        token_count=made.tokens,
        was_compressed=True,
        mode="abstractive",
        unsupported=made.unsupported,
    )


def request(excerpts: Sequence[Excerpt], query: str, context: str, budget: int) -> ChatRequest:
    """The request to the model."""
    border = border_of([query, context, *(text for one in excerpts for text in (one.text, one.part.path))])
    instruction = fill_template("abstract", border=border, words=max(int(budget * _WORDS_A_TOKEN), 1))
    lines: list[str] = []
    for number, one in enumerate(excerpts, 1):
        lines += [f"{border} passage {number}: {_place(one.part)}", one.text]
    lines += [f"{border} end of the passages", f"Question: {query}"]
    if context:
        lines.append(f"What the conversation is about: {context}")
    return ChatRequest((Message("system", instruction), Message("user", "\n".join(lines))), TEMPERATURE, budget)


def checked(answer: Completion, extract: Retrieval, excerpts: Sequence[Excerpt], budget: int) -> Abstract:
    """Check a model's answer: mark its sentences and cut it to the budget.

    Raises:
        ModelError: Nothing usable is left.
    """
    if answer.text.strip(" .*`") == _NOTHING:
        raise ModelError("The model found nothing in the passages that answers the question.")
    # Headings above a passage are the document's own words too.
    units = SourceTexts(["\n\n".join([*one.part.heading_path, one.text]) for one in excerpts]).units(answer.text)
    if answer.finish == "length":
        units = units[:-1]  # the last sentence is incomplete
    page = _AbstractWriter(extract, excerpts)
    low, high = 0, len(units)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(page.written(units[:middle])) <= budget else (low, middle - 1)
    while low and not units[low - 1].meaningful:
        low -= 1
    kept = units[:low]
    if not any(unit.meaningful for unit in kept):
        raise ModelError("The model's answer does not fit into the budget.")
    text = page.written(kept)
    sentences = [unit for unit in kept if unit.meaningful]
    unnamed = any(unit.unsupported and not unit.cited for unit in sentences)
    parts = tuple(one.part for number, one in enumerate(excerpts, 1) if unnamed or number in _named(kept))
    return Abstract(text, count_tokens(text), parts, len(sentences), sum(unit.unsupported for unit in sentences))


@dataclass(frozen=True, slots=True)
class _AbstractWriter:
    """Writes an answer from a model's sentences."""

    extract: Retrieval
    excerpts: Sequence[Excerpt]

    def written(self, units: Sequence[ModelSentence]) -> str:
        head = (
            f"{self.extract.document}, condensed by a model. [n]: word for word in passage n; [~n]: the model's words"
        )
        legend = [f"{number}: {_place(self.excerpts[number - 1].part)}" for number in _named(units)]
        lines = [f"[{' | '.join([head, *legend])}]", "".join(_marked(units)).lstrip()]
        if self.extract.cursor:
            tokens = sum(entry.tokens for entry in self.extract.left_out)
            lines.append(f"[left out: {tokens} tokens; cursor {self.extract.cursor}]")
        return "\n".join(lines)


def _marked(units: Sequence[ModelSentence]) -> list[str]:
    """The sentences with their marks; neighbours of one paragraph with the same source share one mark."""
    written: list[str] = []
    for unit, following in zip(units, [*units[1:], None], strict=True):
        written += [unit.lead, unit.text]
        alike = following is not None and following.lead.count("\n") < 2 and following.source == unit.source > 0
        if unit.meaningful and not alike:
            mark = str(unit.source) if unit.source else f"~{','.join(map(str, unit.cited))}"
            gap = "\n" if "\n" in unit.text else " "
            written.append(f"{gap}[{mark}]")
    return written


def _named(units: Sequence[ModelSentence]) -> list[int]:
    """Numbers of the passages that sentences are in, or cite."""
    sentences = [unit for unit in units if unit.meaningful]
    return sorted({number for unit in sentences for number in ((unit.source,) if unit.source else unit.cited)})


def _place(part: DocumentPart) -> str:
    return f"lines {part.first_line}-{part.last_line} {path_label(part.heading_path)}".rstrip()


_logger = logging.getLogger("thresher.knowledge")

_NO_MODEL: Final = "Extractive: no model is configured (THRESHER_LLM_URL), and the client offers none."
_LEAST_ROOM: Final = 100
"""If less room than this is left for passages, the note on how the answer was made is omitted."""

Extract: TypeAlias = Callable[[int], Awaitable[tuple[Retrieval, Sequence[Excerpt]]]]
"""Returns the extractive answer to the same question within another budget, and its passages."""


class Condenser:
    """Has a model condense an extractive answer.

    Args:
        chat: The configured model; the operator chose it, so it takes precedence over the caller's own.
        seconds: Time limit for a model.
    """

    def __init__(self, chat: Chat | None, seconds: float) -> None:
        self._chat = chat
        self._seconds = seconds

    async def condensed(self, question: DocumentQuestion, answer: Retrieval, extract: Extract) -> tuple[Retrieval, str]:
        """Return a model's answer, or the extractive one with the reason for it.

        Args:
            question: The question.
            answer: The extractive answer.
            extract: Extracts more text for the model to read.
        """
        chat = self._chat or question.chat
        if chat is None:
            return await _extractive(question, answer, extract, _NO_MODEL)
        wide, excerpts = await extract(extract_budget(question.budget))
        try:
            arguments = question.query, question.context, question.budget
            return await abstract(chat, wide, excerpts, *arguments, self._seconds), ""
        except ModelError as error:
            event(_logger, "not condensed", level=logging.WARNING, model=chat.name, reason=error.code)
            return await _extractive(question, answer, extract, f"Extractive: {error.message}")


async def _extractive(
    question: DocumentQuestion, answer: Retrieval, extract: Extract, why: str
) -> tuple[Retrieval, str]:
    """The extractive answer with a first line that explains why, if the budget has room for it."""
    room = question.budget - count_tokens(f"[{why}]\n")
    if room < _LEAST_ROOM:
        return answer, why
    shorter, _ = await extract(room)
    content = f"[{why}]\n{shorter.content}"
    tokens = count_tokens(content)
    if tokens > question.budget:
        return answer, why
    return replace(shorter, content=content, token_count=tokens), why
