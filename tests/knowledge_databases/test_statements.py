"""Statements are noted before they run, and their end after, whatever happens."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url
from tests.support.product import opened
from thresher.core import (
    Caller,
    DatabaseUnavailable,
    InvalidInput,
    NotFound,
    QueryTimeout,
    Settings,
    StatementRefused,
    Tenant,
)
from thresher.embedding import Encoder
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.databases.sessions import StatementLimiter
from thresher.services import Services
from thresher.store import Database

ENDLESS = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"


async def test_every_statement_is_noted(services: Services, caller: Caller, shop: Path) -> None:
    """Who, from where, what, the verdict and what came of it."""
    service = services.databases
    await service.add_connection(caller, "shop", url(shop))
    by = {"client": "claude 1.0", "model": "some-model", "thread": "thread-7", "tool": "sql_query"}

    answer = await service.query(caller, "shop", "select * from product order by 1", max_rows=1, **by)
    with pytest.raises(StatementRefused) as refused:
        await service.query(caller, "shop", "drop table product", **by)
    noted = (await services.audit.entries(caller)).entries

    assert [one.id for one in noted] == [refused.value.audit_id, answer.audit_id]
    assert [one.attempt.allowed for one in noted] == [False, True]
    assert noted[0].ended is None
    assert noted[1].ended is not None
    assert (noted[1].ended.outcome, noted[1].ended.rows) == ("truncated", 1)
    said = noted[1].attempt
    assert (said.client, said.model, said.thread, said.tool) == ("claude 1.0", "some-model", "thread-7", "sql_query")
    assert (await services.audit.verify(caller.tenant)).sound


async def test_a_statement_for_a_database_that_is_away_is_noted_too(services: Services, caller: Caller) -> None:
    """With its verdict, and with what failed."""
    service = services.databases
    await service.add_connection(caller, "far", "postgresql://reader:s3cret@127.0.0.1:1/shop")

    with pytest.raises(DatabaseUnavailable):
        await service.query(caller, "far", "select 1")
    with pytest.raises(StatementRefused):
        await service.query(caller, "far", "delete from x")
    noted = (await services.audit.entries(caller)).entries

    assert [(one.attempt.allowed, one.ended is not None) for one in noted] == [(False, False), (True, True)]
    assert "s3cret" not in repr(noted)


async def test_a_statement_that_takes_too_long_is_ended(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, shop: Path
) -> None:
    """On the server, and its end is noted."""
    hurried = settings.model_copy(update={"query_seconds": 0.2})
    async with opened(database, tenant, hurried, encoder) as services:
        await services.databases.add_connection(services.caller, "shop", url(shop))

        with pytest.raises(QueryTimeout):
            await services.databases.query(services.caller, "shop", ENDLESS)
        noted = (await services.audit.entries(services.caller)).entries

    assert noted[0].ended is not None
    assert noted[0].ended.outcome == "timeout"


async def test_a_caller_that_goes_ends_his_statement(services: Services, caller: Caller, shop: Path) -> None:
    """It is noted as cancelled, and the connection answers the next one."""
    service = services.databases
    await service.add_connection(caller, "shop", url(shop))
    running = asyncio.create_task(service.query(caller, "shop", ENDLESS))
    deadline = time.monotonic() + 20
    while not (await services.audit.entries(caller)).entries:
        assert time.monotonic() < deadline

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert running.cancelled()
    assert (await service.query(caller, "shop", "select 1")).rows == ((1,),)
    noted = (await services.audit.entries(caller)).entries
    assert noted[1].ended is not None
    assert noted[1].ended.outcome == "cancelled"


async def test_many_statements_at_once_are_all_noted(services: Services, caller: Caller, shop: Path) -> None:
    """Each with its own rows; the chain is whole."""
    service = services.databases
    await service.add_connection(caller, "shop", url(shop))

    answers = await asyncio.gather(*(service.query(caller, "shop", f"select {n}") for n in range(20)))

    assert [answer.rows for answer in answers] == [((n,),) for n in range(20)]
    assert len({answer.audit_id for answer in answers}) == 20
    assert (await services.audit.verify(caller.tenant)).sound


async def test_one_caller_leaves_sessions_to_the_others(services: Services, caller: Caller, shop: Path) -> None:
    """However many statements one has running at once, another's is answered, and the rest wait for their turn."""
    service = services.databases
    await service.add_connection(caller, "shop", url(shop))
    running = [asyncio.create_task(service.query(caller, "shop", ENDLESS)) for _ in range(4)]
    deadline = time.monotonic() + 20
    while len((await services.audit.entries(caller)).entries) < len(running):
        assert time.monotonic() < deadline

    async with asyncio.timeout(10):
        answer = await service.query(replace(caller, user="bob"), "shop", "select 1")
    ended = [task.done() for task in running]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)

    assert answer.rows == ((1,),)
    assert ended == [False] * 4
    assert (await service.query(caller, "shop", "select 2")).rows == ((2,),)


