"""Breaker, backoff, pings, idle sessions, eras that are remembered, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import eventually
from tests.upstream.conftest import SECRET, HttpServer, alive, pids, stdio_server
from tests.upstream.peers import ELICITATION, Client
from tests.upstream.test_http import post
from thresher.core import Settings, UpstreamError
from thresher.upstream import UpstreamLimits, Upstreams

Start = Callable[..., HttpServer]


async def test_a_server_that_keeps_failing_is_left_alone_for_a_while(settings: Settings, tmp_path: Path) -> None:
    """Calls fail at once and say until when; then it is tried again; a new configuration starts afresh."""
    starts = tmp_path / "starts"
    config = stdio_server("crash_at_start", f"starts={starts}")
    pool = Upstreams(settings, limits=UpstreamLimits(failures=2, pause=600.0, longest_pause=600.0))
    for _ in range(2):
        with pytest.raises(UpstreamError, match="before it was ready"):
            await pool.list_tools(config)

    with pytest.raises(UpstreamError, match=r"failed 2 times in a row and is left alone for \d+ s more; the last time"):
        await pool.call_tool(config, "echo", {})

    assert len(pids(starts)) == 2
    state = pool.states()[0]
    assert (state.state, "cannot find the database" in state.problem or "exit status 2" in state.problem) == (
        "open",
        True,
    )
    assert len((await pool.list_tools(replace(config, args=(config.args[0], "good")))).tools) == 6
    await pool.close()


async def test_a_server_that_dies_whenever_it_shall_list_is_left_alone_too(settings: Settings) -> None:
    """A handshake alone proves nothing; one that dies of a call is another matter."""
    pool = Upstreams(settings, limits=UpstreamLimits(failures=2, pause=600.0, longest_pause=600.0))
    config = stdio_server("crash_in_list")
    said = ""

    for _ in range(4):
        with pytest.raises(UpstreamError) as failed:
            await pool.list_tools(config)
        said = str(failed.value)

    assert "left alone" in said
    for _ in range(4):
        with pytest.raises(UpstreamError, match="was lost during tools/call"):
            await pool.call_tool(stdio_server(name="other"), "crash", {})
    await pool.close()


async def test_a_server_that_was_repaired_is_tried_again_after_the_pause(settings: Settings, tmp_path: Path) -> None:
    """And then nothing reminds of it."""
    config = stdio_server("crash_at_start", f"once={tmp_path / 'once'}")
    pool = Upstreams(settings, limits=UpstreamLimits(failures=1, pause=0.05))
    with pytest.raises(UpstreamError):
        await pool.list_tools(config)

    async def lists() -> bool:
        try:
            return len((await pool.list_tools(config)).tools) == 6
        except UpstreamError:
            return False

    await eventually(lists)
    assert (pool.states()[0].state, pool.states()[0].problem) == ("ready", "")
    await pool.close()


@pytest.mark.parametrize("mode", ["good", "modern"])
async def test_an_idle_session_is_asked_whether_it_still_answers(settings: Settings, tmp_path: Path, mode: str) -> None:
    """In each era's own way; it stays."""
    heard = tmp_path / "heard"
    pool = Upstreams(settings, limits=UpstreamLimits(tending=0.02, ping_after=0.02))
    await pool.list_tools(stdio_server(mode, f"heard={heard}"))

    asked = '"method": "ping"' if mode == "good" else '"method": "server/discover"'
    await eventually(lambda: heard.read_text().count(asked) >= 3)

    assert pool.states()[0].state == "ready"
    await pool.close()


async def test_a_session_that_no_longer_answers_is_given_up(settings: Settings, tmp_path: Path) -> None:
    """Its child goes, and the next use starts another."""
    starts = tmp_path / "starts"
    pool = Upstreams(settings, limits=UpstreamLimits(tending=0.02, ping_after=0.02, ping=0.05))
    config = stdio_server("mute", f"starts={starts}")
    await pool.list_tools(config)

    await eventually(lambda: pool.states()[0].state == "lost")

    await eventually(lambda: not alive(pids(starts)[0]))
    assert len((await pool.list_tools(config)).tools) == 6
    await pool.close()


async def test_a_health_check_needs_no_users_token(settings: Settings, http_server: Start, tmp_path: Path) -> None:
    """A health check does not use a user's credentials; a refusal shows that the server is alive."""
    heard = tmp_path / "heard"
    server = http_server(f"heard={heard}", headers={"Authorization": f"Bearer {SECRET}"}, identity="ann")
    pool = Upstreams(settings, limits=UpstreamLimits(tending=0.02, ping_after=0.02))
    await pool.list_tools(server.config)
    noted = heard.read_text()

    await eventually(lambda: pool._sessions[0, "ann", "web"]._pinged_at)  # pyright: ignore[reportPrivateUsage] - nothing else shows it

    assert pool.states()[0].state == "ready"
    assert heard.read_text() == noted
    server.stop()
    await eventually(lambda: pool.states()[0].state == "lost")
    await pool.close()


