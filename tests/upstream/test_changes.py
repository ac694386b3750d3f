"""Changes that a server reports, and subscriptions to single resources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import eventually
from tests.upstream.conftest import stdio_server
from thresher.core import Settings, UpstreamError
from thresher.upstream import Changed, ServerConfig, Upstreams

LISTS = [Changed("tools"), Changed("resources"), Changed("prompts")]


@pytest.fixture
def changes() -> list[tuple[str, Changed]]:
    """The reported changes: the server's name and the change."""
    return []


@pytest.fixture
async def hearing(settings: Settings, changes: list[tuple[str, Changed]]) -> AsyncIterator[Upstreams]:
    """A pool that notes every change."""

    def note(config: ServerConfig, change: Changed) -> None:
        changes.append((config.name, change))

    pool = Upstreams(settings, changed=note)
    yield pool
    await pool.close()


@pytest.mark.parametrize("mode", ["whole", "modern"])
async def test_changed_lists_are_heard_in_both_eras(
    hearing: Upstreams, changes: list[tuple[str, Changed]], tmp_path: Path, mode: str
) -> None:
    """As notifications of a session, or over the request that a stateless server holds open for them."""
    heard = tmp_path / "heard"
    config = stdio_server(mode, f"heard={heard}")
    await hearing.list_tools(config)
    await eventually(lambda: mode == "whole" or "subscriptions/listen" in heard.read_text())

    await hearing.call_tool(config, "touch", {})

    await eventually(lambda: len(changes) >= 3)
    assert [change for name, change in changes if name == "fake"] == LISTS


@pytest.mark.parametrize("mode", ["whole", "modern"])
async def test_a_subscriber_hears_of_its_resource_until_it_leaves(
    hearing: Upstreams, changes: list[tuple[str, Changed]], tmp_path: Path, mode: str
) -> None:
    """The server is only notified of the first subscriber, and when the last one leaves."""
    heard = tmp_path / "heard"
    config = stdio_server(mode, f"heard={heard}")
    first: list[str] = []
    second: list[str] = []
    await hearing.subscribe(config, "memo://one", first.append)
    await hearing.subscribe(config, "memo://one", second.append)
    await eventually(lambda: "memo://one" in heard.read_text())

    await hearing.call_tool(config, "touch", {"uri": "memo://one"})
    await eventually(lambda: second)
    await hearing.unsubscribe(config, "memo://one", second.append)
    await hearing.call_tool(config, "touch", {"uri": "memo://one/part"})
    await eventually(lambda: len(first) == 2)
    await hearing.unsubscribe(config, "memo://one", first.append)
    await hearing.unsubscribe(config, "memo://one", first.append)

    assert (first, second) == (["memo://one", "memo://one/part"], ["memo://one"])
    assert ("fake", Changed("resource", "memo://one")) in changes
    methods = heard.read_text()
    if mode == "whole":
        assert (methods.count('"resources/subscribe"'), methods.count('"resources/unsubscribe"')) == (1, 1)


@pytest.mark.parametrize("mode", ["whole", "modern"])
async def test_a_subscription_outlives_a_crash(hearing: Upstreams, tmp_path: Path, mode: str) -> None:
    """It is renewed in the new session, and the subscriber is notified once that it may have missed a change."""
    heard = tmp_path / "heard"
    config = stdio_server(mode, f"heard={heard}")
    told: list[str] = []
    await hearing.subscribe(config, "memo://one", told.append)
    await eventually(lambda: "memo://one" in heard.read_text())
    with pytest.raises(UpstreamError, match="was lost"):
        await hearing.call_tool(config, "crash", {})
    assert told == []

    await hearing.call_tool(config, "echo", {})
    assert told == ["memo://one"]
    await eventually(lambda: heard.read_text().count('"memo://one"') == 2)
    await hearing.call_tool(config, "touch", {"uri": "memo://one"})

    await eventually(lambda: len(told) == 2)


async def test_after_a_reconnect_the_lists_count_as_changed(
    hearing: Upstreams, changes: list[tuple[str, Changed]]
) -> None:
    """Changes in between were missed; a listing needs no notification."""
    config = stdio_server("whole")
    await hearing.list_tools(config)
    with pytest.raises(UpstreamError):
        await hearing.call_tool(config, "crash", {})
    assert changes == []

    await hearing.call_tool(config, "echo", {})

    assert [change for _, change in changes] == LISTS


async def test_a_program_that_was_started_again_counts_as_changed_though_it_announces_nothing(
    hearing: Upstreams, changes: list[tuple[str, Changed]]
) -> None:
    """It may be another one than was listed."""
    config = stdio_server("good")
    await hearing.list_tools(config)
    with pytest.raises(UpstreamError):
        await hearing.call_tool(config, "crash", {})

    await hearing.call_tool(config, "echo", {})

    assert [change for _, change in changes] == [Changed("tools")]


async def test_a_refused_subscription_is_none(hearing: Upstreams) -> None:
    """It can be tried again."""
    config = stdio_server()

    for _ in range(2):
        with pytest.raises(UpstreamError, match="refused resources/subscribe"):
            await hearing.subscribe(config, "memo://one", print)
