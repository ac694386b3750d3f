"""SQL of the audit log.

Invariant: links are added in one statement with the head that names the last of them, and only to the head that they
were made for: of two writers one wins, and the other one learns of it.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.audit.links import ChainHead, ChainLink, LinkContent
from thresher.audit.records import AuditFilter
from thresher.core import Caller, Tenant
from thresher.store import Database, driver

_COLUMNS: Final = tuple(field.name for field in fields(LinkContent))
_TYPES: Final = {
    "at": "timestamptz",
    "subject": "bigint",
    "allowed": "boolean",
    "rows": "bigint",
    "ms": "float8",
}
"""PostgreSQL's types of the columns that are not text."""
_CONTENT: Final = ", ".join(_COLUMNS)
_GIVEN: Final = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in _COLUMNS)

_MOVE: Final = """
      update audit_head set id = %(id)s, hash = %(hash)s, key = %(key)s, seal = %(seal)s
      where tenant_id = %(tenant)s and id = %(former_id)s and hash = %(former_hash)s returning id"""
_PUT: Final = """
      insert into audit_head (tenant_id, id, hash, key, seal)
      values (%(tenant)s, %(id)s, %(hash)s, %(key)s, %(seal)s)
      on conflict (tenant_id) do update
      set id = excluded.id, hash = excluded.hash, key = excluded.key, seal = excluded.seal returning id"""


def _adding(moving: str) -> bytes:
    """Return the statement that moves the head and adds links if it did."""
    return f"""
    with moved as ({moving})
    insert into audit_link (tenant_id, id, key, previous, hash, {_CONTENT})
    select %(tenant)s, given.id, %(key)s, decode(previous, 'hex'), decode(given.hash, 'hex'), {_CONTENT}
    from moved, json_to_recordset(%(links)s::json) as given (id bigint, previous text, hash text, {_GIVEN})
    returning id""".encode()  # noqa: S608 - from the names of our own records


_APPEND: Final = _adding(_MOVE)
_RESTART: Final = _adding(_PUT)
_BEGIN: Final = b"""
    insert into audit_head (tenant_id, id, hash, key, seal)
    select %(tenant)s, %(id)s, %(hash)s, %(key)s, %(seal)s
    where not exists (select from audit_link where tenant_id = %(tenant)s)
    on conflict do nothing returning id"""
_HEAD: Final = b"""
    select id, hash, key, seal, (select l.hash from audit_link l where l.tenant_id = h.tenant_id and l.id = %(id)s)
    from audit_head h where tenant_id = %(tenant)s"""
_LOCK: Final = b"select id, hash, key, seal from audit_head where tenant_id = %(tenant)s for update"
_ENDS: Final = b"""
    select h.id, h.hash, h.key, h.seal, l.last, l.count
    from (select coalesce(max(id), 0) as last, count(*) as count from audit_link where tenant_id = %(tenant)s) l
    left join audit_head h on h.tenant_id = %(tenant)s"""
_LINKS: Final = f"""
    select tenant_id, id, key, previous, hash, {_CONTENT} from audit_link
    where tenant_id = %(tenant)s and id > %(after)s and id <= %(through)s order by id limit %(limit)s""".encode()  # noqa: S608 - as above
_STATEMENTS: Final = f"""
    select tenant_id, id, key, previous, hash, {_CONTENT} from audit_link
    where tenant_id = %(tenant)s and kind in ('pruned', 'restarted') and subject is not null
    order by id""".encode()  # noqa: S608 - as above
_LAST_BEFORE: Final = b"""
    select id, hash from audit_link where tenant_id = %(tenant)s and at <= %(before)s order by id desc limit 1"""
_HELD: Final = 726_627_371
"""With the tenant's id it names the lock that prevents pruning while a chain is read."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a stored chain, at one moment.

    Attributes:
        head: The stored head; None without one.
        last: The position of the last link; 0 without any.
        links: Number of links.
    """

    head: ChainHead | None
    last: int
    links: int


async def append(
    database: Database, tenant: Tenant, former: ChainHead, head: ChainHead, links: Sequence[ChainLink]
) -> bool:
    """Add links to the head that they were made for, in one round trip; returns False if it has moved."""
    values = _append_values(tenant, former, head, links)
    rows = await database.once(tenant, lambda raw: raw.execute(_APPEND, values, prepare=True))
    return bool(rows)


async def append_locked(
    connection: AsyncConnection, tenant: Tenant, former: ChainHead, head: ChainHead, links: Sequence[ChainLink]
) -> None:
    """The same inside a transaction that has locked the head."""
    raw = await driver(connection)
    await raw.execute(_APPEND, _append_values(tenant, former, head, links))


async def replace_head(
    connection: AsyncConnection, tenant: Tenant, head: ChainHead, links: Sequence[ChainLink]
) -> None:
    """Add links whatever the stored head is, even without one."""
    raw = await driver(connection)
    await raw.execute(_RESTART, _append_values(tenant, head, head, links))


async def begin(database: Database, tenant: Tenant, head: ChainHead) -> None:
    """Give a tenant without links its first head."""
    values = {"tenant": tenant.id, "id": head.id, "hash": head.hash, "key": head.key, "seal": head.seal}
    await database.once(tenant, lambda raw: raw.execute(_BEGIN, values))


async def read_head(database: Database, tenant: Tenant, place: int) -> tuple[ChainHead | None, bytes | None]:
    """Return the head, and the hash of the link at a position."""
    values = {"tenant": tenant.id, "id": place}
    rows = await database.once(tenant, lambda raw: raw.execute(_HEAD, values, prepare=True))
    if not rows:
        return None, None
    return _head(rows[0]), None if rows[0][4] is None else bytes(rows[0][4])


