"""The SQL of a server's good listing: what is in use, what waits for approval, what is gone.

Invariant: standings are read, judged and written under the server's row lock, so that refreshes, replicas and approvals
run one after another. A definition in use is only replaced by one that was judged free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import LargeBinary

from thresher.core import Tenant, Tool, dumps
from thresher.knowledge.tools.definitions import compact, definition_hash, pending_text
from thresher.knowledge.tools.queries.catalogue import DEFINITION, any_of, definition_of, raise_version
from thresher.knowledge.tools.queries.servers import lock_server, set_server
from thresher.knowledge.tools.trust import GONE, WAITING, ToolStanding, TrustVerdict
from thresher.scanner import Finding
from thresher.store.tables import tool

_UPSERT_ROWS = 2_000
_REMEMBERED = 1_000
"""Vanished tools that are remembered for each server, the newest ones."""


@dataclass(frozen=True, slots=True)
class ToolWrite:
    """A tool to be written into the catalogue."""

    tool: Tool
    enriched: str
    content_hash: bytes
    definition_hash: bytes
    tokens: int
    line: str
    gist: str
    body_hash: bytes
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ListingWrite:
    """A good listing of one server.

    Attributes:
        tools: All its tools, or with `only` at most that one.
        only: The one tool that is refreshed; the others stay.
        description: What the server is for.
        problem: What was wrong with single definitions, which are not among the tools; empty if nothing was.
        digest: Identifies this listing and what its judgement depends on; None if nothing does.
    """

    tools: Sequence[ToolWrite]
    only: str | None
    description: str
    problem: str = ""
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class ListingResult:
    """What a listing did: ids of the tools that are gone, and the names of those that now wait for approval."""

    gone: Sequence[int]
    held: Sequence[str]


Judge: TypeAlias = Callable[[ToolWrite, ToolStanding | None], TrustVerdict]


async def write_listing(
    connection: AsyncConnection, tenant: Tenant, server_id: int, listing: ListingWrite, judge: Judge
) -> ListingResult | None:
    """Store a good listing: judge and write each tool, put aside what is no longer listed, count the change.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: The tenant of the server.
        server_id: The server.
        listing: What it lists.
        judge: Decides about each tool; pure.

    Returns:
        None if the server itself is gone.
    """
    if not await lock_server(connection, tenant, server_id):
        return None
    known = await _standings(connection, tenant, server_id, listing)
    judged = [(write, judge(write, known.get(write.tool.name))) for write in listing.tools]
    await put_tools(connection, tenant, server_id, [pair for pair in judged if pair[1].stored])
    await _hold(connection, tenant, server_id, [pair for pair in judged if not pair[1].stored])
    gone = await _put_aside(connection, tenant, server_id, listing)
    ready: dict[str, Any] = {"state": "ready", "listed_at": func.now(), "description": listing.description}
    await set_server(connection, tenant, server_id, error=listing.problem, listing=listing.digest, **ready)
    await raise_version(connection, tenant)
    waiting = {name for name, standing in known.items() if standing.held in WAITING}
    held = [write.tool.name for write, verdict in judged if verdict.held in WAITING]
    return ListingResult(gone, [name for name in held if name not in waiting])


async def _standings(
    connection: AsyncConnection, tenant: Tenant, server_id: int, listing: ListingWrite
) -> dict[str, ToolStanding]:
    """What is stored of a server's tools.

    A stored hash only saves reading the definition: if it differs from the listed one, the running code compares the
    two definitions, so that another way of hashing changes no tool.
    """
    columns = (tool.c.id, tool.c.name, tool.c.definition_hash, tool.c.approved_hash, tool.c.held)
    query = select(*columns, tool.c.pending.op("->>")("hash").label("pending"))
    rows = (await connection.execute(query.where(*_of(tenant, server_id)))).all()
    listed = {write.tool.name: write.definition_hash for write in listing.tools}
    differing = [row.id for row in rows if listed.get(row.name, row.definition_hash) != row.definition_hash]
    anew = await _hashes(connection, tenant, differing)
    return {row.name: _standing(row, anew.get(row.id)) for row in rows}


def _standing(row: Any, anew: bytes | None) -> ToolStanding:
    stored = anew or row.definition_hash
    approved = stored if row.approved_hash == row.definition_hash else row.approved_hash
    return ToolStanding(stored, approved, row.held, bytes.fromhex(row.pending) if row.pending else None)


async def _hashes(connection: AsyncConnection, tenant: Tenant, ids: Sequence[int]) -> dict[int, bytes]:
    if not ids:
        return {}
    rows = await connection.execute(select(*DEFINITION).where(tool.c.tenant_id == tenant.id, tool.c.id == any_of(ids)))
    return {row.id: definition_hash(definition_of(row, "")) for row in rows}


_UPSERT = text(
    """
    INSERT INTO tool AS t (tenant_id, server_id, owner, name, title, description, input_schema, output_schema,
                           annotations, enriched, content_hash, definition_hash, tokens, line, gist, body_hash, held,
                           pending, findings)
    SELECT :tenant, :server, s.owner, n.name, n.title, n.description, n.input_schema::json, n.output_schema::json,
           n.annotations::json, n.enriched, n.content_hash, n.definition_hash, n.tokens, n.line, n.gist,
           n.body_hash, n.held, n.pending::json, n.findings::jsonb
    FROM unnest(CAST(:names AS text[]), CAST(:titles AS text[]), CAST(:descriptions AS text[]),
                CAST(:inputs AS text[]), CAST(:outputs AS text[]), CAST(:annotations AS text[]),
                CAST(:enriched AS text[]), :hashes, :digests, CAST(:tokens AS int[]),
                CAST(:lines AS text[]), CAST(:gists AS text[]), :bodies, CAST(:held AS text[]),
                CAST(:pending AS text[]), CAST(:findings AS text[]))
         AS n(name, title, description, input_schema, output_schema, annotations, enriched, content_hash,
              definition_hash, tokens, line, gist, body_hash, held, pending, findings)
    CROSS JOIN (SELECT owner FROM server WHERE tenant_id = :tenant AND id = :server) s
    ON CONFLICT (tenant_id, server_id, name) DO UPDATE
    SET title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
        output_schema = excluded.output_schema, annotations = excluded.annotations, enriched = excluded.enriched,
        content_hash = excluded.content_hash, definition_hash = excluded.definition_hash, tokens = excluded.tokens,
        line = excluded.line, gist = excluded.gist, body_hash = excluded.body_hash, held = excluded.held,
        pending = excluded.pending, findings = excluded.findings, updated_at = now()
    WHERE (t.content_hash, t.definition_hash, t.gist, t.body_hash, t.held, t.findings) IS DISTINCT FROM
          (excluded.content_hash, excluded.definition_hash, excluded.gist, excluded.body_hash, excluded.held,
           excluded.findings)
       OR t.pending ->> 'hash' IS DISTINCT FROM excluded.pending ->> 'hash'
    """
).bindparams(*(bindparam(name, type_=ARRAY(LargeBinary)) for name in ("hashes", "digests", "bodies")))


async def put_tools(
    connection: AsyncConnection, tenant: Tenant, server_id: int, judged: Sequence[tuple[ToolWrite, TrustVerdict]]
) -> None:
    """Insert or update a server's tools in batches; unchanged rows and the switches of changed ones stay."""
    for start in range(0, len(judged), _UPSERT_ROWS):
        batch = judged[start : start + _UPSERT_ROWS]
        writes = [write for write, _ in batch]
        await connection.execute(
            _UPSERT,
            {
                "tenant": tenant.id,
                "server": server_id,
                "names": [w.tool.name for w in writes],
                "titles": [w.tool.title for w in writes],
                "descriptions": [w.tool.description for w in writes],
                "inputs": [compact(w.tool.input_schema) for w in writes],
                "outputs": [None if w.tool.output_schema is None else compact(w.tool.output_schema) for w in writes],
                "annotations": [compact(w.tool.annotations) for w in writes],
                "enriched": [w.enriched for w in writes],
                "hashes": [w.content_hash for w in writes],
                "digests": [w.definition_hash for w in writes],
                "tokens": [w.tokens for w in writes],
                "lines": [w.line for w in writes],
                "gists": [w.gist for w in writes],
                "bodies": [w.body_hash for w in writes],
                "held": [verdict.held for _, verdict in batch],
                "pending": [
                    pending_text(write.tool, write.definition_hash) if verdict.held else None
                    for write, verdict in batch
                ],
                "findings": [dumps(write.findings) for write in writes],
            },
        )


