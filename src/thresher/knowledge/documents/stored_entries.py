"""Makes the entries of chunks again from what is stored of them, for vectors that come later.

Invariant: the same entries as were made when the document was read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from thresher.core import Tenant
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.entries import Holder, entries_of
from thresher.knowledge.documents.layout import Layout
from thresher.knowledge.documents.models import key_of
from thresher.search import Entry
from thresher.store import Database

_HOLDERS: Final = 512


class StoredEntries:
    """Entries of a tenant's chunks by id; keeps the layouts of a few documents, since chunks come in their order.

    Args:
        database: Where they are.
        tenant: Whose.
    """

    def __init__(self, database: Database, tenant: Tenant) -> None:
        self._database = database
        self._tenant = tenant
        self._holders: OrderedDict[int, Holder] = OrderedDict()

    async def of(self, ids: Sequence[int]) -> list[Entry]:
        """The entries of these chunks; those that are gone are left out."""
        keys = [key_of(number) for number in ids]
        holders = await self._described({document for document, _ in keys})
        texts = await queries.read_texts(self._database, self._tenant, keys)
        places: dict[int, dict[int, str]] = {}
        for (document, ordinal), text in texts.items():
            places.setdefault(document, {})[ordinal] = text
        return [
            entry
            for document, some in places.items()
            if document in holders
            for entry in entries_of(holders[document], some)
        ]

    async def _described(self, documents: set[int]) -> dict[int, Holder]:
        if missing := [one for one in documents if one not in self._holders]:
            layouts = await queries.layouts(self._database, self._tenant, missing)
            async with self._database.transaction(self._tenant) as connection:
                rows = await queries.described(connection, self._tenant, missing)
            for row in rows:
                if (packed := layouts.get(row.id)) is not None:
                    unpacked = Layout.unpacked(packed)
                    self._holders[row.id] = Holder(row.id, row.title, row.repository, row.owner, unpacked)
        found = {one: self._holders[one] for one in documents if one in self._holders}
        while len(self._holders) > _HOLDERS:
            self._holders.popitem(last=False)
        return found
