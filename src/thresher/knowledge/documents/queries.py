"""The SQL of the documents kind: repositories, versions of their files, and the texts of their chunks.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE helps
the planner, while the row-level policy isolates tenants even without it. A repository is written under its owner, so
that a user's never replaces the tenant's or another user's; one that is being removed is visible to no caller. A
version becomes current in the transaction that retires its older one. A text is read by its key: no statement scans the
texts of a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlalchemy import bindparam, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger

from thresher.core import Caller, Tenant
from thresher.knowledge.documents.guides.text import description_of
from thresher.knowledge.documents.models import Document, Origin, Repository
from thresher.knowledge.documents.sections import Section
from thresher.store import Database, driver, prepared
from thresher.store.tables import document, repository

REMOVING: Final = "removing"
"""The state of a repository whose documents are being taken out of the index."""

_COLUMNS: Final = """id, name, owner, version, guide, guide_by, documents, chunks, tokens, embedded, state, problem,
    job, indexed_at, edition, check_seconds, kind, location, ref, include, exclude, skipped_counts"""
_NAMES: Final = (*(name.strip() for name in _COLUMNS.split(",")), "embedding_model")
_PUBLIC: Final = _NAMES[: _NAMES.index("kind")]
"""Columns that are fields of the record under the same name and with the same value."""
_REPOSITORY: Final = f"""
    select {_COLUMNS}, (select model from collection where tenant_id = %(tenant)s and kind = 'document')
    from repository where tenant_id = %(tenant)s and state <> 'removing'"""  # noqa: S608 - the constant names of columns
_SEEN: Final = f"""{_REPOSITORY} and (owner is null or owner = %(user)s::text)
    order by owner nulls first, name"""

_HEADS: Final = b"""
    select id, owner, name, edition, state, documents, chunks, embedded, left(guide, 1000) from repository
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text) and state <> 'removing'
    order by owner nulls first, id"""

_RECOUNT: Final = b"""
    update repository r set edition = r.edition + 1, documents = c.documents, chunks = c.chunks, tokens = c.tokens
    from (select count(*) as documents, coalesce(sum(d.chunks), 0) as chunks, coalesce(sum(d.tokens), 0) as tokens
          from document d where d.tenant_id = %(tenant)s and d.repository_id = %(id)s and d.current) c
    where r.tenant_id = %(tenant)s and r.id = %(id)s"""


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """What an answer needs of a repository before it looks into it."""

    id: int
    owner: str | None
    name: str
    edition: int
    state: str
    documents: int
    chunks: int
    embedded: int
    lead: str
    """Beginning of its guide."""


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was not read.

    Attributes:
        path: Path inside the repository.
        reason: One of the reasons of `Skipped`.
        detail: A sentence for people.
        blob: Its blob id, if its bytes were the reason; else empty.
        format: The format edition of the run that refused it.
    """

    path: str
    reason: str
    detail: str
    blob: str = ""
    format: int = 0


async def heads(database: Database, caller: Caller) -> list[RepositoryHead]:
    """The repositories that the caller may see, the tenant's before the user's own; one round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_HEADS, values, prepare=True))
    return [RepositoryHead(*row) for row in rows]


async def repositories(database: Database, caller: Caller) -> list[Repository]:
    """The repositories that the caller may see, with all their fields; one round trip."""
    rows = await database.once(caller.tenant, prepared(_SEEN, tenant=caller.tenant.id, user=caller.user))
    return list(map(_repository, rows))


async def repositories_in(connection: AsyncConnection, caller: Caller) -> list[Repository]:
    """The same as `repositories`, inside a transaction."""
    rows = await connection.exec_driver_sql(_SEEN, {"tenant": caller.tenant.id, "user": caller.user})
    return [_repository(tuple(row)) for row in rows]


async def repository_by_id(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> Repository | None:
    """One repository of any owner; None if it is gone or being removed."""
    values = {"tenant": tenant.id, "id": repository_id}
    row = (await connection.exec_driver_sql(f"{_REPOSITORY} and id = %(id)s", values)).first()
    return None if row is None else _repository(tuple(row))


async def removing(connection: AsyncConnection, tenant: Tenant) -> list[int]:
    """Ids of the repositories whose removal has begun."""
    query = select(repository.c.id).where(repository.c.tenant_id == tenant.id, repository.c.state == REMOVING)
    return list((await connection.execute(query)).scalars())


async def add_repository(connection: AsyncConnection, caller: Caller, name: str, origin: Origin) -> int | None:
    """Insert a repository of the caller's user (shared if there is none); None if the name is taken."""
    row = insert(repository).values(
        tenant_id=caller.tenant.id,
        owner=caller.user,
        name=name,
        keyed=caller.keyed,
        **_origin(origin),
    )
    found = await connection.execute(row.on_conflict_do_nothing().returning(repository.c.id))
    return found.scalar()


