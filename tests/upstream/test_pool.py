from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

from tests.support import eventually
from tests.upstream.conftest import alive, pids, stdio_server
from thresher.core import Settings
from thresher.upstream import Upstreams


async def test_a_slow_server_delays_no_other(upstreams: Upstreams) -> None:
    """Neither the first use of another, nor the tenth."""
    slow = asyncio.create_task(upstreams.list_tools(stdio_server("hang", name="slow")))

    await asyncio.gather(*(upstreams.list_tools(stdio_server(name=f"s{n}")) for n in range(5)))

    assert not slow.done()
    assert {state.name: state.state for state in upstreams.states()} == {
        "slow": "connecting",
        **{f"s{n}": "ready" for n in range(5)},
    }
    slow.cancel()


async def test_a_caller_that_gives_up_does_not_end_the_attempt_of_the_others(
    upstreams: Upstreams, tmp_path: Path
) -> None:
    """The attempt belongs to all who wait."""
    starts = tmp_path / "starts"
    config = stdio_server("slow", "seconds=0.5", f"starts={starts}")
    first = asyncio.create_task(upstreams.list_tools(config))
    second = asyncio.create_task(upstreams.list_tools(config))
    await eventually(lambda: pids(starts))

    first.cancel()

    assert len((await second).tools) == 6
    assert len(pids(starts)) == 1


async def test_a_changed_configuration_gets_a_new_session_and_the_old_child_goes(
    upstreams: Upstreams, tmp_path: Path
) -> None:
    """A changed description keeps the session."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await upstreams.list_tools(config)
    await upstreams.list_tools(replace(config, description="new", enabled=False))
    assert len(pids(starts)) == 1

    await upstreams.list_tools(replace(config, env={"A": "1"}))

    old, new = pids(starts)
    await eventually(lambda: not alive(old))
    assert [(state.state, state.pid) for state in upstreams.states()] == [("ready", new)]


async def test_a_changed_configuration_lets_calls_under_way_end(upstreams: Upstreams, tmp_path: Path) -> None:
    """Over the old session, while the new one already serves."""
    heard = tmp_path / "heard"
    config = stdio_server("good", f"heard={heard}")
    call = asyncio.create_task(upstreams.call_tool(config, "sleep", {"seconds": 0.5}))
    await eventually(lambda: heard.exists() and "tools/call" in heard.read_text())

    await upstreams.list_tools(replace(config, env={"A": "1"}))

    assert not (await call).is_error


async def test_closing_does_not_wait_for_calls_under_way(upstreams: Upstreams, tmp_path: Path) -> None:
    """Neither on the present session nor on one that is being replaced."""
    heard = tmp_path / "heard"
    config = stdio_server("good", f"heard={heard}")
    calls = [asyncio.create_task(upstreams.call_tool(config, "sleep", {"seconds": 60}))]
    await eventually(lambda: heard.exists() and "tools/call" in heard.read_text())
    calls.append(asyncio.create_task(upstreams.call_tool(replace(config, env={"A": "1"}), "sleep", {"seconds": 60})))
    await eventually(lambda: heard.read_text().count("tools/call") == 2)

    await upstreams.close()

    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert ["was lost during tools/call" in str(outcome) for outcome in outcomes] == [True, True]


async def test_disconnecting_ends_the_child_and_the_next_use_starts_another(
    upstreams: Upstreams, tmp_path: Path
) -> None:
    """As `servers remove` or disabling a server does."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await upstreams.list_tools(config)

    await upstreams.disconnect(0, "fake")

    assert not alive(pids(starts)[0])
    await upstreams.list_tools(config)
    assert len(pids(starts)) == 2


async def test_closing_is_quick_however_many_servers_misbehave(settings: Settings, tmp_path: Path) -> None:
    """They are ended side by side."""
    starts = tmp_path / "starts"
    pool = Upstreams(settings)
    await asyncio.gather(
        *(pool.list_tools(stdio_server("stubborn", f"starts={starts}", name=f"s{n}")) for n in range(4))
    )
    began = time.monotonic()

    await pool.close()

    assert time.monotonic() - began < 10
    assert len(pids(starts)) == 8
    await eventually(lambda: not any(alive(pid) for pid in pids(starts)))


async def test_many_cycles_leave_no_process_and_no_open_file(settings: Settings, tmp_path: Path) -> None:
    """Ten here; the benchmark does more."""
    starts = tmp_path / "starts"
    fds = Path(f"/proc/{os.getpid()}/fd")
    before = None
    for _ in range(10):
        pool = Upstreams(settings)
        await pool.call_tool(stdio_server("good", f"starts={starts}"), "echo", {})
        await pool.close()
        if before is None and fds.exists():
            before = len(list(fds.iterdir()))

    assert not any(alive(pid) for pid in pids(starts))
    if before is not None:
        assert len(list(fds.iterdir())) <= before
