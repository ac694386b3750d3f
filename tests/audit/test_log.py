"""The audit log: what is written, in which order, and who sees it."""

from __future__ import annotations

import asyncio

from tests.audit.conftest import attempt
from thresher.audit import AuditLog, Ended
from thresher.core import Caller


async def test_a_decision_and_its_outcome_are_one_entry(log: AuditLog, caller: Caller) -> None:
    """Everything that was noted comes back, exactly."""
    decision = await log.decide(caller, attempt("select 'ü\U0001f600'"))
    await log.end(caller, decision, Ended("ok", 3, 1.5))

    found = await log.entries(caller)

    assert [(one.id, one.attempt, one.ended) for one in found.entries] == [
        (1, attempt("select 'ü\U0001f600'"), Ended("ok", 3, 1.5))
    ]
    assert found.next == ""


async def test_many_at_once_get_a_place_each(log: AuditLog, caller: Caller) -> None:
    """Lines of one process go in together, each under its own number."""
    places = await asyncio.gather(*(log.decide(caller, attempt(f"select {n}")) for n in range(120)))

    found = await log.entries(caller, limit=500)

    assert sorted(places) == list(range(1, 121))
    assert {one.id: one.attempt.sql for one in found.entries} == {
        place: f"select {n}" for n, place in enumerate(places)
    }
