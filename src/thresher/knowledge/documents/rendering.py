"""Writes what a model reads: passages, verbatim, under marks, and a table of what was left out.

    [manual.md, lines 210-233 | Section > Part]
    text ...
    [260-270 | Section > Other]
    text ...
    [left out: 95000 tokens; cursor 348109234]
    1-209 Introduction

A run of adjacent chunks stands under one mark; a heading path is named where it changes. Rows of a table whose header
lies elsewhere stand below a copy of that header.

Invariant: pure; the text never exceeds the budget, all counted, and each part of it is a stretch of the document,
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thresher.knowledge.documents import outline
from thresher.knowledge.documents.compression import Plan
from thresher.knowledge.documents.excerpts import excerpt
from thresher.knowledge.documents.layout import Layout
from thresher.knowledge.documents.models import Document, Part
from thresher.knowledge.documents.page import Content, Draft, Page
from thresher.search import query_terms

__all__ = ["Content", "render", "whole"]


def whole(document: Document, layout: Layout, text: str) -> Content:
    """The whole document, nothing added."""
    paths = layout.paths[int(layout.headings[0])] if len(layout) else ()
    part = Part(document.path, paths, 1, max(document.lines, 1), 0, len(text), document.tokens)
    return Content(text, document.tokens, (part,) if text else ())


def render(
    document: Document,
    layout: Layout,
    plan: Plan,
    texts: Mapping[int, str],
    budget: int,
    question: Sequence[str],
) -> Content:
    """Write an answer.

    Args:
        document: Whose chunks.
        layout: Its layout.
        plan: What to hold.
        texts: Texts of the chunks that `plan.reads` names.
        budget: Tokens at most.
        question: The words that make the question, for the cursor and for cutting a chunk that is too large.

    Returns:
        The answer; without text where not even the words about the rest fit.
    """
    page = Page(document, layout, plan.given, texts, question, budget // outline.SHARE if plan.table else 0, plan.large)
    if plan.large >= 0 and (part := _excerpt(page, plan.large, budget)) is not None:
        return page.finished(part)
    chosen = plan.chosen.tolist()
    answer = page.written(chosen)
    while answer.tokens > budget and chosen:
        # Whole chunks go, the least fitting first, as many as the excess asks for.
        excess = answer.tokens - budget
        while excess > 0 and chosen:
            excess -= int(layout.tokens[chosen.pop()])
        answer = page.written(chosen)
    for spare in plan.spares.tolist():
        if layout.tokens[spare] > budget - answer.tokens:
            continue
        more = page.written([*chosen, spare])
        if more.tokens <= budget:
            chosen, answer = [*chosen, spare], more
    content = page.finished(answer)
    return content if answer.tokens <= budget else Content("", 0, (), content.left_out, content.cursor)


def _excerpt(page: Page, chunk: int, budget: int) -> Draft | None:
    """An answer with the sentences of one chunk that fit; None where none does."""
    text, wanted = page.texts[chunk], query_terms(" ".join(page.question))
    room = budget - page.cut(chunk, 0, 0).tokens
    while room > 0 and (bounds := excerpt(text, page.layout.kind(chunk), wanted, room)) is not None:
        answer = page.cut(chunk, *bounds)
        if answer.tokens <= budget:
            return answer
        room -= answer.tokens - budget
    return None
