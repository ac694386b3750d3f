"""Passages of documents that fit a message.

Invariant: where the caller sees no repository nothing is embedded, searched or said; documents that cannot be searched
now, or not in time, are missing from an answer and never make it fail.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from thresher.context.records import Note
from thresher.context.sources import Gathered, Inquiry, piece_of
from thresher.core import Piece, ThresherError, one_line, shortened
from thresher.knowledge.documents import DocumentService, Passage

PASSAGES = "passages"
MOST = 12
"""About 1,500 tokens; `retrieve_document` gives more of one document."""
SECONDS = 2.0
"""How long an answer waits for passages: a repository whose first document is still being read would hold it up."""
QUERY_CHARACTERS = 2_000
"""Of a message: where somebody pastes a log, the question stands before it."""
_BEST = 0.5
"""Value of the best passage: that the message needs it is as likely as not, for nobody has asked for documents."""
_HALVED = 4.0
"""Points of the ranking that halve the value: about what a seventh of a cosine gives."""
_FURTHEST = 8.0
"""Points behind the best passage at which another is not worth its tokens."""
_PLACE = 600
_HEADING = "passages of documents, word for word (more: retrieve_document, read_document)"


class DocumentSource:
    """Passages of all repositories that the caller sees."""

    kind = PASSAGES

    def __init__(self, documents: DocumentService) -> None:
        self._documents = documents

    async def gather(self, inquiry: Inquiry) -> Gathered:
        """See `Source.gather`."""
        query = shortened(inquiry.asked.message, QUERY_CHARACTERS)
        try:
            async with asyncio.timeout(SECONDS):
                if not await self._documents.sees_any(inquiry.caller):
                    return Gathered((), present=False)
                found = await self._documents.search_documents(inquiry.caller, query, limit=MOST)
        except TimeoutError:
            return Gathered((), (Note("documents not searched: it took too long"),))
        except ThresherError as error:
            return Gathered((), (Note("documents not searched", str(error)),))
        notes = (Note("passages found with less than all means", found.degraded),) if found.degraded else ()
        best = max((passage.score for passage in found.passages), default=0.0)
        near = [passage for passage in found.passages if best - passage.score <= _FURTHEST]
        return Gathered(tuple(_piece(passage, best) for passage in near), notes)


def _piece(passage: Passage, best: float) -> Piece:
    """A passage below a line that says where it stands: whose words both are is other people's."""
    part = passage.part
    name = f"{passage.repository}/{part.path}:{part.first_line}-{part.last_line}"
    above = " > ".join(part.heading_path)
    text = passage.text.strip("\n")
    data: dict[str, Any] = {
        "repository": passage.repository,
        "document": part.path,
        "heading_path": list(part.heading_path),
        "lines": [part.first_line, part.last_line],
        "text": text,
        "why": passage.why,
    }
    value = _BEST * 0.5 ** ((best - passage.score) / _HALVED)
    place = one_line(f"{name} | {above}" if above else name, _PLACE)
    written = f"[{place}]\n{text}"
    return replace(piece_of(PASSAGES, name, written, _HEADING, data, value, passage.why), content=f"{name}\n{text}")