async def lock_head(connection: AsyncConnection, tenant: Tenant) -> ChainHead | None:
    """Return the head, locked until the transaction ends."""
    cursor = await (await driver(connection)).execute(_LOCK, {"tenant": tenant.id})
    row = await cursor.fetchone()
    return None if row is None else _head(row)


async def hold(connection: AsyncConnection, tenant: Tenant, *, alone: bool) -> None:
    """Prevent pruning while a chain is read, or, if `alone`, reading while it is pruned."""
    function = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
    await (await driver(connection)).execute(f"select {function}(%s, %s)".encode(), (_HELD, tenant.id))


async def read_ends(connection: AsyncConnection, tenant: Tenant) -> Ends:
    """Return the end of the chain, by its links and by its head."""
    cursor = await (await driver(connection)).execute(_ENDS, {"tenant": tenant.id})
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - it aggregates
    return Ends(None if row[0] is None else _head(row), row[4], row[5])


async def read_links(
    connection: AsyncConnection, tenant: Tenant, after: int, through: int, limit: int
) -> list[ChainLink]:
    """Return links in the order of the chain."""
    values = {"tenant": tenant.id, "after": after, "through": through, "limit": limit}
    cursor = await (await driver(connection)).execute(_LINKS, values)
    return [_link(row) for row in await cursor.fetchall()]


async def read_statements(connection: AsyncConnection, tenant: Tenant) -> list[ChainLink]:
    """Return the links about the log itself."""
    cursor = await (await driver(connection)).execute(_STATEMENTS, {"tenant": tenant.id})
    return [_link(row) for row in await cursor.fetchall()]


async def last_before(connection: AsyncConnection, tenant: Tenant, moment: dt.datetime) -> tuple[int, bytes] | None:
    """Return the last link that was written up to a moment."""
    cursor = await (await driver(connection)).execute(_LAST_BEFORE, {"tenant": tenant.id, "before": moment})
    row = await cursor.fetchone()
    return None if row is None else (row[0], bytes(row[1]))


async def prune(connection: AsyncConnection) -> int:
    """Remove the links that the newest link about pruning covers; returns their number."""
    cursor = await (await driver(connection)).execute(b"select prune_audit()")
    row = await cursor.fetchone()
    return row[0] if row else 0


async def read_entries(
    database: Database, caller: Caller, filters: AuditFilter, before: int | None, limit: int
) -> list[tuple[ChainLink, LinkContent | None]]:
    """Return decisions, newest first, each with its first outcome."""
    conditions = ["tenant_id = %(tenant)s", "kind = 'decision'"]
    values: dict[str, object] = {"tenant": caller.tenant.id, "limit": limit}
    for condition, value in _conditions(caller, filters, before):
        name = f"v{len(values)}"
        conditions.append(condition.format(f"%({name})s"))
        values[name] = value
    query = _DECISIONS.format(conditions=" and ".join(conditions)).encode()
    async with database.transaction(caller.tenant) as connection:
        raw = await driver(connection)
        await raw.execute(_IN_ORDER)
        decisions = [_link(row) for row in await (await raw.execute(query, values)).fetchall()]
        wanted = {"tenant": caller.tenant.id, "ids": [decision.id for decision in decisions]}
        ended = [_link(row) for row in await (await raw.execute(_OUTCOMES, wanted)).fetchall()]
    first = {link.content.subject: link.content for link in sorted(ended, key=lambda link: link.id, reverse=True)}
    return [(decision, first.get(decision.id)) for decision in decisions]


_IN_ORDER: Final = b"""
    select set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),
           set_config('enable_seqscan', 'off', true)"""
"""From the end of an index until there are enough: while the server believes a log small, it would read all of it."""
_DECISIONS: Final = (
    f"select tenant_id, id, key, previous, hash, {_CONTENT}"  # noqa: S608 - from the names of our own records
    " from audit_link where {conditions} order by tenant_id desc, id desc limit %(limit)s"
)
_OUTCOMES: Final = f"""
    select tenant_id, id, key, previous, hash, {_CONTENT} from audit_link
    where tenant_id = %(tenant)s and kind = 'outcome' and subject = any(%(ids)s)""".encode()  # noqa: S608 - as above


def _conditions(caller: Caller, filters: AuditFilter, before: int | None) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    if caller.user is not None:
        found.append(("owner = {}", caller.user))
    if before is not None:
        found.append(("id < {}", before))
    if filters.since is not None:
        found.append(("at >= {}", filters.since))
    if filters.connection:
        found.append(("connection = {}", filters.connection))
    if filters.actor:
        found.append(("actor = {}", filters.actor))
    if filters.allowed is not None:
        found.append(("allowed = {}", filters.allowed))
    if filters.text:
        found.append(("position(lower({}) in lower(sql)) > 0", filters.text))
    return found


def _append_values(tenant: Tenant, former: ChainHead, head: ChainHead, links: Sequence[ChainLink]) -> dict[str, object]:
    rows = [
        {"id": link.id, "previous": link.previous.hex(), "hash": link.hash.hex()}
        | dict(zip(_COLUMNS, astuple(link.content), strict=True))
        for link in links
    ]
    return {
        "tenant": tenant.id,
        "id": head.id,
        "hash": head.hash,
        "key": head.key,
        "seal": head.seal,
        "former_id": former.id,
        "former_hash": former.hash,
        "links": json.dumps(rows, default=str),
    }


def _head(row: Sequence[Any]) -> ChainHead:
    return ChainHead(row[0], bytes(row[1]), bytes(row[2]), bytes(row[3]))


def _link(row: Sequence[Any]) -> ChainLink:
    return ChainLink(row[0], row[1], bytes(row[2]), bytes(row[3]), bytes(row[4]), LinkContent(*row[5:]))
