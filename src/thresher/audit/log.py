"""The audit log of a process: decisions before statements run, outcomes after, queries and verification.

Invariant: `decide` returns when its entry is committed. A user sees their own entries, a caller without a user all of
the tenant's.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from pathlib import Path
from typing import Final, cast

from thresher.audit import queries
from thresher.audit.anchors import Anchors
from thresher.audit.chain_check import ChainCheck, ChainFrame
from thresher.audit.chain_writer import ChainWriter, broken
from thresher.audit.links import ChainLink, LinkContent, Signer, decision_of, outcome_of
from thresher.audit.records import Attempt, AuditEntry, AuditFilter, AuditPage, Outcome, StatementOutcome, Verification
from thresher.core import Caller, CursorCodec, InvalidInput, NotAllowed, Tenant, check_limit, current_trace
from thresher.store import Database, SecretBox, clean

MOST_ENTRIES: Final = 500
"""AuditPage of one page."""
_CURSOR: Final[CursorCodec[int]] = CursorCodec("sql_activity_log", int)
_LONGEST_TEXT: Final = 1_000
"""Longest part of a statement that can be searched for, in characters."""
_AT_ONCE: Final = 1_000
"""Links that a verification reads in one statement."""
_HEAD: Final = re.compile(r"(?P<place>[1-9][0-9]{0,17}):(?P<hash>[0-9a-f]{64})")


class AuditLog:
    """The log of all tenants; one per process.

    Args:
        database: The database of the log.
        secrets: Its key makes the hashes.
        folder: The data folder, where the end of each chain is noted too; None to note nothing.
    """

    def __init__(self, database: Database, secrets: SecretBox, folder: Path | None = None) -> None:
        self._database = database
        self._signer = Signer(secrets)
        self._anchors = Anchors(folder)
        self._writer = ChainWriter(database, self._signer, self._anchors)

    async def decide(self, caller: Caller, attempt: Attempt) -> int:
        """Record the decision about a statement, before it runs.

        Returns:
            The entry's id, committed.

        Raises:
            AuditBroken: The log was tampered with: the statement must not run.
            StoreUnavailable: The database cannot be reached: the statement must not run.
        """
        return await self._writer.append(
            caller.tenant, decision_of(attempt, caller.user, current_trace(), dt.datetime.now(dt.UTC))
        )

    async def end(self, caller: Caller, decision: int, ended: StatementOutcome) -> None:
        """Record the outcome of a statement, even if the caller is cancelled meanwhile.

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
    ) -> AuditPage:
        """Return decisions and outcomes, newest first; an argument that is empty or None does not filter.

        Args:
            caller: The user whose entries are read, or the tenant.
            since: Decided at this moment or later, also as ISO 8601; UTC without a zone.
            connection: Name of the connection.
            actor: The actor.
            allowed: Whether the statement was allowed.
            text: Part of the statement, whatever the case of its letters; at most 1,000 characters.
            limit: 1 to 500.
            cursor: From the page before; empty for the first one.

        Raises:
            InvalidInput: The time is not valid, the limit out of bounds, or the text too long.
            InvalidCursor: The cursor is not of this log.
        """
        check_limit(limit, MOST_ENTRIES)
        if len(text) > _LONGEST_TEXT:
            raise InvalidInput(f"The text is longer than {_LONGEST_TEXT:,} characters.", hint="Search for less of it.")
        filters = AuditFilter(_moment(since), clean(connection), clean(actor), allowed, clean(text))
        (before,) = _CURSOR.decode(cursor) if cursor else (None,)
        rows = await queries.read_entries(self._database, caller, filters, before, limit + 1)
        found = tuple(_entry(decision, outcome) for decision, outcome in rows[:limit])
        return AuditPage(found, _CURSOR.encode(found[-1].id) if len(rows) > limit else "")

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
        """Verify the whole chain: report what was changed, left out, added or cut.

        Args:
            tenant: The tenant of the chain.
            expect: A head that was noted earlier, `position:hash`; it must still be in the chain.

        Raises:
            InvalidInput: `expect` is not a head.
        """
        expected = _noted_head(expect)
        anchor = self._anchors.read(tenant)  # before the chain's end is read, which may move on meanwhile
        async with self._database.transaction(tenant) as connection:
            await queries.hold(connection, tenant, alone=False)
            ends = await queries.read_ends(connection, tenant)
            statements = await queries.read_statements(connection, tenant)
            check = ChainCheck(
                self._signer, ChainFrame(tenant.id, ends.head, ends.last, tuple(statements), anchor, expected)
            )
            after = check.pruned
            while links := await queries.read_links(connection, tenant, after, ends.last, _AT_ONCE):
                await asyncio.to_thread(check.read, links)
                after = links[-1].id
        return check.end()

    async def prune(self, tenant: Tenant, moment: dt.datetime) -> int:
        """Remove the links that were written up to a moment; a link records that and is never removed itself.

        Returns:
            Number of removed links.

        Raises:
            AuditBroken: The log was tampered with: the evidence must not be removed.
            StoreUnavailable: The database cannot be reached.
        """
        if not (await self.verify(tenant)).sound:
            raise broken("was tampered with")
        async with self._database.transaction(tenant) as connection:
            last = await queries.last_before(connection, tenant, moment)
        if last is None:
            return 0
        now = dt.datetime.now(dt.UTC)
        await self._writer.append(tenant, LinkContent("pruned", now, subject=last[0], note=last[1].hex()))
        async with self._database.transaction(tenant) as connection:
            await queries.hold(connection, tenant, alone=True)
            return await queries.prune(connection)

    async def restart(self, tenant: Tenant) -> int:
        """Continue after trouble: a link records that the errors before it are known. Nothing is removed or repaired.

        Returns:
            The position of that link.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        return await self._writer.restart(tenant)

    async def settle(self) -> None:
        """Wait until every entry added so far is written, or has failed."""
        await self._writer.settle()


def _moment(given: dt.datetime | str | None) -> dt.datetime | None:
    """Return a moment; a date is its midnight, and one without a zone is UTC."""
    if isinstance(given, str):
        try:
            given = dt.datetime.fromisoformat(given.strip()) if given.strip() else None
        except ValueError:
            raise InvalidInput(
                f"'{given[:40]}' is not a valid time.", hint="Write 2026-03-01 or 2026-03-01T14:30+01:00."
            ) from None
    return given if given is None or given.tzinfo is not None else given.replace(tzinfo=dt.UTC)


def _noted_head(text: str) -> tuple[int, bytes] | None:
    if not text or text == "0:":
        return None
    if (found := _HEAD.fullmatch(text)) is None:
        raise InvalidInput(
            "The expected head is not a head of an audit log.",
            hint="Give `position:hash` as an earlier check printed it.",
        )
    return int(found["place"]), bytes.fromhex(found["hash"])


def _entry(decision: ChainLink, outcome: LinkContent | None) -> AuditEntry:
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
    ended = outcome and StatementOutcome(
        cast("Outcome", outcome.outcome), outcome.rows or 0, outcome.ms or 0.0, outcome.note
    )
    return AuditEntry(decision.id, told.at, attempt, ended, told.trace_id)
