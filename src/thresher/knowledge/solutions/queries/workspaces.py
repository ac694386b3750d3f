"""Workspaces, as rows.

Invariant: a caller without a user owns what is the tenant's; a user sees that and its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.store import Database
from thresher.store.tables import workspace

_KNOWN: Final = b"""
    select id, owner, name, path, format from workspace
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text)
    order by name, owner nulls first"""


@dataclass(frozen=True, slots=True)
class Known:
    """A workspace that was added.

    Attributes:
        id: Its row's.
        owner: The only user who sees it; None for everybody of the tenant.
        name: As tools take it.
        path: Its folder.
        format: Of its files.
    """

    id: int
    owner: str | None
    name: str
    path: Path
    format: str


async def known(database: Database, caller: Caller) -> dict[str, Known]:
    """The workspaces that the caller sees, by name; a user's own hides the tenant's. One round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_KNOWN, values, prepare=True))
    return {one.name: one for one in (_known(row) for row in rows)}


async def own_workspaces(link: AsyncConnection, caller: Caller) -> dict[str, Known]:
    """The caller's own workspaces (the tenant's where it has no user), by name."""
    query = select(workspace.c.id, workspace.c.owner, workspace.c.name, workspace.c.path, workspace.c.format)
    rows = await link.execute(query.where(_owned(caller)).order_by(workspace.c.name))
    return {one.name: one for one in (_known(tuple(row)) for row in rows)}


async def add_workspace(link: AsyncConnection, caller: Caller, name: str, path: Path, form: str) -> bool:
    """Insert a workspace of the caller's; False where it has one of this name."""
    row = insert(workspace).values(
        tenant_id=caller.tenant.id, owner=caller.user, name=name, path=str(path), format=form
    )
    return (await link.execute(row.on_conflict_do_nothing().returning(workspace.c.id))).scalar() is not None


async def replace_workspace(link: AsyncConnection, caller: Caller, name: str, path: Path, form: str) -> None:
    """Give the caller's workspace of a name another folder."""
    query = update(workspace).where(_owned(caller), workspace.c.name == name)
    await link.execute(query.values(path=str(path), format=form))


async def delete_workspace(link: AsyncConnection, tenant: Tenant, one: Known) -> bool:
    """Forget a workspace, and what was chosen in it; whether nobody of the tenant knows its folder any longer."""
    own = workspace.c.tenant_id == tenant.id
    await link.execute(delete(workspace).where(own, workspace.c.id == one.id))
    left = select(workspace.c.id).where(own, workspace.c.path == str(one.path)).limit(1)
    return (await link.execute(left)).scalar() is None


def _owned(caller: Caller) -> Any:
    owner = workspace.c.owner.is_(None) if caller.user is None else workspace.c.owner == caller.user
    return (workspace.c.tenant_id == caller.tenant.id) & owner


def _known(row: tuple[Any, ...]) -> Known:
    number, owner, name, path, form = row
    return Known(number, owner, name, Path(path), form)
