"""The SQL of uploads.

Invariant: as that of the documents kind; bytes are read by their key, one file at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.knowledge.documents.models import SourceFile
from thresher.knowledge.documents.uploads.archives import UploadedFile
from thresher.store.tables import upload


async def uploaded_files(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[SourceFile]:
    """The files of a repository, by path."""
    query = (
        select(upload.c.path, upload.c.blob, upload.c.size).where(_of(tenant, repository_id)).order_by(upload.c.path)
    )
    return [SourceFile(*row) for row in await connection.execute(query)]


async def archives(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> Mapping[str, str]:
    """Path of each file, and the archive that it came from; empty for none."""
    query = select(upload.c.path, upload.c.archive).where(_of(tenant, repository_id))
    return {row.path: row.archive for row in await connection.execute(query)}


async def uploaded_bytes(connection: AsyncConnection, tenant: Tenant, repository_id: int, path: str) -> bytes | None:
    """The bytes of a file; None if it is gone."""
    query = select(upload.c.data).where(_of(tenant, repository_id), upload.c.path == path)
    return (await connection.execute(query)).scalar_one_or_none()


async def put_files(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, archive: str, files: Sequence[UploadedFile]
) -> None:
    """Store files in place of those of the same paths."""
    for file in files:
        values = {"archive": archive, "blob": file.blob, "size": len(file.data), "data": file.data}
        row = insert(upload).values(tenant_id=tenant.id, repository_id=repository_id, path=file.path, **values)
        key = [upload.c.tenant_id, upload.c.repository_id, upload.c.path]
        await connection.execute(row.on_conflict_do_update(index_elements=key, set_=values))


async def set_archive(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, archive: str, paths: Sequence[str]
) -> None:
    """Note that files came from an archive, or by themselves, since then."""
    if paths:
        which = _of(tenant, repository_id) & upload.c.path.in_(paths)
        await connection.execute(update(upload).where(which).values(archive=archive))


async def delete_files(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, paths: Sequence[str], *, whole: str = ""
) -> list[str]:
    """Delete files by their paths, and those of an archive or below a folder; return the paths of all, in order."""
    which = upload.c.path.in_(paths)
    if whole:
        which = or_(
            which, upload.c.archive == whole, upload.c.path.startswith(f"{whole.rstrip('/')}/", autoescape=True)
        )
    gone = delete(upload).where(_of(tenant, repository_id), which).returning(upload.c.path)
    return sorted((await connection.execute(gone)).scalars())


def _of(tenant: Tenant, repository_id: int) -> Any:
    return (upload.c.tenant_id == tenant.id) & (upload.c.repository_id == repository_id)
