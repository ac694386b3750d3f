"""Versions of files, which of them are current, and the texts of their chunks.

Invariant: a version becomes current in the transaction that retires its older one; a text is read by its key, and no
statement scans the texts of a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger

from thresher.core import Tenant
from thresher.knowledge.documents.models import Document
from thresher.knowledge.documents.sections import Section
from thresher.store import Database, driver
from thresher.store.tables import document, repository

_CURRENT: Final = b"""
    select id, repository_id, path, title, media, blob, tokens, lines, chunks from document
    where tenant_id = %(tenant)s and repository_id = %(repository)s and current order by id"""

_LAYOUTS: Final = b"""
    select id, layout from document where tenant_id = %(tenant)s and id = any (%(ids)s::bigint[])"""

_SECTIONS: Final = b"select sections from document where tenant_id = %(tenant)s and id = %(id)s"

_RETIRE: Final = text("""
    update document old set current = false from document new
    where old.tenant_id = :tenant and old.repository_id = :repository and old.current
      and new.tenant_id = :tenant and new.repository_id = :repository and new.id = any (:ids)
      and new.path = old.path and new.id <> old.id
    returning old.id, old.path, old.blob, old.format, old.chunks, old.current""").bindparams(
    bindparam("ids", type_=ARRAY(BigInteger))
)


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A new version of a file; its fields are the table's columns."""

    path: str
    title: str
    media: str
    blob: str
    format: int
    tokens: int
    lines: int
    chunks: int
    notes: tuple[str, ...]
    outline: Mapping[str, Any]
    sections: Sequence[Section]
    layout: bytes


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A stored version of a file."""

    id: int
    path: str
    blob: str
    format: int
    chunks: int
    current: bool


@dataclass(frozen=True, slots=True)
class DocumentOwner:
    """The owner and title of a document."""

    id: int
    title: str
    repository: int
    owner: str | None


async def stored_versions(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[StoredVersion]:
    """All stored versions of a repository's files, current or not."""
    columns = document.c.id, document.c.path, document.c.blob, document.c.format, document.c.chunks, document.c.current
    query = select(*columns).where(_of(tenant, repository_id)).order_by(document.c.id)
    return [StoredVersion(*row) for row in await connection.execute(query)]


async def insert_documents(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, writes: Sequence[DocumentWrite]
) -> dict[str, int]:
    """Insert versions of different files, none current yet; return their ids by path."""
    rows = [
        {"tenant_id": tenant.id, "repository_id": repository_id}
        | {name: getattr(write, name) for name in DocumentWrite.__slots__}
        | {
            "notes": list(write.notes),
            "outline": dict(write.outline),
            "sections": [list(one) for one in write.sections],
        }
        for write in writes
    ]
    found = await connection.execute(insert(document).values(rows).returning(document.c.path, document.c.id))
    return {row.path: row.id for row in found}


async def make_current(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, ids: Sequence[int]
) -> list[StoredVersion]:
    """Make these versions current in place of the older ones of their files; return the older ones."""
    values = {"tenant": tenant.id, "repository": repository_id, "ids": list(ids)}
    old = [StoredVersion(*row) for row in await connection.execute(_RETIRE, values)]
    await _set_current(connection, tenant, repository_id, ids, current=True)
    return old


async def retire(connection: AsyncConnection, tenant: Tenant, repository_id: int, ids: Sequence[int]) -> None:
    """Take versions whose files are gone out of use."""
    await _set_current(connection, tenant, repository_id, ids, current=False)


async def delete_documents(connection: AsyncConnection, tenant: Tenant, ids: Sequence[int]) -> None:
    """Delete versions with their texts."""
    await connection.execute(delete(document).where(document.c.tenant_id == tenant.id, document.c.id == any_of(ids)))


async def current(database: Database, tenant: Tenant, repository_id: int) -> list[Document]:
    """The current documents of a repository, by id; one round trip."""
    values = {"tenant": tenant.id, "repository": repository_id}
    rows = await database.once(tenant, lambda driver: driver.execute(_CURRENT, values, prepare=True))
    return [Document(*row) for row in rows]


async def layouts(database: Database, tenant: Tenant, ids: Sequence[int]) -> dict[int, bytes]:
    """Packed layouts of documents; one round trip. Documents that are gone are left out."""
    values = {"tenant": tenant.id, "ids": list(ids)}
    rows = await database.once(tenant, lambda driver: driver.execute(_LAYOUTS, values, prepare=True, binary=True))
    return {row[0]: bytes(row[1]) for row in rows}


async def sections(database: Database, tenant: Tenant, document_id: int) -> list[Section]:
    """The sections of a document; none if it is gone."""
    values = {"tenant": tenant.id, "id": document_id}
    rows = await database.once(tenant, lambda driver: driver.execute(_SECTIONS, values, prepare=True))
    return [(level, title, start) for row in rows for level, title, start in row[0]]


async def document_owners(connection: AsyncConnection, tenant: Tenant, ids: Sequence[int]) -> list[DocumentOwner]:
    """Owners and titles of documents."""
    ours = (repository.c.tenant_id == document.c.tenant_id) & (repository.c.id == document.c.repository_id)
    query = (
        select(document.c.id, document.c.title, document.c.repository_id, repository.c.owner)
        .join(repository, ours)
        .where(document.c.tenant_id == tenant.id, document.c.id == any_of(ids))
    )
    return [DocumentOwner(*row) for row in await connection.execute(query)]


def any_of(ids: Iterable[int]) -> Any:
    """`= ANY (ids)`: one parameter, whatever the number of ids."""
    return func.any(bindparam(None, list(ids), type_=ARRAY(BigInteger)))


async def _set_current(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, ids: Sequence[int], *, current: bool
) -> None:
    query = update(document).where(_of(tenant, repository_id), document.c.id == any_of(ids))
    await connection.execute(query.values(current=current))


def _of(tenant: Tenant, repository_id: int) -> Any:
    return (document.c.tenant_id == tenant.id) & (document.c.repository_id == repository_id)


_INSERT: Final = b"""
    insert into chunk (tenant_id, document_id, ordinal, text)
    select %(tenant)s, u.document, u.ordinal, u.text
    from unnest(%(documents)s::bigint[], %(ordinals)s::int[], %(texts)s::text[]) as u (document, ordinal, text)"""

# `offset 0` makes the planner join by the key of each text.
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
"""A document's id and the ordinal of a chunk."""


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
    """Some texts; one round trip. Texts that are gone are left out."""
    values = {"tenant": tenant.id, "documents": [key[0] for key in keys], "ordinals": [key[1] for key in keys]}
    rows = await database.once(tenant, lambda driver: driver.execute(_READ, values, prepare=True, binary=True))
    return {(row[0], row[1]): row[2] for row in rows}


async def read_range(database: Database, tenant: Tenant, document: int, first: int, end: int) -> dict[Key, str]:
    """Consecutive texts of one document, from ordinal `first` up to but not including `end`; one round trip."""
    values = {"tenant": tenant.id, "document": document, "first": first, "end": end}
    rows = await database.once(tenant, lambda driver: driver.execute(_RANGE, values, prepare=True, binary=True))
    return {(document, row[0]): row[1] for row in rows}
