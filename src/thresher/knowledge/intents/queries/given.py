"""Which rules sessions have been given.

Invariant: what was given without a connection counts for the caller's other connections too, but only for some time.
"""

from __future__ import annotations

from typing import Final

from thresher.core import Caller
from thresher.store import Database

_GIVEN: Final = b"""
    select coalesce(array_agg(distinct intent), '{}') from rules_given
    where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text
      and ((client <> '' and client = %(client)s)
           or (client = '' and project = %(project)s and at > now() - make_interval(secs => %(life)s)))"""


async def given_rules(database: Database, caller: Caller, client: str, project: str, life: float) -> frozenset[str]:
    """The intents whose rules a caller has been given: over its connection, or without one within so many seconds."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "client": client, "project": project, "life": life}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_GIVEN, values, prepare=True))
    return frozenset(rows[0][0])
