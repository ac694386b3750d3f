"""The SQL of conversations.

Invariant: a conversation is one user's, or of a caller without a user; turns that are added at once are all kept.
"""

from __future__ import annotations

from typing import Any, Final

from thresher.core import Caller, Tenant
from thresher.store import Database

_READ: Final = b"""
    select turns from assistant_session
    where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text and name = %(name)s
      and at > now() - make_interval(secs => %(life)s)"""

# The row's lock puts turns of one conversation one after another; the last ones stay. A conversation whose time is over
# begins anew, and of one owner only so many are kept, those that went on last.
_ADD: Final = b"""
    with extra as (
      delete from assistant_session
      where tenant_id = %(tenant)s and id in (
        select id from assistant_session
        where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text and name <> %(name)s
        order by at desc offset %(others)s))
    insert into assistant_session (tenant_id, owner, name, turns)
    values (%(tenant)s, %(owner)s, %(name)s, jsonb_build_array(%(turn)s::jsonb))
    on conflict (tenant_id, owner, name) do update
    set at = now(), turns = (
      select jsonb_agg(turn order by place) from (
        select turn, place from jsonb_array_elements(
          case when assistant_session.at > now() - make_interval(secs => %(life)s)
               then assistant_session.turns else '[]' end || excluded.turns
        ) with ordinality as each (turn, place)
        order by place desc limit %(most)s) last)
    returning id"""

_PURGE: Final = b"select purge_conversations(now() - make_interval(secs => %(life)s))"
_NOBODY: Final = Tenant(0, "")
"""Sees no tenant's rows; the function goes through all tenants itself."""


async def read_turns(database: Database, caller: Caller, name: str, life: float) -> list[Any] | None:
    """The turns of a caller's conversation, oldest first; None where none went on within so many seconds."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "name": name, "life": life}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True))
    return rows[0][0] if rows else None


async def add_turn(
    database: Database, caller: Caller, name: str, turn: str, *, life: float, most: int, others: int
) -> None:
    """Add a turn, as JSON, to a caller's conversation, which begins with it where there is none.

    Args:
        database: Where it is.
        caller: Whose it is.
        name: Of the conversation.
        turn: A JSON object.
        life: Seconds after which a conversation is over.
        most: Turns that are kept.
        others: Conversations of the caller that are kept beside it.
    """
    values = {"tenant": caller.tenant.id, "owner": caller.user, "name": name, "turn": turn}
    values |= {"life": life, "most": most, "others": others}
    await database.once(caller.tenant, lambda driver: driver.execute(_ADD, values, prepare=True))


async def purge_conversations(database: Database, life: float) -> int:
    """Remove conversations of all tenants that did not go on for so many seconds; returns how many."""
    rows = await database.once(_NOBODY, lambda driver: driver.execute(_PURGE, {"life": life}))
    return int(rows[0][0])
