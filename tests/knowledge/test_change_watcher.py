"""A server's announcement causes one listing of that server, soon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.product import ListedServer, listed
from thresher.core import Caller, UpstreamError
from thresher.knowledge.tools import Refreshed, ToolService
from thresher.knowledge.tools.refresh_schedule import ChangeWatcher
from thresher.upstream import Changed, ServerConfig

BOX = ServerConfig("box", "stdio", command="x", tenant=7, identity="ann")
TOOLS = Changed("tools")


class Listed:
    """Counts listings; each can be made to wait, to fail, or to be followed by an announcement."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str | None, str]] = []
        self.changed = asyncio.Condition()
        self.then: Callable[[], None] = lambda: None

    async def refresh(self, caller: Caller, name: str) -> Refreshed:
        """List once."""
        async with self.changed:
            self.asked.append((caller.tenant.id, caller.user, name))
            self.changed.notify_all()
        self.then()
        return Refreshed()

    async def times(self, count: int) -> None:
        """Wait until this many listings have begun."""
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(lambda: len(self.asked) >= count)


@pytest.fixture
def lists() -> Listed:
    """A stand-in for the listing: a function of the caller and the server's name."""
    return Listed()


async def test_many_announcements_make_one_listing_of_that_server(lists: Listed) -> None:
    """For the tenant and user whose session announced it."""
    changes = ChangeWatcher(lists.refresh)

    for _ in range(50):
        changes.note(BOX, TOOLS)
    await lists.times(1)
    await changes.close()

    assert lists.asked == [(7, "ann", "box")]


async def test_the_content_of_a_resource_lists_nothing(lists: Listed) -> None:
    """It is not part of the catalogue."""
    changes = ChangeWatcher(lists.refresh)

    changes.note(BOX, Changed("resource", "file:///a"))
    changes.note(BOX, Changed("prompts"))
    await lists.times(1)
    await changes.close()

    assert len(lists.asked) == 1


async def test_an_announcement_during_a_listing_is_not_lost_and_a_failure_ends_nothing(lists: Listed) -> None:
    """The server is listed once more."""
    changes = ChangeWatcher(lists.refresh)

    def once_more() -> None:
        if len(lists.asked) == 1:
            changes.note(BOX, TOOLS)
            raise UpstreamError("It went away.")

    lists.then = once_more
    changes.note(BOX, TOOLS)
    await lists.times(2)
    await changes.close()

    assert len(lists.asked) == 2


async def test_a_server_that_announces_after_every_listing_is_asked_ever_more_seldom(lists: Listed) -> None:
    """Its own listings must not keep it busy permanently."""
    changes = ChangeWatcher(lists.refresh)
    lists.then = lambda: changes.note(BOX, TOOLS)
    loop, times = asyncio.get_running_loop(), list[float]()

    changes.note(BOX, TOOLS)
    for count in range(1, 5):
        await lists.times(count)
        times.append(loop.time())
    await changes.close()

    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]


async def test_a_real_servers_change_reaches_the_catalogue(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """New tools are found without a requested refresh."""
    box = ListedServer.at(tmp_path, "box", listed("open_box"))
    await tools.add_server(caller, box.config)
    await tools.refresh(caller)
    version = await tools.version(caller)

    box.lists(listed("open_box"), listed("seal_box", "Seals a box with tape."))
    tools.server_changed((await tools.resolve(caller, "box_open_box")).config, TOOLS)
    async with asyncio.timeout(20):
        while await tools.version(caller) == version:
            await asyncio.sleep(0.02)
    await tools.refresh(caller)
    found = await tools.find_tools(caller, queries=["seal with tape"], threshold=0)
    await tools.close()

    assert found.tools[0].name == "box_seal_box"
