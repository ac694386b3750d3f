"""Documents for tests of compression and rendering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import compression, rendering
from thresher.knowledge.documents.answers.rendering import RenderedAnswer
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.layout import DocumentLayout, layout_of
from thresher.knowledge.documents.models import Chunk, Chunked, Document
from thresher.knowledge.documents.reading import parse
from thresher.search import Bools, Floats


class Text:
    """A document with its text and layout, ready for questions.

    Args:
        text: Its text.
        chunked: Its chunks; by default those of the product.
    """

    def __init__(self, text: str, chunked: Chunked | None = None) -> None:
        self.text = text
        self.layout: DocumentLayout = layout_of(chunked or chunk(parse("guide.md", text.encode())), text)
        self.document = Document(
            7, 1, "guide.md", "Guide", "markdown", "", count_tokens(text), text.count("\n") + 1, len(self.layout)
        )

    def chunk_text(self, ordinal: int) -> str:
        """The text of a chunk."""
        return self.text[int(self.layout.starts[ordinal]) : int(self.layout.ends[ordinal])]

    def holding(self, words: str) -> int:
        """The chunk that contains some words."""
        return next(place for place in range(len(self.layout)) if words in self.chunk_text(place))

    def answer(self, scores: Sequence[float] | Floats, budget: int, delivered: Bools | None = None) -> RenderedAnswer:
        """The product's answer with these scores."""
        plan = compression.plan(self.layout, np.array(scores, np.float32), budget, delivered, self.document.path)
        texts = {ordinal: self.chunk_text(ordinal) for ordinal in plan.reads(self.layout)}
        return rendering.render(self.document, self.layout, plan, texts, budget, QUESTION)

    def favouring(self, *words: str) -> Floats:
        """Scores with which the chunks that contain these words come first, in this order."""
        scores = np.zeros(len(self.layout), np.float32)
        for place, one in enumerate(words):
            scores[self.holding(one)] = 10.0 - place
        return scores


QUESTION = ("guide", "When does the pump start?", "hybrid")


def cut_every(text: str, length: int, headings: Sequence[int] = ()) -> Chunked:
    """A text in chunks of a fixed number of characters, the n-th under the heading of that number."""
    chunks: list[Chunk] = []
    for place, start in enumerate(range(0, len(text), length)):
        end = min(start + length, len(text))
        first = text.count("\n", 0, start) + 1
        last = first + text[start:end].rstrip("\n").count("\n")
        heading = headings[place] if place < len(headings) else 0
        chunks.append(Chunk(start, end, first, last, count_tokens(text[start:end]), "paragraph", heading))
    paths: list[tuple[str, ...]] = [(), *((f"Part {number}",) for number in range(1, max(headings, default=0) + 1))]
    return Chunked(tuple(chunks), tuple(paths))


def sections(count: int, sentences: int = 12) -> str:
    """A Markdown text with numbered sections, each with a fact of its own."""
    parts = [
        f"## Section {number}\n\nFact {number} is the only one of its kind. "
        + " ".join(f"Sentence {number}.{line} says nothing that anybody would ask for." for line in range(sentences))
        for number in range(1, count + 1)
    ]
    return "# Guide\n\n" + "\n\n".join(parts) + "\n"
