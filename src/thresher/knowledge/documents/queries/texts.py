"""Texts of documents, by document and place.

Invariant: a text is read by its key; no statement here walks over a repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store import Database, driver

_INSERT: Final = b"""
    insert into chunk (tenant_id, document_id, ordinal, text)
    select %(tenant)s, u.document, u.ordinal, u.text
    from unnest(%(documents)s::bigint[], %(ordinals)s::int[], %(texts)s::text[]) as u (document, ordinal, text)"""

# `offset 0` keeps the planner from joining in any other way than by the key of each text.
_READ: Final = b"""
    select u.document, u.ordinal, c.text
    from unnest(%(documents)s::bigint[], %(ordinals)s::int[]) as u (document, ordinal), lateral (
      select text from chunk
      where tenant_id = %(tenant)s and document_id = u.document and ordinal = u.ordinal offset 0) c"""

_RANGE: Final = b"""
    select ordinal, text from chunk
    where tenant_id = %(tenant)s and document_id = %(document)s and ordinal >= %(first)s and ordinal < %(end)s
    order by ordinal"""

Key = tuple[int, int]
"""A document's id and the place of a chunk in it."""


async def insert_texts(connection: AsyncConnection, tenant: Tenant, keys: Sequence[Key], texts: Sequence[str]) -> None:
    """Store the texts of new documents."""
    values = {
        "tenant": tenant.id,
        "documents": [key[0] for key in keys],
        "ordinals": [key[1] for key in keys],
        "texts": list(texts),
    }
    await (await driver(connection)).execute(_INSERT, values, prepare=True)


async def read_texts(database: Database, tenant: Tenant, keys: Sequence[Key]) -> dict[Key, str]:
    """Some texts; one round trip. Those that are gone are left out."""
    values = {"tenant": tenant.id, "documents": [key[0] for key in keys], "ordinals": [key[1] for key in keys]}
    rows = await database.once(tenant, lambda driver: driver.execute(_READ, values, prepare=True, binary=True))
    return {(row[0], row[1]): row[2] for row in rows}


async def read_range(database: Database, tenant: Tenant, document: int, first: int, end: int) -> dict[Key, str]:
    """Neighbouring texts of one document, from the place `first` to the one before `end`; one round trip."""
    values = {"tenant": tenant.id, "document": document, "first": first, "end": end}
    rows = await database.once(tenant, lambda driver: driver.execute(_RANGE, values, prepare=True, binary=True))
    return {(document, row[0]): row[1] for row in rows}
