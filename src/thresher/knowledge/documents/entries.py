"""Index entries of chunks: headings and text.

Invariant: equal chunks under equal headings have equal texts for the encoder, so that they are embedded once; an entry
made from what is stored equals the one made when the document was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache

from thresher.core import Tenant
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.layout import DocumentLayout, path_label
from thresher.knowledge.documents.models import chunk_id, key_of
from thresher.search import STEMMING, Entry, language_of
from thresher.store import Database

KIND: Final = "document"
"""The collection of chunks in the index."""
_REPOSITORY: Final = "repository:"


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document whose chunks are indexed.

    Attributes:
        id: Key of the document.
        title: Title of the document.
        repository: Key of its repository.
        owner: The only user who may find it; None for everyone in the tenant.
        layout: Its chunks.
        stemming: How its words are indexed; see `stemming_of`.
    """

    id: int
    title: str
    repository: int
    owner: str | None
    layout: DocumentLayout
    stemming: str = ""


EDITION: Final = f"{STEMMING}:"
"""How stored stemmings of the running edition begin."""


def stemming_of(text: str) -> str:
    """How the words of a document are indexed: the edition of the stemming, a colon, and its language."""
    return f"{EDITION}{language_of(text)}"


def language_in(stemming: str) -> str:
    """The language of a stemming; empty for English, and while a document is indexed as by no edition."""
    return stemming.partition(":")[2]


def facet_of(repository: int) -> str:
    """The label of a repository's chunks."""
    return f"{_REPOSITORY}{repository}"


def facets_of(repositories: Iterable[int]) -> frozenset[str]:
    """The labels of the chunks of some repositories."""
    return frozenset(facet_of(repository) for repository in repositories)


def entries_of(document: IndexedDocument, texts: Mapping[int, str] | Sequence[str]) -> Iterator[Entry]:
    """The entries of some chunks of a document.

    Args:
        document: The document.
        texts: Texts by ordinal, or the texts of all chunks.
    """
    facets = frozenset({facet_of(document.repository)})
    for ordinal, text in texts.items() if isinstance(texts, Mapping) else enumerate(texts):
        yield _entry(document, ordinal, text, facets)


def heading_line(title: str, path: tuple[str, ...]) -> str:
    """The line above a chunk's text: title and headings; a first heading equal to the title is not repeated."""
    headings = path[1:] if path and path[0].strip() == title.strip() else path
    return " > ".join(filter(None, (" ".join(title.split()), path_label(headings))))


def _entry(document: IndexedDocument, ordinal: int, text: str, facets: frozenset[str]) -> Entry:
    heading = heading_line(document.title, document.layout.paths[int(document.layout.headings[ordinal])])
    return Entry(
        id=chunk_id(document.id, ordinal),
        texts=(f"{heading}\n{text}",),
        fields={"heading": heading, "text": text},
        facets=facets,
        owner=document.owner,
        language=language_in(document.stemming),
    )


_HOLDERS: Final = 512


class StoredEntries:
    """Entries of a tenant's chunks by id, made from what is stored.

    It keeps the layouts of a few documents, since chunks are requested in their order.

    Args:
        database: The database of the documents.
        tenant: The tenant of the chunks.
    """

    def __init__(self, database: Database, tenant: Tenant) -> None:
        self._database = database
        self._tenant = tenant
        self._known: LRUCache[int, IndexedDocument] = LRUCache(_HOLDERS)

    async def of(self, ids: Sequence[int]) -> list[Entry]:
        """The entries of these chunks; chunks that are gone are left out."""
        keys = [key_of(number) for number in ids]
        known = await self._documents({document for document, _ in keys})
        texts = await queries.read_texts(self._database, self._tenant, keys)
        places: dict[int, dict[int, str]] = {}
        for (document, ordinal), text in texts.items():
            places.setdefault(document, {})[ordinal] = text
        return [
            entry
            for document, some in places.items()
            if document in known
            for entry in entries_of(known[document], some)
        ]

    async def _documents(self, documents: set[int]) -> dict[int, IndexedDocument]:
        found = {one: known for one in documents if (known := self._known.get(one)) is not None}
        if missing := [one for one in documents if one not in found]:
            layouts = await queries.layouts(self._database, self._tenant, missing)
            async with self._database.transaction(self._tenant) as connection:
                rows = await queries.document_owners(connection, self._tenant, missing)
            for row in rows:
                if (packed := layouts.get(row.id)) is not None:
                    unpacked = DocumentLayout.unpacked(packed)
                    found[row.id] = IndexedDocument(
                        row.id, row.title, row.repository, row.owner, unpacked, row.stemming
                    )
                    self._known[row.id] = found[row.id]
        return found
