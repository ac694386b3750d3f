"""All SQL of the solutions kind: workspaces, and what users chose to work in.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`. The tenant in each WHERE is
for the planner; the row-level policy separates tenants even without it. A caller without a user owns the tenant's
workspaces; a user sees those and its own. A choice belongs to one user, folder of the client, and workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.store import Database
from thresher.store.tables import solution_choice, workspace

_KNOWN: Final = b"""
    select id, owner, name, path, format from workspace
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text)
    order by name, owner nulls first"""


@dataclass(frozen=True, slots=True)
class KnownWorkspace:
    """A workspace that was added.

    Attributes:
        id: Row id.
        owner: The only user who sees it; None if everyone in the tenant does.
        name: Its name for tools.
        path: Its folder.
        format: Format of its files.
    """

    id: int
    owner: str | None
    name: str
    path: Path
    format: str


async def known(database: Database, caller: Caller) -> dict[str, KnownWorkspace]:
    """Return the workspaces that the caller sees, by name; a user's own hides the tenant's. One round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_KNOWN, values, prepare=True))
    return {one.name: one for one in (_known(row) for row in rows)}


async def own_workspaces(link: AsyncConnection, caller: Caller) -> dict[str, KnownWorkspace]:
    """Return the caller's own workspaces by name, or the tenant's if the caller has no user."""
    query = select(workspace.c.id, workspace.c.owner, workspace.c.name, workspace.c.path, workspace.c.format)
    rows = await link.execute(query.where(_owned(caller)).order_by(workspace.c.name))
    return {one.name: one for one in (_known(tuple(row)) for row in rows)}


async def add_workspace(link: AsyncConnection, caller: Caller, name: str, path: Path, form: str) -> bool:
    """Insert a workspace of the caller; return False if it has one of this name."""
    row = insert(workspace).values(
        tenant_id=caller.tenant.id, owner=caller.user, name=name, path=str(path), format=form
    )
    return (await link.execute(row.on_conflict_do_nothing().returning(workspace.c.id))).scalar() is not None


async def replace_workspace(link: AsyncConnection, caller: Caller, name: str, path: Path, form: str) -> None:
    """Change the folder of the caller's workspace."""
    query = update(workspace).where(_owned(caller), workspace.c.name == name)
    await link.execute(query.values(path=str(path), format=form))


async def delete_workspace(link: AsyncConnection, tenant: Tenant, one: KnownWorkspace) -> bool:
    """Delete a workspace and the choices in it; return whether no one in the tenant has its folder any more."""
    own = workspace.c.tenant_id == tenant.id
    await link.execute(delete(workspace).where(own, workspace.c.id == one.id))
    left = select(workspace.c.id).where(own, workspace.c.path == str(one.path)).limit(1)
    return (await link.execute(left)).scalar() is None


def _owned(caller: Caller) -> Any:
    owner = workspace.c.owner.is_(None) if caller.user is None else workspace.c.owner == caller.user
    return (workspace.c.tenant_id == caller.tenant.id) & owner


def _known(row: tuple[Any, ...]) -> KnownWorkspace:
    number, owner, name, path, form = row
    return KnownWorkspace(number, owner, name, Path(path), form)


_CHOICES: Final = b"""
    select workspace_id, folder, active from solution_choice
    where tenant_id = %(tenant)s and owner is not distinct from %(user)s::text
    order by at desc, id desc limit 200"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A solution or module that a caller chose.

    Attributes:
        workspace: Row id of the workspace.
        folder: Folder of the client; empty if unknown.
        active: Name of the solution or module.
    """

    workspace: int
    folder: str
    active: str


async def choices(database: Database, caller: Caller) -> list[Choice]:
    """Return the choices of the caller, the last first; one round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_CHOICES, values, prepare=True))
    return [Choice(*row) for row in rows]


async def choose(link: AsyncConnection, caller: Caller, workspace: int, active: str) -> None:
    """Store a choice of the caller for the folder of its client."""
    values = {"folder": caller.project, "workspace_id": workspace, "active": active}
    row = insert(solution_choice).values(tenant_id=caller.tenant.id, owner=caller.user, **values)
    keys = [solution_choice.c[name] for name in ("tenant_id", "owner", "folder", "workspace_id")]
    changed = {"active": active, "at": func.clock_timestamp()}
    await link.execute(row.on_conflict_do_update(index_elements=keys, set_=changed))
