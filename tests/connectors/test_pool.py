"""The pool, over an engine that misbehaves in every way that a driver can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes.engine import DriverError, Engine
from thresher.connectors import Caps, SessionTag, pool, read_address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.pool import PooledConnector
from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout

TAG = SessionTag("", "", 0)


@asynccontextmanager
async def pool_of(engine: Engine, **options: Any) -> AsyncIterator[PooledConnector]:
    """A pool over it."""
    connector = PooledConnector(read_address("postgresql://h/d"), engine, ConnectorOptions(**options))
    try:
        yield connector
    finally:
        await connector.close()


async def settled(condition: Callable[[], bool]) -> None:
    """Wait for what happens in the background."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


async def test_sessions_are_opened_when_needed_and_used_again() -> None:
    """One after another needs one session; at once they need as many as are allowed."""
    engine = Engine()
    async with pool_of(engine, sessions=2) as connector:
        first = [(await connector.run("x", TAG, Caps())).rows for _ in range(3)]
        await asyncio.gather(*(connector.run("x", TAG, Caps()) for _ in range(20)))

    assert first == [((0,),)] * 3 or len(engine.sessions) <= 2
    assert len(engine.sessions) <= 2


@pytest.mark.parametrize("reset", ["refuses", "fails"])
async def test_a_session_that_cannot_be_made_new_is_closed(reset: str) -> None:
    """The next question has another one."""
    engine = Engine()

    def fail() -> bool:
        if reset == "fails":
            raise DriverError("no")
        return False

    engine.reset = fail
    async with pool_of(engine, sessions=1) as connector:
        answers = [(await connector.run("x", TAG, Caps())).rows for _ in range(2)]

    assert answers == [((0,),), ((1,),)]
    assert engine.sessions[0].closed.is_set()


async def test_a_failed_statement_costs_its_session() -> None:
    """Its state is unknown; the driver's error does not leave the connector."""
    engine = Engine()
    async with pool_of(engine, sessions=1) as connector:
        with pytest.raises(QueryFailed, match="wrong: syntax") as caught:
            await connector.run("wrong", TAG, Caps())
        answer = await connector.run("x", TAG, Caps())

    assert caught.value.__cause__ is None
    assert answer.rows == ((1,),)


async def test_old_sessions_that_died_are_replaced_at_once() -> None:
    """The one that is found dead makes all that idle suspect."""
    engine = Engine()
    async with pool_of(engine, sessions=3) as connector:
        await asyncio.gather(*(connector.run("x", TAG, Caps()) for _ in range(3)))
        old = list(engine.sessions)
        for session in old:
            session.dead = True
        answer = await connector.run("x", TAG, Caps())
        await settled(lambda: all(session.closed.is_set() for session in old))

    assert answer.rows == ((len(old),),)


async def test_a_new_session_that_dies_is_told() -> None:
    """There is no second attempt if the database is unavailable."""
    engine = Engine()
    engine.refuses = True
    async with pool_of(engine, sessions=1) as connector:
        for _ in range(3):
            with pytest.raises(DatabaseUnavailable) as caught:
                await connector.run("x", TAG, Caps())
        health = await connector.test()

    assert "horse" not in str(caught.value)
    assert (health.ok, "horse" in health.problem) == (False, False)


async def test_a_sign_in_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets an error in time, and a session that opens later is closed."""
    monkeypatch.setattr(pool, "_STOPPING", 0.05)
    engine = Engine()
    engine.may_open.clear()
    async with pool_of(engine, connect_seconds=0.05) as connector:
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            await connector.run("x", TAG, Caps())
        engine.may_open.set()
        await settled(lambda: bool(engine.sessions) and engine.sessions[0].closed.is_set())

        assert (await connector.run("x", TAG, Caps())).rows == ((1,),)


async def test_a_statement_that_cannot_be_stopped_loses_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session is closed, the caller gets an error in time, and its slot is free when it has ended."""
    monkeypatch.setattr(pool, "_STOPPING", 0.05)
    monkeypatch.setattr(pool, "_GRACE", 0.0)
    engine = Engine()
    async with pool_of(engine, sessions=1) as connector:
        with pytest.raises(QueryTimeout):
            await connector.run("stuck", TAG, Caps(seconds=0.05))

        assert (await connector.run("x", TAG, Caps())).rows == ((1,),)
        assert engine.sessions[0].stopped.is_set()
        assert engine.sessions[0].closed.is_set()


async def test_a_caller_that_is_cancelled_twice_still_stops_its_statement() -> None:
    """Impatience does not leave a statement running."""
    engine = Engine()
    async with pool_of(engine, sessions=1) as connector:
        asking = asyncio.create_task(connector.run("slow", TAG, Caps()))
        await settled(engine.running.is_set)
        asking.cancel()
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await settled(engine.sessions[0].stopped.is_set)

        assert (await connector.run("x", TAG, Caps())).rows == ((1,),)


async def test_what_the_guard_must_know_is_asked_again_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog is read once as long as the stamp stays the same."""
    engine = Engine()
    async with pool_of(engine) as connector:
        await connector.knowledge()
        await connector.knowledge()
        monkeypatch.setattr(pool, "_KNOWN_SECONDS", 0.0)
        await connector.knowledge()
        same = engine.asked
        engine.stamp = "2"
        await connector.knowledge()

    assert (same, engine.asked) == (1, 2)


async def test_a_statement_that_is_cut_off_says_why() -> None:
    """Removing a connection ends its statements, and their error is not a time-out."""
    engine = Engine()
    async with pool_of(engine) as connector:
        asking = asyncio.create_task(connector.run("slow", TAG, Caps()))
        await settled(engine.running.is_set)
        await connector.close()

        with pytest.raises(DatabaseUnavailable, match="was closed"):
            await asking


async def test_a_closed_connector_closes_its_engine() -> None:
    """Shared resources are released with the last session."""
    engine = Engine()
    async with pool_of(engine) as connector:
        await connector.run("x", TAG, Caps())

    await settled(lambda: engine.closed)


async def test_a_closed_connector_opens_nothing() -> None:
    """Neither a question nor a second close."""
    engine = Engine()
    async with pool_of(engine) as connector:
        await connector.close()
        with pytest.raises(DatabaseUnavailable):
            await connector.run("x", TAG, Caps())
        health = await connector.test()

    assert (health.ok, engine.sessions) == (False, [])
