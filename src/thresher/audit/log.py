"""The audit log of a process: decisions before statements run, outcomes after, questions and checks.

Invariant: `decide` returns when its line is committed. A user sees his own lines, a caller without a user all of the
tenant's.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from pathlib import Path
from typing import Final, cast

from thresher.audit import queries
from thresher.audit.anchors import Anchors
from thresher.audit.checking import Check, Frame
from thresher.audit.links import Content, Link, Signer, decision_of, outcome_of
from thresher.audit.records import Attempt, Ended, Entries, Entry, Filters, Outcome, Verification
from thresher.audit.writing import Writer, broken
from thresher.core import Caller, InvalidInput, NotAllowed, Tenant, check_limit, current_trace
from thresher.store import Database, SecretBox, clean

MOST_ENTRIES: Final = 500
"""Entries of one page."""
_LONGEST_TEXT: Final = 1_000
"""Characters of a part of a statement that is searched for."""
_AT_ONCE: Final = 1_000
"""Links that a check reads in one statement."""
_HEAD: Final = re.compile(r"(?P<place>[1-9][0-9]{0,17}):(?P<hash>[0-9a-f]{64})")


class AuditLog:
    """The log of all tenants; one per process.

    Args:
        database: Where it is kept.
        secrets: Whose key its hashes are made with.
        folder: The data folder, where a note of each chain's end is kept too; None: nowhere.
    """

    def __init__(self, database: Database, secrets: SecretBox, folder: Path | None = None) -> None:
        self._database = database
        self._signer = Signer(secrets)
        self._anchors = Anchors(folder)
        self._writer = Writer(database, self._signer, self._anchors)

    async def decide(self, caller: Caller, attempt: Attempt) -> int:
        """Note what was decided about a statement, before it runs.

        Returns:
            The entry's id, committed.

        Raises:
            AuditBroken: The log was tampered with: the statement must not run.
            StoreUnavailable: The database cannot be reached: the statement must not run.
        """
        return await self._writer.append(
            caller.tenant, decision_of(attempt, caller.user, current_trace(), dt.datetime.now(dt.UTC))
        )

    async def end(self, caller: Caller, decision: int, ended: Ended) -> None:
        """Note what came of a statement; it is noted even if the caller is cancelled meanwhile.

        Raises:
            AuditBroken: The log was tampered with.
            StoreUnavailable: The database cannot be reached.
        """
        await self._writer.append(
            caller.tenant, outcome_of(decision, ended, caller.user, current_trace(), dt.datetime.now(dt.UTC))
        )

    async def entries(
        self,
        caller: Caller,
        *,
        since: dt.datetime | str | None = None,
        connection: str = "",
        actor: str = "",
        allowed: bool | None = None,
        text: str = "",
        limit: int = 50,
        cursor: str = "",
    ) -> Entries:
        """What was asked and what came of it, newest first; arguments that are empty or None ask for nothing.

        Args:
            caller: Whose entries: a user's own, or all of the tenant's.
            since: Decided at this moment or later, also as ISO 8601; UTC where it has no zone.
            connection: Its name, exactly.
            actor: Exactly.
            allowed: Whether it was.
            text: Part of the statement, whatever the case of its letters; at most 1,000 characters.
            limit: 1 to 500.
            cursor: From the page before; empty: the first one.

        Raises:
            InvalidInput: The time or the cursor is not valid, the limit out of bounds, or the text too long.
        """
        check_limit(limit, MOST_ENTRIES)
        if len(text) > _LONGEST_TEXT:
            raise InvalidInput(f"The text is longer than {_LONGEST_TEXT:,} characters.", hint="Search for less of it.")
        filters = Filters(_moment(since), clean(connection), clean(actor), allowed, clean(text))
        rows = await queries.read_entries(self._database, caller, filters, _place(cursor), limit + 1)
        found = tuple(_entry(decision, outcome) for decision, outcome in rows[:limit])
        return Entries(found, str(found[-1].id) if len(rows) > limit else "")

    async def verify_for(self, caller: Caller, *, expect: str = "") -> Verification:
        """The same as `verify`, for a caller who sees the whole log.

        Raises:
            InvalidInput: `expect` is not a head.
            NotAllowed: The caller is one user of the tenant.
        """
        if caller.user is not None:
            raise NotAllowed(
                "Whether the log is whole is told to who sees all of it, not to a user.",
                hint="Ask without a key on the machine that keeps it, or with a key of the tenant as a whole.",
            )
        return await self.verify(caller.tenant, expect=expect)

    async def verify(self, tenant: Tenant, *, expect: str = "") -> Verification:
        """Read the whole chain and say what was changed, left out, added or cut.

        Args:
            tenant: Whose.
            expect: A head that was noted earlier, `place:hash`; it must still be in the chain.

        Raises:
            InvalidInput: `expect` is no head.
        """
        expected = _noted_head(expect)
        anchor = self._anchors.read(tenant)  # before the chain's end is read, which may move on meanwhile
        async with self._database.transaction(tenant) as connection:
            await queries.hold(connection, tenant, alone=False)
            ends = await queries.read_ends(connection, tenant)
            statements = await queries.read_statements(connection, tenant)
            check = Check(self._signer, Frame(tenant.id, ends.head, ends.last, tuple(statements), anchor, expected))
            after = check.pruned
            while links := await queries.read_links(connection, tenant, after, ends.last, _AT_ONCE):
                await asyncio.to_thread(check.read, links)
                after = links[-1].id
        return check.end()

    async def prune(self, tenant: Tenant, moment: dt.datetime) -> int:
        """Remove the links that were written up to a moment; a link says so and is never removed itself.

        Returns:
            How many links were removed.

        Raises:
            AuditBroken: The log was tampered with: what proves it must not go.
            StoreUnavailable: The database cannot be reached.
        """
        if not (await self.verify(tenant)).sound:
            raise broken("was tampered with")
        async with self._database.transaction(tenant) as connection:
            last = await queries.last_before(connection, tenant, moment)
        if last is None:
            return 0
        now = dt.datetime.now(dt.UTC)
        await self._writer.append(tenant, Content("pruned", now, subject=last[0], note=last[1].hex()))
        async with self._database.transaction(tenant) as connection:
            await queries.hold(connection, tenant, alone=True)
            return await queries.prune(connection)

    async def restart(self, tenant: Tenant) -> int:
        """Go on after trouble: a link says that what is wrong before it is known. Nothing is removed or mended.

        Returns:
            The place of that link.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        return await self._writer.restart(tenant)

    async def settle(self) -> None:
        """Wait until every line given so far is written, or could not be."""
        await self._writer.settle()


