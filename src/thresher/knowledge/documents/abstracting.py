"""Answers in a model's words, under the contract of those in the document's own.

    [manual.md, condensed by a model. [n]: word for word in passage n; [~n]: the model's words | 1: lines 210-233 Setup]
    The option is off by default. [1] Switch it on before the first run. [~1]
    [left out: 95000 tokens; cursor 348109234]

The model is given more of the document than would fit into the budget, as passages with numbers. What it writes is cut
into sentences; each is looked up in the passages, and what does not stand there word for word is marked.

Invariant: an answer never exceeds the budget, all counted, and is cut between sentences; each sentence says where it
comes from or that nobody knows; the document's text is data for the model, and the model's text is data for us.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from thresher.core import ModelError, border_of, event
from thresher.embedding import count_tokens
from thresher.knowledge.documents.fidelity import Sources, Unit
from thresher.knowledge.documents.instructions import filled
from thresher.knowledge.documents.layout import Layout, written_path
from thresher.knowledge.documents.models import Part, Retrieval
from thresher.llm import Chat, ChatRequest, Completion, Message

logger = logging.getLogger("thresher.knowledge.documents")

TEMPERATURE: Final = 0.1
EXTRACT_TIMES: Final = 4
"""The model reads so many times what it may write."""
LARGEST_EXTRACT: Final = 24_000
"""Tokens that it reads at most: more takes longer than anybody waits."""
EXCERPT_TOKENS: Final = 400
"""Of a passage that the model can name."""
_WORDS_A_TOKEN: Final = 0.6
"""English has .75; the rest is for marks and the head line, so that little has to be cut."""
_NOTHING: Final = "NOTHING"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a document with its text."""

    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class Abstract:
    """What a model made of passages.

    Attributes:
        text: What is given to the reader.
        tokens: Of it, exactly; never above the budget.
        parts: The passages that it rests on, in document order.
        sentences: How many it has.
        unsupported: Those that stand in no passage; each is marked.
    """

    text: str
    tokens: int
    parts: tuple[Part, ...]
    sentences: int
    unsupported: int


def extract_budget(budget: int) -> int:
    """Tokens of the passages that a model is given for an answer of `budget` tokens; never less than those."""
    return max(budget, min(EXTRACT_TIMES * budget, LARGEST_EXTRACT))


def excerpts_of(parts: Sequence[Part], layout: Layout, texts: Mapping[int, str]) -> tuple[Excerpt, ...]:
    """The passages of an answer with their texts; long ones in several, so that a source names few lines.

    Args:
        parts: As `rendering.Content` has them.
        layout: Of the document.
        texts: Texts of the chunks that `chunks_of` names, by ordinal.
    """
    return tuple(excerpt for part in parts for excerpt in _excerpts(part, layout, texts))


def chunks_of(parts: Sequence[Part], layout: Layout) -> list[int]:
    """Ordinals of the chunks that some parts lie in."""
    return sorted({place for part in parts for place in _range(part, layout)})


def _range(part: Part, layout: Layout) -> range:
    """Where a part's first chunk is, and the end of its last."""
    first, last = np.searchsorted(layout.starts, [part.start, max(part.end - 1, part.start)], "right").tolist()
    return range(first - 1, last)


def _excerpts(part: Part, layout: Layout, texts: Mapping[int, str]) -> Iterator[Excerpt]:
    places = _range(part, layout)
    offset = int(layout.starts[places.start])
    whole = "".join(texts[place] for place in places)
    starts = [part.start, *_cuts(places, layout), part.end]
    line = part.first_line
    for start, end in pairwise(starts):
        text = whole[start - offset : end - offset]
        blank = len(text) - len(text.lstrip("\n"))
        said = text.strip("\n")
        path = layout.paths[int(layout.headings[_range(replace(part, start=start + blank, end=end), layout).start])]
        first = line + blank
        line += text.count("\n")
        if said:
            span = start + blank, start + blank + len(said)
            yield Excerpt(Part(part.path, path, first, first + said.count("\n"), *span, count_tokens(said)), said)


