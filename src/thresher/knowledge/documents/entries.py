"""What of a chunk is put into the index: its headings, and its text.

Invariant: pure; equal chunks under equal headings have equal texts for the encoder, so that they are embedded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.knowledge.documents.layout import Layout, written_path
from thresher.knowledge.documents.models import chunk_id
from thresher.search import Entry

KIND: Final = "document"
"""The collection of the index that holds chunks."""
_REPOSITORY: Final = "repository:"


@dataclass(frozen=True, slots=True)
class Holder:
    """A document, as its chunks are put into the index.

    Attributes:
        id: Its key.
        title: Its title.
        repository: Key of its repository.
        owner: The only user who may find it; None for everybody of the tenant.
        layout: Its chunks.
    """

    id: int
    title: str
    repository: int
    owner: str | None
    layout: Layout


def facet_of(repository: int) -> str:
    """The label of a repository's chunks."""
    return f"{_REPOSITORY}{repository}"


def facets_of(repositories: Iterable[int]) -> frozenset[str]:
    """The labels of some repositories' chunks."""
    return frozenset(facet_of(repository) for repository in repositories)


def entries_of(holder: Holder, texts: Mapping[int, str] | Sequence[str]) -> Iterator[Entry]:
    """The entries of some chunks of a document.

    Args:
        holder: The document.
        texts: Place in the document to text; or all of them.
    """
    facets = frozenset({facet_of(holder.repository)})
    for ordinal, text in texts.items() if isinstance(texts, Mapping) else enumerate(texts):
        yield _entry(holder, ordinal, text, facets)


def heading_line(title: str, path: tuple[str, ...]) -> str:
    """What stands above a chunk's text: title and headings; a first heading that is the title is not said twice."""
    headings = path[1:] if path and path[0].strip() == title.strip() else path
    return " > ".join(filter(None, (" ".join(title.split()), written_path(headings))))


def _entry(holder: Holder, ordinal: int, text: str, facets: frozenset[str]) -> Entry:
    heading = heading_line(holder.title, holder.layout.paths[int(holder.layout.headings[ordinal])])
    return Entry(
        id=chunk_id(holder.id, ordinal),
        texts=(f"{heading}\n{text}",),
        fields={"heading": heading, "text": text},
        facets=facets,
        owner=holder.owner,
    )