def _moment(given: dt.datetime | str | None) -> dt.datetime | None:
    """A moment; a date is its midnight, and one without a zone is UTC."""
    if isinstance(given, str):
        try:
            given = dt.datetime.fromisoformat(given.strip()) if given.strip() else None
        except ValueError:
            raise InvalidInput(
                f"'{given[:40]}' is not a valid time.", hint="Write 2026-03-01 or 2026-03-01T14:30+01:00."
            ) from None
    return given if given is None or given.tzinfo is not None else given.replace(tzinfo=dt.UTC)


def _place(cursor: str) -> int | None:
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput("This is no cursor of the audit log.", hint="Give the one of the page before, or none.")
    return int(cursor)


def _noted_head(text: str) -> tuple[int, bytes] | None:
    if not text or text == "0:":
        return None
    if (found := _HEAD.fullmatch(text)) is None:
        raise InvalidInput(
            "What is expected is no head of an audit log.", hint="Give `place:hash` as an earlier check printed it."
        )
    return int(found["place"]), bytes.fromhex(found["hash"])


def _entry(decision: Link, outcome: Content | None) -> Entry:
    told = decision.content
    attempt = Attempt(
        told.actor,
        told.client,
        told.model,
        told.thread,
        told.connection,
        told.dialect,
        told.sql,
        bool(told.allowed),
        told.rule,
        told.tool,
    )
    return Entry(decision.id, told.at, attempt, None if outcome is None else _ended(outcome), told.trace_id)


def _ended(outcome: Content) -> Ended:
    return Ended(cast("Outcome", outcome.outcome), outcome.rows or 0, outcome.ms or 0.0, outcome.note)