def _cuts(places: range, layout: Layout) -> list[int]:
    """Characters at which a stretch of chunks is cut: under a new heading, or where enough has come together."""
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
        extract: The answer that these passages make, `extract_budget(budget)` tokens long.
        excerpts: Its passages.
        query: The question.
        context: Words on what the conversation is about; empty for none.
        budget: Tokens of the answer at most.
        seconds: How long the model may take.

    Returns:
        The extract with the model's text in place of its own.

    Raises:
        ModelError: The model fails, takes too long, finds nothing, or says nothing that fits.
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
    """What the model is asked."""
    border = border_of([query, context, *(text for one in excerpts for text in (one.text, one.part.path))])
    told = filled("abstract", border=border, words=max(int(budget * _WORDS_A_TOKEN), 1))
    lines: list[str] = []
    for number, one in enumerate(excerpts, 1):
        lines += [f"{border} passage {number}: {_place(one.part)}", one.text]
    lines += [f"{border} end of the passages", f"Question: {query}"]
    if context:
        lines.append(f"What the conversation is about: {context}")
    return ChatRequest((Message("system", told), Message("user", "\n".join(lines))), TEMPERATURE, budget)


def checked(answer: Completion, extract: Retrieval, excerpts: Sequence[Excerpt], budget: int) -> Abstract:
    """What of a model's answer is given on, marked and inside the budget.

    Raises:
        ModelError: Nothing is.
    """
    if answer.text.strip(" .*`") == _NOTHING:
        raise ModelError("The model found nothing in the passages that answers the question.")
    # Headings above a passage are the document's own words too.
    units = Sources(["\n\n".join([*one.part.heading_path, one.text]) for one in excerpts]).units(answer.text)
    if answer.finish == "length":
        units = units[:-1]  # it ends in the middle
    page = _Page(extract, excerpts)
    low, high = 0, len(units)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(page.written(units[:middle])) <= budget else (low, middle - 1)
    while low and not units[low - 1].says:
        low -= 1
    kept = units[:low]
    if not any(unit.says for unit in kept):
        raise ModelError("The model's answer does not fit into the budget.")
    text = page.written(kept)
    said = [unit for unit in kept if unit.says]
    unnamed = any(unit.unsupported and not unit.cited for unit in said)
    parts = tuple(one.part for number, one in enumerate(excerpts, 1) if unnamed or number in _named(kept))
    return Abstract(text, count_tokens(text), parts, len(said), sum(unit.unsupported for unit in said))


@dataclass(frozen=True, slots=True)
class _Page:
    """All that an answer is written from."""

    extract: Retrieval
    excerpts: Sequence[Excerpt]

    def written(self, units: Sequence[Unit]) -> str:
        head = (
            f"{self.extract.document}, condensed by a model. [n]: word for word in passage n; [~n]: the model's words"
        )
        legend = [f"{number}: {_place(self.excerpts[number - 1].part)}" for number in _named(units)]
        lines = [f"[{' | '.join([head, *legend])}]", "".join(_marked(units)).lstrip()]
        if self.extract.cursor:
            tokens = sum(entry.tokens for entry in self.extract.left_out)
            lines.append(f"[left out: {tokens} tokens; cursor {self.extract.cursor}]")
        return "\n".join(lines)


def _marked(units: Sequence[Unit]) -> list[str]:
    """The sentences with their marks; one mark serves neighbours of one paragraph that stand in the same passage."""
    written: list[str] = []
    for unit, following in zip(units, [*units[1:], None], strict=True):
        written += [unit.lead, unit.text]
        alike = following is not None and following.lead.count("\n") < 2 and following.source == unit.source > 0
        if unit.says and not alike:
            written.append(f"{_gap(unit)}[{_mark(unit)}]")
    return written


def _mark(unit: Unit) -> str:
    return str(unit.source) if unit.source else f"~{','.join(map(str, unit.cited))}"


def _gap(unit: Unit) -> str:
    return "\n" if "\n" in unit.text else " "


def _named(units: Sequence[Unit]) -> list[int]:
    """Numbers of the passages that sentences stand in, or say that they come from."""
    said = [unit for unit in units if unit.says]
    return sorted({number for unit in said for number in ((unit.source,) if unit.source else unit.cited)})


def _place(part: Part) -> str:
    return f"lines {part.first_line}-{part.last_line} {written_path(part.heading_path)}".rstrip()
