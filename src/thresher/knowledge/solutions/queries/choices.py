"""What users chose to work in, as rows.

Invariant: a choice is its user's alone, and is one for each folder that clients work in and each workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller
from thresher.store import Database
from thresher.store.tables import solution_choice

_CHOICES: Final = b"""
    select workspace_id, folder, active from solution_choice
    where tenant_id = %(tenant)s and owner is not distinct from %(user)s::text
    order by at desc, id desc limit 200"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A solution or module that the caller chose.

    Attributes:
        workspace: Id of the workspace's row.
        folder: In which the client worked; empty where that was not known.
        active: Name of the solution or module.
    """

    workspace: int
    folder: str
    active: str


async def choices(database: Database, caller: Caller) -> list[Choice]:
    """What the caller chose, the last first; one round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_CHOICES, values, prepare=True))
    return [Choice(*row) for row in rows]


async def choose(link: AsyncConnection, caller: Caller, workspace: int, active: str) -> None:
    """Note what the caller chose from the folder that its client works in."""
    values = {"folder": caller.project, "workspace_id": workspace, "active": active}
    row = insert(solution_choice).values(tenant_id=caller.tenant.id, owner=caller.user, **values)
    keys = [solution_choice.c[name] for name in ("tenant_id", "owner", "folder", "workspace_id")]
    changed = {"active": active, "at": func.clock_timestamp()}
    await link.execute(row.on_conflict_do_update(index_elements=keys, set_=changed))
