"""SQL of operations and of the descriptions that contain them.

Invariant: an operation keeps its row while its method and path stay; a removed one is only marked until it has left the
index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.knowledge.apis.heads import Brief
from thresher.openapi import Tag
from thresher.store import Database, driver
from thresher.store.tables import api_document, api_operation

_UPSERT: Final = b"""
    insert into api_operation as o (
      tenant_id, version_id, endpoint, method, path, operation_id, summary, description, tags, parameters, body, tips,
      deprecated, pointer, ordinal, digest, wording)
    select %(tenant)s, %(version)s, r.endpoint, r.method, r.path, r.operation_id, r.summary, r.description, r.tags,
      r.parameters, r.body, r.tips, r.deprecated, r.pointer, r.ordinal, r.digest, r.wording
    from jsonb_to_recordset(%(rows)s::jsonb) as r (
      endpoint text, method text, path text, operation_id text, summary text, description text, tags text[],
      parameters text[], body text, tips text[], deprecated boolean, pointer text, ordinal int, digest text,
      wording jsonb)
    on conflict (tenant_id, version_id, method, path) do update set
      endpoint = excluded.endpoint, operation_id = excluded.operation_id, summary = excluded.summary,
      description = excluded.description, tags = excluded.tags, parameters = excluded.parameters,
      body = excluded.body, tips = excluded.tips, deprecated = excluded.deprecated, pointer = excluded.pointer,
      ordinal = excluded.ordinal, digest = excluded.digest, wording = excluded.wording, current = true,
      created_at = case when o.current then o.created_at else excluded.created_at end
    where (o.digest, o.ordinal, o.tips, o.wording, o.current)
      is distinct from (excluded.digest, excluded.ordinal, excluded.tips, excluded.wording, true)"""

_GONE: Final = b"""
    update api_operation o set current = false
    from jsonb_to_recordset(%(gone)s::jsonb) as g (method text, path text)
    where o.tenant_id = %(tenant)s and o.version_id = %(version)s and o.method = g.method and o.path = g.path"""

_BRIEFS: Final = b"""
    select id, endpoint, method, path, operation_id, summary, description, tags, parameters, body, tips, deprecated,
           pointer, ordinal, digest
    from api_operation where tenant_id = %(tenant)s and version_id = %(version)s and current order by ordinal"""

_TAGS: Final = b"select tags from api_version where tenant_id = %(tenant)s and id = %(version)s"

_HOLDERS: Final = b"""
    select version_id, id from api_operation
    where tenant_id = %(tenant)s and endpoint = %(endpoint)s and current"""

_DOCUMENT: Final = b"""
    select body from api_document
    where tenant_id = %(tenant)s and version_id = %(version)s and digest = %(digest)s"""


async def upsert_operations(connection: AsyncConnection, tenant: Tenant, version: int, rows: str) -> None:
    """Write the operations of a version; unchanged ones are not touched.

    Args:
        connection: The transaction.
        tenant: The owner of the version.
        version: Row id.
        rows: JSON list of column to value.
    """
    values = {"tenant": tenant.id, "version": version, "rows": rows}
    await (await driver(connection)).execute(_UPSERT, values)


async def digests(connection: AsyncConnection, tenant: Tenant, version: int) -> dict[tuple[str, str], str]:
    """Return method and path to digest, of the current operations of a version."""
    query = select(api_operation.c.method, api_operation.c.path, api_operation.c.digest).where(
        _of(tenant, version), api_operation.c.current
    )
    return {(row.method, row.path): row.digest for row in await connection.execute(query)}


async def mark_gone(connection: AsyncConnection, tenant: Tenant, version: int, gone: Sequence[tuple[str, str]]) -> None:
    """Mark operations that are no longer in the description."""
    pairs = [{"method": method, "path": path} for method, path in gone]
    values = {"tenant": tenant.id, "version": version, "gone": json.dumps(pairs)}
    await (await driver(connection)).execute(_GONE, values)


async def gone_ids(connection: AsyncConnection, tenant: Tenant, version: int) -> list[int]:
    """Return the row ids of the operations marked as gone."""
    query = select(api_operation.c.id).where(_of(tenant, version), ~api_operation.c.current)
    return list((await connection.execute(query)).scalars())


async def all_ids(connection: AsyncConnection, tenant: Tenant, version: int) -> list[int]:
    """Return the row ids of all operations, gone or not."""
    query = select(api_operation.c.id).where(_of(tenant, version))
    return list((await connection.execute(query)).scalars())


async def delete_gone(connection: AsyncConnection, tenant: Tenant, version: int, ids: Sequence[int]) -> None:
    """Delete operations marked as gone, unless they have come back."""
    query = delete(api_operation).where(
        _of(tenant, version), ~api_operation.c.current, api_operation.c.id.in_(list(ids))
    )
    await connection.execute(query)


async def current_ids(connection: AsyncConnection, tenant: Tenant, version: int) -> list[int]:
    """Return the row ids of the current operations of a version, sorted."""
    query = select(api_operation.c.id).where(_of(tenant, version), api_operation.c.current)
    return list((await connection.execute(query.order_by(api_operation.c.id))).scalars())


async def wordings(
    connection: AsyncConnection, tenant: Tenant, version: int, ids: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Return row id to wording of some current operations of a version."""
    query = select(api_operation.c.id, api_operation.c.wording).where(
        _of(tenant, version), api_operation.c.current, api_operation.c.id.in_(list(ids))
    )
    return {row.id: row.wording for row in await connection.execute(query)}


