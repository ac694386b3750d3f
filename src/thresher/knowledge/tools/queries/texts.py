"""The SQL of words, rewrites, categories and questions: what is said of a tool beside its definition.

Invariant: every change also raises the catalogue's version, by which snapshots know that they are outdated. A row
belongs to the owner of the server that it names; another owner's server of that name has rows of its own.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.queries.catalogue import raise_version, visible
from thresher.knowledge.tools.trust import GONE
from thresher.store.tables import tool_text

WORDS: Final = "words"
REWRITE: Final = "rewrite"
CATEGORY: Final = "category"
DERIVED: Final = "derived"
"""A category that the owner chose, and one that was derived."""
QUESTION: Final = "question"
ASKED: Final = "asked"
"""A question that a model wrote for one definition, and that it was asked for some."""
_ONE: Final = b""
"""The digest of a kind of which a tool has one."""


@dataclass(frozen=True, slots=True)
class ToolKey:
    """A tool by names alone, which it keeps when its server is removed and added again.

    Attributes:
        owner: The user who owns its server; None for the tenant.
        server: The server's name.
        tool: The server's own name for it.
    """

    owner: str | None
    server: str
    tool: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A description in place of a server's.

    Attributes:
        text: The description.
        definition: SHA-256 of the definition that it was approved for.
        since: When it was approved.
    """

    text: str
    definition: bytes
    since: dt.datetime


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A message that a model wrote as one that people might send when they need a tool.

    Attributes:
        text: The message.
        definition: SHA-256 of the definition that it was written for.
    """

    text: str
    definition: bytes


@dataclass(frozen=True, slots=True)
class ToolTexts:
    """What is said of one tool beside its definition.

    Attributes:
        words: The owner's words, oldest first.
        rewrite: The description in place of the server's.
        chosen: The category that the owner chose; empty if none.
        derived: The category that was derived; empty if none.
        questions: What a model wrote for any of its definitions, oldest first.
        asked: The definitions for which a model was asked, with the model's name.
    """

    words: tuple[str, ...] = ()
    rewrite: Rewrite | None = None
    chosen: str = ""
    derived: str = ""
    questions: tuple[ModelQuestion, ...] = ()
    asked: Mapping[bytes, str] = field(default_factory=dict[bytes, str])

    @property
    def category(self) -> str:
        """The category of the tool; empty if it has none."""
        return self.chosen or self.derived

    def description_of(self, definition: bytes) -> str | None:
        """Return the description that stands in place of that of a definition; None if the server's stands."""
        return self.rewrite.text if self.rewrite is not None and self.rewrite.definition == definition else None

    def questions_of(self, definition: bytes) -> tuple[str, ...]:
        """Return the questions that a model wrote for a definition."""
        return tuple(one.text for one in self.questions if one.definition == definition)


NO_TEXTS: Final = ToolTexts()


async def texts(connection: AsyncConnection, caller: Caller) -> dict[ToolKey, ToolTexts]:
    """Return all texts that the caller may see, by tool, oldest first."""
    return await _read(connection, visible(caller, tool_text))


async def texts_of(connection: AsyncConnection, tenant: Tenant, servers: Collection[str]) -> dict[ToolKey, ToolTexts]:
    """Return the texts of all servers of these names, of any owner, by tool."""
    named = tool_text.c.server == func.any(list(servers))
    return await _read(connection, (tool_text.c.tenant_id == tenant.id) & named)


async def _read(connection: AsyncConnection, which: Any) -> dict[ToolKey, ToolTexts]:
    columns = tool_text.c.owner, tool_text.c.server, tool_text.c.tool, tool_text.c.kind, tool_text.c.text
    query = select(*columns, tool_text.c.definition_hash, tool_text.c.created_at).where(which).order_by(tool_text.c.id)
    found: dict[ToolKey, ToolTexts] = {}
    for row in await connection.execute(query):
        key = ToolKey(row.owner, row.server, row.tool)
        known = found.get(key, NO_TEXTS)
        if row.kind == WORDS:
            found[key] = replace(known, words=(*known.words, row.text))
        elif row.kind == CATEGORY:
            found[key] = replace(known, chosen=row.text)
        elif row.kind == DERIVED:
            found[key] = replace(known, derived=row.text)
        elif row.kind == QUESTION:
            found[key] = replace(known, questions=(*known.questions, ModelQuestion(row.text, row.definition_hash)))
        elif row.kind == ASKED:
            found[key] = replace(known, asked={**known.asked, row.definition_hash: row.text})
        else:
            found[key] = replace(known, rewrite=Rewrite(row.text, row.definition_hash, row.created_at))
    return found


async def add_words(connection: AsyncConnection, tenant: Tenant, key: ToolKey, words: Sequence[str]) -> None:
    """Add words to those of a tool; those that it has already stay."""
    shared = {"tenant_id": tenant.id, "owner": key.owner, "server": key.server, "tool": key.tool, "kind": WORDS}
    rows = [{**shared, "text": one, "digest": hashlib.sha256(one.encode()).digest()} for one in words]
    await connection.execute(insert(tool_text).on_conflict_do_nothing(), rows)
    await raise_version(connection, tenant)