_HOLD = text(
    """
    UPDATE tool AS t
    SET held = n.held, pending = n.pending::json, findings = n.findings::jsonb, updated_at = now()
    FROM unnest(CAST(:names AS text[]), CAST(:held AS text[]), CAST(:pending AS text[]), CAST(:findings AS text[]))
         AS n(name, held, pending, findings)
    WHERE t.tenant_id = :tenant AND t.server_id = :server AND t.name = n.name
      AND ((t.held, t.findings) IS DISTINCT FROM (n.held, n.findings::jsonb)
           OR t.pending ->> 'hash' IS DISTINCT FROM n.pending::json ->> 'hash')
    """
)


async def _hold(
    connection: AsyncConnection, tenant: Tenant, server_id: int, judged: Sequence[tuple[ToolWrite, TrustVerdict]]
) -> None:
    """Store pending definitions next to the stored ones, which stay."""
    if not judged:
        return
    await connection.execute(
        _HOLD,
        {
            "tenant": tenant.id,
            "server": server_id,
            "names": [write.tool.name for write, _ in judged],
            "held": [verdict.held for _, verdict in judged],
            "pending": [pending_text(write.tool, write.definition_hash) for write, _ in judged],
            "findings": [dumps(write.findings) for write, _ in judged],
        },
    )


async def _put_aside(
    connection: AsyncConnection, tenant: Tenant, server_id: int, listing: ListingWrite
) -> Sequence[int]:
    """Put aside what is no longer listed; returns the ids. An empty listing puts nothing aside."""
    listed = [write.tool.name for write in listing.tools]
    if listing.only is None and listed:
        which = tool.c.name != func.all(listed)
    elif listing.only is not None and not listed:
        which = tool.c.name == listing.only
    else:
        return []
    aside = update(tool).where(*_of(tenant, server_id), tool.c.held != GONE, which).values(held=GONE)
    gone = list((await connection.execute(aside.values(updated_at=func.now()).returning(tool.c.id))).scalars())
    if gone:
        await connection.execute(
            _FORGET, {"tenant": tenant.id, "server": server_id, "gone": GONE, "remembered": _REMEMBERED}
        )
    return gone


_FORGET = text(
    """
    DELETE FROM tool WHERE tenant_id = :tenant AND id IN (
        SELECT id FROM tool WHERE tenant_id = :tenant AND server_id = :server AND held = :gone
        ORDER BY updated_at DESC, id DESC OFFSET :remembered)
    """
)


def _of(tenant: Tenant, server_id: int) -> tuple[Any, Any]:
    return tool.c.tenant_id == tenant.id, tool.c.server_id == server_id
