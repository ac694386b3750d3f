"""Answers from documents: passages that answer a question, and a document's lines.

Invariant: texts are verbatim; a cut is marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from thresher.agent.assistant.inquiry import Findings, Inquiry, Item, nonempty, record_of, rows_of, texts_of
from thresher.agent.assistant.records import AssistantCall, ResultSubject
from thresher.agent.assistant.toolbox import ToolAnswer, Toolbox
from thresher.core import shortened

SEARCH: Final = "search_documents"
READ: Final = "read_document"
PASSAGES: Final = 5
TEXT_CHARACTERS: Final = 600
READ_BUDGET: Final = 2_000


async def find_passages(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Find passages in all repositories; if the question continues about one, its passages first."""
    arguments = {"query": inquiry.text, "limit": PASSAGES}
    if inquiry.asked.kind == "documents" and inquiry.asked.sources:
        found = found_passages(
            await box.call(AssistantCall(SEARCH, {**arguments, "repository": inquiry.asked.sources[0]}))
        )
        if found.results:
            return found
    return found_passages(await box.call(AssistantCall(SEARCH, arguments)))


async def keep(_box: Toolbox, _inquiry: Inquiry, found: Findings) -> Findings:
    """Return the passages unchanged: they are the answer."""
    return found


def found_passages(outcome: ToolAnswer) -> Findings:
    """Return the answer of `search_documents`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    items = [_passage(row) for row in rows_of(data, "passages")]
    cursor, degraded = data.get("cursor"), data.get("degraded")
    return Findings(
        results=tuple(items),
        total=len(items),
        relevance=float(data.get("relevance") or 0.0) if items else 0.0,
        notes=(f"limited search of documents: {degraded}",) if degraded else (),
        more=replace(outcome.call, arguments={**outcome.call.arguments, "cursor": cursor}) if cursor else None,
        subjects=tuple(map(_subject, items)),
        named=any(str(row.get("why")).startswith("named") for row in rows_of(data, "repositories")),
        sources=tuple(dict.fromkeys(str(item["repository"]) for item in items)),
    )


def read(outcome: ToolAnswer) -> Findings:
    """Return the answer of `read_document`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    about = outcome.call.arguments
    item = {"kind": "page", "tool": READ, **about, "text": str(outcome.data.get("content") or "")}
    subject = ResultSubject("passage", f"{about.get('path')} ({about.get('repository')})", outcome.call)
    return Findings((item,), 1, 1.0, subjects=(subject,), sources=(str(about.get("repository")),))


def _passage(row: Mapping[str, Any]) -> Item:
    part = record_of(row, "part")
    text = str(row.get("text") or "").strip()
    place = {"repository": row.get("repository"), "path": part.get("path")}
    lines = f"{part.get('first_line')}-{part.get('last_line')}"
    return {
        "kind": "passage",
        "tool": SEARCH,
        **nonempty({"title": row.get("title"), **place, "heading": list(texts_of(part, "heading_path"))}),
        "lines": lines,
        "text": shortened(text, TEXT_CHARACTERS),
        "next": {"tool": READ, "arguments": {**place, "lines": lines}},
    }


def _subject(item: Mapping[str, Any]) -> ResultSubject:
    call = AssistantCall(READ, {**item["next"]["arguments"], "budget": READ_BUDGET})
    return ResultSubject("passage", f"{item.get('path')} ({item.get('repository')})", call)
