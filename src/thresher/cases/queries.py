"""The SQL of test cases and of their runs.

Invariant: every statement runs under the tenant's policy. A user sees the tenant's cases and their own, changes only
their own, and sees only their own runs.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Boolean, delete, func, insert, literal_column, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.cases.records import Case, CaseOutcome, CaseRun, CaseVerb
from thresher.core import Caller
from thresher.store.tables import case_outcome, case_run, test_case

KEPT_RUNS: Final = 1_000
"""Runs of a caller that are kept; the oldest go first."""


async def put_case(
    connection: AsyncConnection,
    caller: Caller,
    verb: CaseVerb,
    message: str,
    needs: Mapping[str, Sequence[str]],
    excluded: Mapping[str, Sequence[str]],
) -> tuple[Case, bool]:
    """Store a case, or other names for one whose message is there; returns it, and whether it is new."""
    row = upsert(test_case).values(
        tenant_id=caller.tenant.id,
        owner=caller.user,
        verb=verb,
        message=message,
        digest=hashlib.sha256(message.encode()).digest(),
        needs={kind: list(names) for kind, names in needs.items()},
        excluded={kind: list(names) for kind, names in excluded.items()},
    )
    stored = row.on_conflict_do_update(
        index_elements=["tenant_id", "owner", "verb", "digest"],
        set_={"needs": row.excluded.needs, "excluded": row.excluded.excluded},
    ).returning(*_CASE, literal_column("xmax = 0", Boolean).label("new"))
    found = (await connection.execute(stored)).one()
    return _case(found), bool(found.new)


_CASE: Final = (
    test_case.c.id,
    test_case.c.verb,
    test_case.c.message,
    test_case.c.needs,
    test_case.c.excluded,
    test_case.c.owner,
    test_case.c.created_at,
)


def _case(row: Any) -> Case:
    needs, excluded = (
        {kind: tuple(names) for kind, names in names_by_kind.items()} for names_by_kind in (row.needs, row.excluded)
    )
    return Case(row.id, row.verb, row.message, needs, excluded, row.owner is None, row.created_at)


async def cases(connection: AsyncConnection, caller: Caller, limit: int) -> list[Case]:
    """Return the cases that the caller sees, the oldest first."""
    shared = test_case.c.owner.is_(None)
    mine = shared if caller.user is None else shared | (test_case.c.owner == caller.user)
    query = select(*_CASE).where(test_case.c.tenant_id == caller.tenant.id, mine).order_by(test_case.c.id)
    return [_case(row) for row in await connection.execute(query.limit(limit))]


async def delete_case(connection: AsyncConnection, caller: Caller, number: int) -> bool:
    """Remove a case of the caller's own, with its outcomes; returns whether it was there."""
    table = test_case.c
    mine = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user), table.id == number
    return (await connection.execute(delete(test_case).where(*mine))).rowcount > 0


async def put_run(
    connection: AsyncConnection,
    caller: Caller,
    at: dt.datetime,
    budget: int | None,
    duration_ms: float,
    outcomes: Sequence[CaseOutcome],
) -> int:
    """Store a run; returns its number. Cases that were removed meanwhile are left out."""
    tenant = caller.tenant.id
    row = insert(case_run).values(tenant_id=tenant, owner=caller.user, at=at, budget=budget, duration_ms=duration_ms)
    number = (await connection.execute(row.returning(case_run.c.id))).scalar_one()
    wanted = [one.case for one in outcomes]
    locked = select(test_case.c.id).where(test_case.c.tenant_id == tenant, test_case.c.id.in_(wanted))
    there = set((await connection.execute(locked.with_for_update(key_share=True))).scalars())
    rows = [
        {
            "tenant_id": tenant,
            "run_id": number,
            "case_id": one.case,
            "passed": one.passed,
            "missing": list(one.missing),
            "unwanted": list(one.unwanted),
            "delivered": list(one.delivered),
            "tokens": one.tokens,
            "duration_ms": one.duration_ms,
        }
        for one in outcomes
        if one.case in there
    ]
    if rows:
        await connection.execute(insert(case_outcome), rows)
    own = select(case_run.c.id).where(*_own_runs(caller)).order_by(case_run.c.id.desc()).offset(KEPT_RUNS)
    await connection.execute(delete(case_run).where(case_run.c.tenant_id == tenant, case_run.c.id.in_(own)))
    return int(number)


def _own_runs(caller: Caller) -> tuple[Any, ...]:
    return case_run.c.tenant_id == caller.tenant.id, case_run.c.owner.is_not_distinct_from(caller.user)


async def runs(
    connection: AsyncConnection,
    caller: Caller,
    limit: int = 1,
    *,
    before: int | None = None,
    day: dt.datetime | None = None,
) -> list[CaseRun]:
    """Return the newest runs, without outcomes.

    Args:
        connection: Inside a transaction of the tenant.
        caller: Whose runs.
        limit: Most runs.
        before: Only runs before this one.
        day: Only runs before this moment.
    """
    query = (
        select(
            case_run.c.id,
            case_run.c.at,
            func.count(case_outcome.c.id).label("cases"),
            func.count(case_outcome.c.id).filter(case_outcome.c.passed).label("passed"),
            case_run.c.budget,
            case_run.c.duration_ms,
        )
        .outerjoin(
            case_outcome,
            (case_outcome.c.tenant_id == case_run.c.tenant_id) & (case_outcome.c.run_id == case_run.c.id),
        )
        .where(*_own_runs(caller))
        .group_by(case_run.c.tenant_id, case_run.c.id)
        .order_by(case_run.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(case_run.c.id < before)
    if day is not None:
        query = query.where(case_run.c.at < day)
    found = await connection.execute(query)
    return [
        CaseRun(row.id, row.at, row.cases, row.passed, row.budget, row.duration_ms, (), None, None) for row in found
    ]


async def outcomes(connection: AsyncConnection, caller: Caller, run: int) -> dict[int, CaseOutcome]:
    """Return what each case got in a run, by its number."""
    query = (
        select(
            case_outcome.c.case_id,
            test_case.c.message,
            test_case.c.verb,
            case_outcome.c.passed,
            case_outcome.c.missing,
            case_outcome.c.unwanted,
            case_outcome.c.delivered,
            case_outcome.c.tokens,
            case_outcome.c.duration_ms,
        )
        .join(
            test_case,
            (test_case.c.tenant_id == case_outcome.c.tenant_id) & (test_case.c.id == case_outcome.c.case_id),
        )
        .where(case_outcome.c.tenant_id == caller.tenant.id, case_outcome.c.run_id == run)
        .order_by(case_outcome.c.case_id)
    )
    return {
        row[0]: CaseOutcome(*row[:4], tuple(row[4]), tuple(row[5]), tuple(row[6]), row[7], row[8])
        for row in await connection.execute(query)
    }
