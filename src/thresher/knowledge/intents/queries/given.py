"""Which rules sessions have been given.

Invariant: only what was given over a connection counts as long as that connection; everything else for some time.
What was given where no client is known counts for all clients of the caller and project.
"""

from __future__ import annotations

from typing import Final

from thresher.core import FINGERPRINT, Caller
from thresher.store import Database

_GIVEN: Final = f"""
    select coalesce(array_agg(distinct intent), '{{}}') from rules_given
    where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text
      and (client = %(client)s or client = '')
      and (client <> '' or project = %(project)s)
      and ((client <> '' and not starts_with(client, '{FINGERPRINT}')) or at > now() - make_interval(secs => %(life)s))
    """.encode()  # noqa: S608 - a constant of ours


async def given_rules(database: Database, caller: Caller, client: str, project: str, life: float) -> frozenset[str]:
    """The intents whose rules a caller has been given: over its connection, or otherwise within so many seconds."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "client": client, "project": project, "life": life}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_GIVEN, values, prepare=True))
    return frozenset(rows[0][0])