async def set_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int, **values: Any) -> bool:
    """Change columns of a repository that is not being removed; False if there is none."""
    query = update(repository).where(_of(tenant, repository_id), repository.c.state != REMOVING).values(**values)
    return (await connection.execute(query.returning(repository.c.id))).first() is not None


async def try_origin(connection: AsyncConnection, caller: Caller, repository_id: int, origin: Origin) -> None:
    """Have the next run read this origin; keep the one of the last good run until this one has worked."""
    tenant = caller.tenant
    good, indexed = await _good_origin(connection, tenant, repository_id)
    former = good if indexed and good != _options(origin) else None
    await set_repository(connection, tenant, repository_id, **_origin(origin), former=former, keyed=caller.keyed)


async def note_origin_failure(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Note that the source could not be read with the origin that is tried."""
    failed = repository.c.former.concat({"failed": True})
    await connection.execute(
        update(repository).where(_of(tenant, repository_id), repository.c.former.is_not(None)).values(former=failed)
    )


async def restore_origin(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Have the next run read the origin of the last good run, if the one that was tried since has failed."""
    failed = select(repository.c.id).where(_of(tenant, repository_id), repository.c.former.has_key("failed"))
    if (await connection.execute(failed)).first() is not None:
        good, _ = await _good_origin(connection, tenant, repository_id)
        await set_repository(connection, tenant, repository_id, **good, former=None)


async def _good_origin(
    connection: AsyncConnection, tenant: Tenant, repository_id: int
) -> tuple[Mapping[str, Any], bool]:
    """The origin of the last good run, as columns, and whether there was one."""
    query = select(repository).where(_of(tenant, repository_id)).with_for_update()
    row = (await connection.execute(query)).one()
    stored = {name: getattr(row, name) for name in ("kind", "ref", "include", "exclude")}
    former = cast("Mapping[str, Any]", row.former or {})
    return stored | {name: value for name, value in former.items() if name in stored}, bool(row.indexed_at)


def _options(origin: Origin) -> dict[str, Any]:
    return {
        "kind": origin.kind,
        "ref": origin.ref,
        "include": list(origin.include),
        "exclude": list(origin.exclude),
    }


def _origin(origin: Origin) -> dict[str, Any]:
    return {"location": origin.location, **_options(origin)}


async def set_refused(
    connection: AsyncConnection,
    tenant: Tenant,
    repository_id: int,
    refused: Iterable[RefusedFile],
    counts: Mapping[str, int],
) -> None:
    """Store which files were not read, and the number for each reason."""
    rows = [[one.path, one.reason, one.detail, one.blob, one.format] for one in refused]
    await set_repository(connection, tenant, repository_id, skipped=rows, skipped_counts=dict(counts))


async def refused_files(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[RefusedFile]:
    """Files that were not read; if there are many, the first of them."""
    rows = (await connection.execute(select(repository.c.skipped).where(_of(tenant, repository_id)))).scalar()
    return [RefusedFile(*row) for row in rows or ()]


async def acronyms(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> dict[str, str]:
    """Acronyms that the repository explains, with their long forms."""
    found = await connection.execute(select(repository.c.acronyms).where(_of(tenant, repository_id)))
    return dict(found.scalar() or {})


async def source_caller(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> Caller | None:
    """The caller in whose place the source of a repository is read again; None if it is gone or being removed."""
    query = select(repository.c.owner, repository.c.keyed).where(_of(tenant, repository_id))
    row = (await connection.execute(query.where(repository.c.state != REMOVING))).first()
    return None if row is None else Caller(tenant, row.owner, keyed=row.keyed)


async def lock_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> bool:
    """Lock a repository until the transaction ends; False if it is gone or being removed."""
    query = select(repository.c.id).where(_of(tenant, repository_id), repository.c.state != REMOVING)
    return (await connection.execute(query.with_for_update())).first() is not None


async def recount(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Count the current documents, and raise the edition."""
    await connection.exec_driver_sql(_RECOUNT.decode(), {"tenant": tenant.id, "id": repository_id})


async def begin_removal(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Hide the repository from now on; its name becomes free."""
    gone = func.concat(repository.c.name, "\n", repository.c.id)
    await connection.execute(
        update(repository).where(_of(tenant, repository_id)).values(state=REMOVING, name=gone, guide="")
    )


async def delete_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Delete a repository with all its documents."""
    await connection.execute(delete(repository).where(_of(tenant, repository_id)))


async def outlines(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[tuple[str, str, Any]]:
    """Path, title and outline of each current document, by path."""
    query = (
        select(document.c.path, document.c.title, document.c.outline)
        .where(document.c.tenant_id == tenant.id, document.c.repository_id == repository_id, document.c.current)
        .order_by(document.c.path)
    )
    return [(row.path, row.title, row.outline) for row in await connection.execute(query)]


def _of(tenant: Tenant, repository_id: int) -> Any:
    return (repository.c.tenant_id == tenant.id) & (repository.c.id == repository_id)


def _repository(row: tuple[Any, ...]) -> Repository:
    value = dict(zip(_NAMES, row, strict=True))
    kind, location, ref, include, exclude = (value[name] for name in ("kind", "location", "ref", "include", "exclude"))
    return Repository(
        **{name: value[name] for name in _PUBLIC},
        origin=Origin(kind, location, ref, tuple(include), tuple(exclude)),
        skipped=value["skipped_counts"],
        description=description_of(value["guide"]),
        embedding_model=value["embedding_model"] or "" if value["embedded"] else "",
    )


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
    stemming: str


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A stored version of a file."""

    id: int
    path: str
    blob: str
    format: int
    chunks: int
    current: bool
    stemming: str = ""


@dataclass(frozen=True, slots=True)
class DocumentOwner:
    """The owner and title of a document, and how its words are indexed."""

    id: int
    title: str
    repository: int
    owner: str | None
    stemming: str


async def stored_versions(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[StoredVersion]:
    """All stored versions of a repository's files, current or not."""
    d = document.c
    query = (
        select(d.id, d.path, d.blob, d.format, d.chunks, d.current, d.stemming)
        .where(_in_repository(tenant, repository_id))
        .order_by(document.c.id)
    )
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


async def stemmed_otherwise(connection: AsyncConnection, tenant: Tenant, edition: str) -> frozenset[int]:
    """Repositories with current documents whose words another edition of the stemming has indexed."""
    other = ~document.c.stemming.startswith(edition, autoescape=True)
    query = select(document.c.repository_id).where(document.c.tenant_id == tenant.id, document.c.current, other)
    return frozenset((await connection.execute(query.distinct())).scalars())


async def set_stemming(connection: AsyncConnection, tenant: Tenant, document_id: int, stemming: str) -> None:
    """Note how the words of a document are indexed."""
    mine = document.c.tenant_id == tenant.id, document.c.id == document_id
    await connection.execute(update(document).where(*mine).values(stemming=stemming))


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
    """Owners and titles of documents, and how their words are indexed."""
    ours = (repository.c.tenant_id == document.c.tenant_id) & (repository.c.id == document.c.repository_id)
    query = (
        select(document.c.id, document.c.title, document.c.repository_id, repository.c.owner, document.c.stemming)
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
    query = update(document).where(_in_repository(tenant, repository_id), document.c.id == any_of(ids))
    await connection.execute(query.values(current=current))


def _in_repository(tenant: Tenant, repository_id: int) -> Any:
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