async def briefs(database: Database, tenant: Tenant, version: int) -> tuple[Brief, ...]:
    """Return the operations of a version in the order of the description."""
    values = {"tenant": tenant.id, "version": version}
    rows = await database.once(tenant, lambda driver: driver.execute(_BRIEFS, values, prepare=True))
    return tuple(_brief(row) for row in rows)


async def tags(database: Database, tenant: Tenant, version: int) -> tuple[Tag, ...]:
    """Return the tags of a version with their descriptions."""
    values = {"tenant": tenant.id, "version": version}
    rows = await database.once(tenant, lambda driver: driver.execute(_TAGS, values, prepare=True))
    return tuple(Tag(*one) for row in rows for one in row[0])


async def holders(database: Database, tenant: Tenant, endpoint: str) -> list[tuple[int, int]]:
    """Return version and row id of the operations with a public id."""
    values = {"tenant": tenant.id, "endpoint": endpoint}
    rows = await database.once(tenant, lambda driver: driver.execute(_HOLDERS, values, prepare=True))
    return [(row[0], row[1]) for row in rows]


async def read_document(database: Database, tenant: Tenant, version: int, digest: str) -> bytes | None:
    """Return the compressed bytes of a description; None if they no longer exist."""
    values = {"tenant": tenant.id, "version": version, "digest": digest}
    rows = await database.once(tenant, lambda driver: driver.execute(_DOCUMENT, values, prepare=True, binary=True))
    return bytes(rows[0][0]) if rows else None


async def put_document(
    connection: AsyncConnection, tenant: Tenant, version: int, digest: str, *, size: int, body: bytes
) -> None:
    """Store the bytes of a description."""
    row = insert(api_document).values(tenant_id=tenant.id, version_id=version, digest=digest, size=size, body=body)
    await connection.execute(row.on_conflict_do_nothing())


async def delete_documents(connection: AsyncConnection, tenant: Tenant, version: int, keep: Sequence[str]) -> None:
    """Delete the bytes of a version except those with some digests."""
    query = delete(api_document).where(
        api_document.c.tenant_id == tenant.id,
        api_document.c.version_id == version,
        api_document.c.digest.not_in(list(keep)),
    )
    await connection.execute(query)


def _of(tenant: Tenant, version: int) -> Any:
    return (api_operation.c.tenant_id == tenant.id) & (api_operation.c.version_id == version)


def _brief(row: Any) -> Brief:
    number, endpoint, method, path, name, summary, description, tagged, parameters, body, tips, *rest = row
    known = (number, endpoint, method, path, name, summary, description)
    return Brief(*known, tuple(tagged), tuple(parameters), body, tuple(tips), *rest)