async def put_rewrite(
    connection: AsyncConnection, tenant: Tenant, key: ToolKey, description: str, definition_hash: bytes
) -> Rewrite:
    """Write the rewrite of a tool for one definition of it, in place of the last one; returns it."""
    await raise_version(connection, tenant)  # which another writer waits for: two must not insert the same
    await connection.execute(delete(tool_text).where(_of(tenant, key, REWRITE)))
    shared = {"tenant_id": tenant.id, "owner": key.owner, "server": key.server, "tool": key.tool, "kind": REWRITE}
    row = insert(tool_text).values(**shared, text=description, digest=_ONE, definition_hash=definition_hash)
    since = (await connection.execute(row.returning(tool_text.c.created_at))).scalar_one()
    return Rewrite(description, definition_hash, since)


_DELETE_CATEGORIES: Final = text(
    """
    DELETE FROM tool_text x
    USING unnest(cast(:owners AS text[]), cast(:servers AS text[]), cast(:tools AS text[])) AS k (owner, server, tool)
    WHERE x.tenant_id = :tenant AND x.kind = :kind AND x.server = k.server AND x.tool = k.tool
      AND x.owner IS NOT DISTINCT FROM k.owner
    """
)


async def put_categories(
    connection: AsyncConnection, tenant: Tenant, categories: Mapping[ToolKey, str], kind: str
) -> None:
    """Write the categories of tools, one at least, of one kind, in place of those they had; an empty one removes."""
    await raise_version(connection, tenant)  # which another writer waits for: two must not insert the same
    places = zip(*((key.owner, key.server, key.tool) for key in categories), strict=True)
    given = dict(zip(("owners", "servers", "tools"), map(list, places), strict=True))
    await connection.execute(_DELETE_CATEGORIES, {"tenant": tenant.id, "kind": kind, **given})
    rows = [
        {"tenant_id": tenant.id, "owner": key.owner, "server": key.server, "tool": key.tool, "kind": kind}
        | {"text": category, "digest": _ONE}
        for key, category in categories.items()
        if category
    ]
    if rows:
        await connection.execute(insert(tool_text), rows)


async def count_asked(connection: AsyncConnection, tenant: Tenant, since: dt.datetime) -> int:
    """Return for how many definitions of a tenant's tools a model was asked since a moment."""
    which = (tool_text.c.tenant_id == tenant.id) & (tool_text.c.kind == ASKED) & (tool_text.c.created_at > since)
    return (await connection.execute(select(func.count()).select_from(tool_text).where(which))).scalar_one()


async def put_questions(
    connection: AsyncConnection,
    tenant: Tenant,
    model: str,
    written: Mapping[ToolKey, tuple[bytes, Sequence[str]]],
    outdated: dt.datetime,
) -> None:
    """Write what a model wrote for definitions of tools, one at least, and that it was asked.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: The tenant of the tools.
        model: Its name.
        written: For each tool its definition's hash, and the questions.
        outdated: What was written for other definitions of these tools before this moment is removed.
    """
    await raise_version(connection, tenant)  # which another writer waits for: two must not insert the same
    for key, (definition, questions) in written.items():
        for kind in (QUESTION, ASKED):
            old = (tool_text.c.definition_hash != definition) & (tool_text.c.created_at < outdated)
            await connection.execute(delete(tool_text).where(_of(tenant, key, kind) & old))
        shared = {"tenant_id": tenant.id, "owner": key.owner, "server": key.server, "tool": key.tool}
        shared |= {"definition_hash": definition}
        asked = insert(tool_text).values(**shared, kind=ASKED, text=model, digest=definition).on_conflict_do_nothing()
        first = (await connection.execute(asked.returning(tool_text.c.id))).first() is not None
        if first and questions:  # otherwise another process was faster
            digests = [hashlib.sha256(definition + one.encode()).digest() for one in questions]
            rows = [
                {**shared, "kind": QUESTION, "text": one, "digest": digest}
                for one, digest in zip(questions, digests, strict=True)
            ]
            await connection.execute(insert(tool_text), rows)


async def delete_texts(
    connection: AsyncConnection, tenant: Tenant, key: ToolKey, kind: str, words: Sequence[str] | None = None
) -> int:
    """Remove texts of one kind of a tool, all or some; returns how many."""
    which = _of(tenant, key, kind)
    if words is not None:
        which &= tool_text.c.text == func.any(list(words))
    removed = (await connection.execute(delete(tool_text).where(which))).rowcount
    await raise_version(connection, tenant)
    return removed


def _of(tenant: Tenant, key: ToolKey, kind: str) -> Any:
    owned = tool_text.c.owner.is_not_distinct_from(key.owner)
    named = (tool_text.c.server == key.server) & (tool_text.c.tool == key.tool) & (tool_text.c.kind == kind)
    return (tool_text.c.tenant_id == tenant.id) & owned & named


_PURGE = text(
    """
    DELETE FROM tool_text x
    WHERE x.tenant_id = :tenant AND x.there_at <= :before AND (cast(:owner AS text) IS NULL OR x.owner = :owner)
      AND NOT EXISTS (
        SELECT FROM tool t JOIN server s ON s.tenant_id = t.tenant_id AND s.id = t.server_id
        WHERE t.tenant_id = x.tenant_id AND s.name = x.server AND s.owner IS NOT DISTINCT FROM x.owner
          AND t.name = x.tool AND (t.held <> :gone OR t.updated_at > :before))
    """
)


async def purge_texts(connection: AsyncConnection, caller: Caller, before: dt.datetime) -> int:
    """Remove a caller's texts of tools that have been gone since before a moment; returns how many."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "before": before, "gone": GONE}
    return (await connection.execute(_PURGE, values)).rowcount