async def test_a_statement_waits_for_its_turn_for_a_while(caller: Caller) -> None:
    """After that the error says how many are running, and what to do."""
    turns = StatementLimiter(1, wait_seconds=0.01)
    async with turns.taken(caller):
        with pytest.raises(DatabaseUnavailable, match="1 of your statements") as refused:
            async with turns.taken(caller):
                pass
        async with turns.taken(replace(caller, user="bob")):
            pass
    async with turns.taken(caller):
        pass

    assert "THRESHER_QUERIES_AT_ONCE" in refused.value.hint


async def test_a_plan_is_made_without_running(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Writing statements are refused here too, and one that already asks for a plan gets an error."""
    await service.add_connection(caller, "shop", url(shop))

    plan = await service.explain(caller, "shop", "select * from customer where customer_id = 1")

    assert "customer" in repr(plan.rows).lower()
    with pytest.raises(StatementRefused):
        await service.explain(caller, "shop", "delete from customer")
    with pytest.raises(InvalidInput):
        await service.explain(caller, "shop", "explain query plan select 1")


async def test_what_cannot_be_asked_is_refused_with_a_hint(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """Numbers out of bounds, and cursors of other statements."""
    await service.add_connection(caller, "shop", url(shop))
    answer = await service.query(caller, "shop", "select * from customer order by 1", max_rows=1)
    assert answer.cursor is not None

    for rows in (0, -1, 10_001):
        with pytest.raises(InvalidInput):
            await service.query(caller, "shop", "select 1", max_rows=rows)
    for cursor in ("", "x", "0", "9" * 40, answer.cursor + "x", f"1{answer.cursor}"):
        with pytest.raises(InvalidInput):
            await service.query(caller, "shop", "select * from customer order by 2", cursor=cursor or "0")


async def test_a_session_says_what_it_may(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """As the engine itself has it."""
    await service.add_connection(caller, "shop", url(shop))

    info = await service.session_info(caller, "shop")

    assert "SQLite" in str(info.session["engine"])


async def test_text_of_any_kind_is_answered_by_an_error_that_says_what_to_do(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """Zero bytes, halves of characters, the empty and the huge."""
    await service.add_connection(caller, "shop", url(shop))

    for sql in ("", " ", "\0", "select '\ud800'", "select 1\0", ";", "x" * 200_000, "select " + "(" * 5_000):
        with pytest.raises(StatementRefused):
            await service.query(caller, "shop", sql)
    for name in ("", "\0", "\ud800", "x" * 10_000):
        with pytest.raises(NotFound):
            await service.query(caller, name, "select 1")
    for address in ("", "\0", "postgresql://a:\ud800@b/c", "x" * 100_000, "http://a/b"):
        with pytest.raises(InvalidInput):
            await service.add_connection(caller, "odd", address)
    odd = await service.query_database_schema(caller, "shop", question="\0\ud800 customers \u202e")
    assert "customer" in odd.shown
