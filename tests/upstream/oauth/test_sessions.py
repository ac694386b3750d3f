"""Stored sign-ins behind real sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.upstream.oauth.conftest import Add
from tests.upstream.oauth.guarded import Guarded, signed_in
from thresher.core import Settings, UpstreamError
from thresher.knowledge.tools import CredentialStore
from thresher.upstream import ServerConfig, SignInNeeded, Upstreams, sign_out


@pytest.fixture
async def guarded_upstreams(settings: Settings, store: CredentialStore) -> AsyncIterator[Upstreams]:
    """Sessions that use stored sign-ins."""
    upstreams = Upstreams(settings, credentials=store)
    yield upstreams
    await upstreams.close()


async def called(upstreams: Upstreams, config: ServerConfig) -> str:
    """Who the server thinks is calling."""
    outcome = await upstreams.call_tool(config, "whoami", {})
    return outcome.content[0].text  # type: ignore[union-attr]


async def test_a_session_waits_for_a_sign_in_and_then_works(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, guarded_upstreams: Upstreams
) -> None:
    """However often it was tried before; a person who has signed in does not have to wait."""
    for _ in range(6):
        with pytest.raises(SignInNeeded, match="nobody has signed in"):
            await guarded_upstreams.list_tools(config)
    await signed_in(config, store)

    listing = await guarded_upstreams.list_tools(config)

    assert [tool.name for tool in listing.tools] == ["whoami"]
    assert await called(guarded_upstreams, config) == "ada"


async def test_a_token_that_ends_within_a_session_is_renewed_within_it(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, guarded_upstreams: Upstreams
) -> None:
    """Ten calls at once over the warm session, and one renewal."""
    await signed_in(config, store)
    await called(guarded_upstreams, config)
    await guarded.post("/expire")

    who = await asyncio.gather(*(called(guarded_upstreams, config) for _ in range(10)))

    assert who == ["ada"] * 10
    assert await guarded.seen("token refresh_token") == 1


async def test_a_failed_renewal_ends_neither_the_session_nor_the_sign_in(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, guarded_upstreams: Upstreams
) -> None:
    """The calls fail with a reason while the authorization server is away, and no longer."""
    await signed_in(config, store)
    await called(guarded_upstreams, config)
    await guarded.post("/expire")
    await guarded.becomes(token="drop")
    with pytest.raises(UpstreamError, match="authorization server") as failed:
        await called(guarded_upstreams, config)
    await guarded.becomes(token="well")

    assert not isinstance(failed.value, SignInNeeded)
    assert await called(guarded_upstreams, config) == "ada"


async def test_users_have_sessions_of_their_own(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, guarded_upstreams: Upstreams
) -> None:
    """Calls of two users at once are each made as the one who calls."""
    users = [replace(config, identity=name) for name in ("ada", "eve")]
    for user in users:
        await guarded.becomes(user=user.identity)
        await signed_in(user, store)

    who = await asyncio.gather(*(called(guarded_upstreams, user) for user in users * 5))

    assert who == ["ada", "eve"] * 5


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_the_sign_in_works_at_what_others_wrote(
    add: Add, store: CredentialStore, guarded_upstreams: Upstreams, transport: str
) -> None:
    """FastMCP's authorization server: registration, sign-in, calls, renewal, sign-out."""
    fastmcp = Guarded.start(*(["sse"] if transport == "sse" else []), script="fastmcp_oauth_server.py")
    try:
        config = await add(fastmcp, transport=transport)
        if transport == "sse":
            config = replace(config, url=fastmcp.url.replace("/mcp", "/sse"))
        with pytest.raises(SignInNeeded):
            await guarded_upstreams.list_tools(config)
        done = await signed_in(config, store)
        first = await called(guarded_upstreams, config)
        await fastmcp.post("/expire")
        second = await called(guarded_upstreams, config)

        assert done.renewable
        assert (first, second) == ("read", "read")
        assert await sign_out(config, store)
    finally:
        fastmcp.stop()


async def test_a_call_that_lacks_permissions_says_which(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, guarded_upstreams: Upstreams
) -> None:
    """It is sent once, and the session goes on."""
    await signed_in(config, store)
    await called(guarded_upstreams, config)
    messages = await guarded.seen("messages")
    await guarded.becomes(scope="write")
    with pytest.raises(SignInNeeded, match="further permissions") as needed:
        await called(guarded_upstreams, config)
    sent = await guarded.seen("messages") - messages
    await guarded.becomes(scope="")

    assert "--scope write" in needed.value.hint
    assert sent == 1
    assert await called(guarded_upstreams, config) == "ada"
