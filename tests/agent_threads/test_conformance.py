"""LangGraph's own suite for checkpoint savers."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from thresher.agent.threads import ThreadSaver
from thresher.core import Caller, Tenant
from thresher.store import Database


async def test_the_saver_has_all_that_langgraph_asks_of_one(database: Database, tenant: Tenant) -> None:
    """Every capability is there, none is skipped, and no test of its suite fails."""

    @checkpointer_test(name="ThreadSaver")
    async def saver() -> AsyncGenerator[BaseCheckpointSaver[str]]:
        yield ThreadSaver(database, Caller(tenant, "ada"))

    report = await validate(saver)

    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert {name for name, result in report.results.items() if result.passed} == {one.value for one in ALL_CAPABILITIES}
    assert sum(result.tests_passed for result in report.results.values()) > 70