async def test_an_expired_http_session_is_found_by_the_health_check(settings: Settings, http_server: Start) -> None:
    """No call pays for it."""
    server = http_server()
    pool = Upstreams(settings, limits=UpstreamLimits(tending=0.02, ping_after=0.02))
    await pool.list_tools(server.config)

    await post(server, "/forget")

    await eventually(lambda: pool.states()[0].state == "lost")
    assert not (await pool.call_tool(server.config, "echo", {})).is_error
    await pool.close()


async def test_an_idle_session_is_closed_unless_somebody_has_subscribed(settings: Settings, tmp_path: Path) -> None:
    """The next use opens another."""
    starts = tmp_path / "starts"
    pool = Upstreams(settings, limits=UpstreamLimits(tending=0.02, shared_idle=0.1))
    idle, watched = stdio_server("good", f"starts={starts}"), stdio_server("whole", name="watched")
    await pool.subscribe(watched, "memo://one", print)
    await pool.list_tools(idle)

    await eventually(lambda: not alive(pids(starts)[0]))

    assert {state.name: state.state for state in pool.states()} == {"fake": "idle", "watched": "ready"}
    assert not (await pool.call_tool(idle, "echo", {})).is_error
    await pool.close()


async def test_the_number_of_servers_with_sessions_is_bounded(settings: Settings, tmp_path: Path) -> None:
    """The one that was idle longest gives way."""
    starts = tmp_path / "starts"
    pool = Upstreams(settings, limits=UpstreamLimits(servers=2))

    for name in ("a", "b", "c"):
        await pool.list_tools(stdio_server("good", f"starts={starts}", name=name))

    assert [state.name for state in pool.states()] == ["b", "c"]
    await eventually(lambda: [alive(pid) for pid in pids(starts)] == [False, True, True])
    await pool.close()


async def test_a_server_that_ignores_what_it_does_not_know_costs_half_a_second_once(
    settings: Settings, tmp_path: Path
) -> None:
    """Then its era is remembered: no second probe after a crash."""
    heard = tmp_path / "heard"
    config = stdio_server("ignorant", f"heard={heard}")
    pool = Upstreams(settings)
    started = time.monotonic()

    await pool.list_tools(config)

    assert time.monotonic() - started < 10  # as long as the library alone would wait
    with pytest.raises(UpstreamError):
        await pool.call_tool(config, "crash", {})
    await pool.call_tool(config, "echo", {})
    methods = [json.loads(line).get("method") for line in heard.read_text().splitlines()]
    assert (methods.count("server/discover"), methods.count("initialize")) == (1, 2)
    await pool.close()


async def test_a_slow_stateless_server_is_taken_for_what_it_is(settings: Settings) -> None:
    """The older handshake was tried beside the newest; its refusal shows that the first answer counts."""
    pool = Upstreams(settings, limits=UpstreamLimits(probe=0.0))

    listing = await pool.list_tools(stdio_server("modern"))

    assert listing.protocol == "2026-07-28"
    await pool.close()


async def test_crashes_and_reconnects_leave_nothing_behind(settings: Settings, tmp_path: Path) -> None:
    """Twenty crashes in mid-call, shared and leased: no process, no file handle, no task."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    folder = Path(f"/proc/{os.getpid()}/fd")
    gc.collect()
    files, tasks = len(list(folder.iterdir())), len(asyncio.all_tasks())
    pool = Upstreams(settings)
    await pool.list_tools(config)

    async def crash(peer: Client | None) -> None:
        with pytest.raises(UpstreamError, match="was lost during"):
            await pool.call_tool(config, "crash", {}, peer=peer)
        assert not (await pool.call_tool(config, "echo", {}, peer=peer)).is_error

    async def series(peer: Client | None) -> None:
        for _ in range(5):
            await crash(peer)

    await asyncio.gather(series(None), *(series(Client(name, ELICITATION)) for name in ("ann", "bob", "cid")))
    await pool.close()

    assert not any(alive(pid) for pid in pids(starts))
    assert len(list(folder.iterdir())) <= files
    assert len(asyncio.all_tasks()) <= tasks


async def test_many_http_sessions_leave_nothing_behind(settings: Settings, http_server: Start) -> None:
    """A hundred here, in both kinds of answers; the benchmark does a thousand."""
    servers = [http_server(f"mode={mode}").config for mode in ("good", "sse")]
    folder = Path(f"/proc/{os.getpid()}/fd")
    gc.collect()
    files, tasks = len(list(folder.iterdir())), len(asyncio.all_tasks())

    for _ in range(34):
        pool = Upstreams(settings)
        await asyncio.gather(*(pool.list_tools(config) for config in servers[:1]))
        await asyncio.gather(
            *(pool.call_tool(replace(config, name=f"s{at}"), "echo", {}) for at, config in enumerate(servers))
        )
        await pool.close()

    assert len(list(folder.iterdir())) <= files
    assert len(asyncio.all_tasks()) <= tasks
