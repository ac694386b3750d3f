"""Stores conversations with the assistant: questions, and the subjects of their answers.

Invariant: a conversation belongs to one user, or to a caller without a user; each is bounded in turns and in size, and
ends a day after its last question. Turns added at the same time are all kept. Secrets that are recognised by their form
are masked before a question is stored.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Any, Final

from thresher.agent.assistant.records import AssistantCall, RememberedTurn, ResultSubject
from thresher.core import Caller, InvalidInput, NotFound, Tenant, mask_text
from thresher.store import Database, clean_json

_READ: Final = b"""
    select turns from assistant_session
    where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text and name = %(name)s
      and at > now() - make_interval(secs => %(life)s)"""

# The row's lock orders the turns of one conversation; the last ones are kept. An expired conversation
# starts again, and only the most recently used ones of an owner are kept.
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
"""Sees no tenant's rows; the database function goes through all tenants itself."""


async def read_turns(database: Database, caller: Caller, name: str, life: float) -> list[Any] | None:
    """Return the turns of a caller's conversation, oldest first; None without one within so many seconds."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "name": name, "life": life}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True))
    return rows[0][0] if rows else None


async def add_turn(
    database: Database, caller: Caller, name: str, turn: str, *, life: float, most: int, others: int
) -> None:
    """Add a turn, as JSON, to a caller's conversation, which is created if it does not exist.

    Args:
        database: The database.
        caller: The owner.
        name: Of the conversation.
        turn: A JSON object.
        life: Seconds after which a conversation ends.
        most: Turns that are kept.
        others: Other conversations of the caller that are kept.
    """
    values = {"tenant": caller.tenant.id, "owner": caller.user, "name": name, "turn": turn}
    values |= {"life": life, "most": most, "others": others}
    await database.once(caller.tenant, lambda driver: driver.execute(_ADD, values, prepare=True))


async def purge_conversations(database: Database, life: float) -> int:
    """Remove conversations of all tenants without a turn for so many seconds; returns their number."""
    rows = await database.once(_NOBODY, lambda driver: driver.execute(_PURGE, {"life": life}))
    return int(rows[0][0])


LIFE_SECONDS: Final = 24 * 3600.0
TURNS: Final = 20
SUBJECTS: Final = 25
"""Results of a turn that a later question can name by position: a page of a list."""
OTHERS: Final = 200
"""Other conversations of an owner that are kept."""
_TEXT: Final = 500
_TURN_BYTES: Final = 16_000
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation.

    Attributes:
        name: The id with which the caller continues it.
        turns: Oldest first; empty at its beginning.
    """

    name: str
    turns: tuple[RememberedTurn, ...] = ()


class AssistantSessions:
    """The conversations of all callers, in the database. One per process.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, caller: Caller, name: str = "", *, begins: bool = False) -> Conversation:
        """Return a caller's conversation; a new one without a name.

        Args:
            caller: The owner.
            name: The id of the conversation.
            begins: Whether it begins if there is none of this name.

        Raises:
            InvalidInput: The name is not a valid one.
            NotFound: The caller has no such conversation, or it has expired.
            StoreUnavailable: The database does not answer.
        """
        if not name:
            return Conversation(secrets.token_urlsafe(12))
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                "session_id is not the id of a conversation.", hint="Copy it from an answer, or leave it out."
            )
        turns = await read_turns(self._database, caller, name, LIFE_SECONDS)
        if turns is None and begins:
            return Conversation(name)
        if turns is None:
            raise NotFound(
                f"There is no conversation '{name}'.",
                hint="Leave session_id out to begin a new one; a conversation ends a day after its last question.",
            )
        return Conversation(name, tuple(turn for raw in turns if (turn := _turn(raw)) is not None))

    async def add(self, caller: Caller, name: str, turn: RememberedTurn) -> None:
        """Remember a turn.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        text = _written(turn)
        await add_turn(self._database, caller, name, text, life=LIFE_SECONDS, most=TURNS, others=OTHERS)

    async def purge(self) -> int:
        """Remove expired conversations of all tenants; returns their number."""
        return await purge_conversations(self._database, LIFE_SECONDS)


def _written(turn: RememberedTurn) -> str:
    """Return a turn as JSON, with fewer results if it would be too large."""
    subjects = turn.subjects[:SUBJECTS]
    while True:
        kept = {
            **asdict(turn),
            "query": mask_text(turn.query[:_TEXT]),
            "understood": mask_text(turn.understood[:_TEXT]),
            "subjects": [asdict(subject) for subject in subjects],
        }
        text = json.dumps(clean_json(kept), ensure_ascii=False)
        if len(text.encode()) <= _TURN_BYTES or not subjects:
            return text
        subjects = subjects[: len(subjects) // 2]


def _turn(raw: Any) -> RememberedTurn | None:
    """Return a stored turn; None if another version of Thresher wrote it in another form."""
    try:
        return RememberedTurn(
            query=raw["query"],
            understood=raw["understood"],
            type=raw["type"],
            subjects=tuple(
                ResultSubject(one["kind"], one["name"], _call(one["read"]), tuple(one["sources"]))
                for one in raw["subjects"]
            ),
            sources=tuple(raw["sources"]),
            more=_call(raw["more"]) if raw["more"] else None,
            kind=raw["kind"],
        )
    except (KeyError, TypeError):
        return None


def _call(raw: Any) -> AssistantCall:
    return AssistantCall(raw["tool"], raw["arguments"])
