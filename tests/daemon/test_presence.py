"""Who keeps a daemon that a client started from leaving."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.support import eventually
from thresher.daemon.server.presence import Presence


async def test_a_daemon_stays_while_a_worker_runs_and_leaves_after_it() -> None:
    """Also where nobody is attached, and each time that there is work."""
    left: list[bool] = []
    busy, idle = asyncio.Event(), asyncio.Event()
    presence = Presence(0.02, lambda: left.append(True))
    following = asyncio.create_task(presence.follow("job", busy, idle))
    seen: list[int] = []
    for _ in range(2):
        idle.clear()
        busy.set()
        await eventually(lambda: presence.count("job") == 1)
        seen.append(len(left))
        busy.clear()
        idle.set()
        await eventually(lambda: presence.count("job") == 0 and len(left) > seen[-1])

    following.cancel()
    with suppress(asyncio.CancelledError):
        await following

    assert seen == [0, 1]
    assert left == [True, True]
