"""What this process caches of repositories: which documents are current, their layouts, and texts that were read.

Invariant: layouts and texts are cached by the key of an immutable document and never go stale; the current documents
are cached by a repository's edition. All caches are bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from cachetools import LRUCache

from thresher.core import Caller, NotFound, Tenant, did_you_mean, nearest
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.layout import Column, DocumentLayout
from thresher.knowledge.documents.models import CHUNK_BITS, Document
from thresher.knowledge.documents.queries import Key, RepositoryHead
from thresher.knowledge.documents.sections import Section
from thresher.store import Database, shared

_HOLDINGS: Final = 32
_HELD_DOCUMENTS: Final = 200_000
_LAYOUT_BYTES: Final = 32 << 20
_TEXT_CHARACTERS: Final = 8 << 20
_CALLERS: Final = 256
_COLUMN_BYTES: Final = 100
"""Memory of a layout per chunk."""
_NEIGHBOURS: Final = 0.5
"""If at least this share of a range of chunks is requested, the whole range is read at once."""

V = TypeVar("V")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Holdings:
    """The current documents of a repository at one edition.

    Attributes:
        repository: Key of the repository.
        edition: Edition of the repository.
        ids: int64 (n,), keys of the documents, sorted.
        by_id: The documents by key.
        by_path: The documents by path.
        chunks: Number of chunks of all documents.
        acronyms: Acronyms that the repository explains, each with its long forms.
    """

    repository: int
    edition: int
    ids: Column
    by_id: Mapping[int, Document]
    by_path: Mapping[str, Document]
    chunks: int
    acronyms: Mapping[str, Sequence[str]]

    def document(self, path: str) -> Document:
        """A document by path; a leading slash or `./` is ignored.

        Raises:
            NotFound: There is no such document; the hint offers near ones.
        """
        plain = path.strip().removeprefix("./").lstrip("/")
        if (found := self.by_path.get(path) or self.by_path.get(plain)) is not None:
            return found
        raise NotFound(
            f"There is no document '{path}' in this repository.",
            hint=did_you_mean(self.near(plain)) or "list_repositories shows what it contains.",
        )

    def near(self, path: str) -> tuple[str, ...]:
        """Paths with the same file name, or similar ones."""
        name = path.rpartition("/")[2].lower()
        same = [known for known in self.by_path if known.lower().rpartition("/")[2] == name][:3]
        return tuple(same) or nearest(path, self.by_path)


def chunks_of_documents(chunks: Column, documents: Column) -> Column | None:
    """Which chunks belong to some documents.

    Args:
        chunks: int64 (n,), ids, sorted.
        documents: int64 (m,), keys, sorted.

    Returns:
        int64, indexes in `chunks`; None for all of them.
    """
    starts = np.searchsorted(chunks, documents << CHUNK_BITS)
    ends = np.searchsorted(chunks, documents + 1 << CHUNK_BITS)
    if int((ends - starts).sum()) == len(chunks):
        return None
    edges = np.zeros(len(chunks) + 1, np.int64)
    np.add.at(edges, starts, 1)
    np.add.at(edges, ends, -1)
    return np.flatnonzero(np.cumsum(edges[:-1]))


class DocumentCache:
    """Reads what answers need, and caches it.

    Args:
        database: The database of the documents.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._directories: LRUCache[tuple[int, str | None], dict[str, RepositoryHead]] = LRUCache(_CALLERS)
        self._holdings: LRUCache[tuple[int, int], Holdings] = LRUCache(_HELD_DOCUMENTS, lambda one: len(one.ids) + 1)
        self._layouts: LRUCache[int, DocumentLayout] = LRUCache(
            _LAYOUT_BYTES, lambda one: len(one) * _COLUMN_BYTES + 1000
        )
        self._texts: LRUCache[Key, str] = LRUCache(_TEXT_CHARACTERS, lambda text: len(text) + 100)

    async def directory(self, caller: Caller) -> dict[str, RepositoryHead]:
        """The repositories that the caller sees, by name; a user's own takes precedence over the tenant's."""
        key = "documents", caller.tenant.id, caller.user
        heads = await shared(key, lambda: queries.heads(self._database, caller))
        found = {head.name: head for head in heads}
        self._directories[caller.tenant.id, caller.user] = found
        return found

    def known(self, caller: Caller) -> dict[str, RepositoryHead] | None:
        """The directory as it was last read, or None."""
        return self._directories.get((caller.tenant.id, caller.user))

    def acronyms(self, tenant: Tenant, heads: Iterable[RepositoryHead]) -> dict[str, Sequence[str]]:
        """Acronyms that repositories explain, of those that were read."""
        found: dict[str, Sequence[str]] = {}
        for head in heads:
            if (kept := self._holdings.get((tenant.id, head.id))) is not None:
                found |= kept.acronyms
        return found

    async def holdings(self, tenant: Tenant, head: RepositoryHead) -> Holdings:
        """The current documents of a repository, at the edition of `head` or a newer one."""
        key = tenant.id, head.id
        kept = self._holdings.get(key)
        if kept is not None and kept.edition >= head.edition:
            return kept
        documents = await queries.current(self._database, tenant, head.id)
        async with self._database.transaction(tenant) as connection:
            acronyms = await queries.acronyms(connection, tenant, head.id)
        found = Holdings(
            head.id,
            head.edition,
            np.array([one.id for one in documents], np.int64),
            {one.id: one for one in documents},
            {one.path: one for one in documents},
            sum(one.chunks for one in documents),
            {short: [long] for short, long in acronyms.items()},
        )
        keep(self._holdings, key, found)
        return found

    async def guide(self, tenant: Tenant, repository: int) -> str:
        """The guide of a repository; empty if there is none."""
        async with self._database.transaction(tenant) as connection:
            found = await queries.repository_by_id(connection, tenant, repository)
        return found.guide if found is not None else ""

    async def layout(self, tenant: Tenant, document: int) -> DocumentLayout:
        """The layout of a document.

        Raises:
            NotFound: The document is gone.
        """
        found = await self.layouts(tenant, [document])
        if document not in found:
            raise document_changed()
        return found[document]

    async def sections(self, tenant: Tenant, document: int) -> list[Section]:
        """The sections of a document, in order."""
        return await queries.sections(self._database, tenant, document)

    async def layouts(self, tenant: Tenant, documents: Iterable[int]) -> dict[int, DocumentLayout]:
        """Layouts of documents by key; documents that are gone are left out."""
        keys = list(dict.fromkeys(documents))
        found = {one: kept for one in keys if (kept := self._layouts.get(one)) is not None}
        if missing := [one for one in keys if one not in found]:
            for number, packed in (await queries.layouts(self._database, tenant, missing)).items():
                found[number] = DocumentLayout.unpacked(packed)
                keep(self._layouts, number, found[number])
        return found

    async def texts(self, tenant: Tenant, document: int, ordinals: Sequence[int]) -> dict[int, str]:
        """Texts of chunks of one document, by ordinal.

        Raises:
            NotFound: The document is gone.
        """
        found = await self.texts_of(tenant, [(document, ordinal) for ordinal in ordinals])
        if len(found) < len(set(ordinals)):
            raise document_changed()
        return {ordinal: text for (_, ordinal), text in found.items()}

    async def texts_of(self, tenant: Tenant, keys: Sequence[Key]) -> dict[Key, str]:
        """Texts of chunks of any documents; texts that are gone are left out."""
        found = {key: kept for key in keys if (kept := self._texts.get(key)) is not None}
        if missing := [key for key in keys if key not in found]:
            read = await self._read(tenant, missing)
            for key, text in read.items():
                keep(self._texts, key, text)
            found |= {key: read[key] for key in missing if key in read}
        return found

    async def _read(self, tenant: Tenant, keys: Sequence[Key]) -> dict[Key, str]:
        documents = {document for document, _ in keys}
        places = [ordinal for _, ordinal in keys]
        first, end = min(places), max(places) + 1
        if len(documents) == 1 and len(keys) >= (end - first) * _NEIGHBOURS:
            return await queries.read_range(self._database, tenant, documents.pop(), first, end)
        return await queries.read_texts(self._database, tenant, keys)


def keep(cache: LRUCache[K, V], key: K, value: V) -> None:
    """Cache a value, unless it is larger than the whole cache."""
    with suppress(ValueError):
        cache[key] = value


def document_changed() -> NotFound:
    """The error for a document that was replaced or removed while it was read."""
    return NotFound("The document has changed meanwhile.", hint="Ask again.")
