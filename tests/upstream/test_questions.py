"""Who is asked: the contract of shared and leased sessions, in both eras, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ClientCapabilities, ElicitationCapability, ElicitRequest

from tests.support import eventually
from tests.upstream.conftest import HttpServer, alive, pids, stdio_server
from tests.upstream.peers import ALL, ELICITATION, Client
from thresher.core import Settings, UpstreamError, UpstreamRefused, UpstreamTimeout
from thresher.upstream import ServerConfig, UpstreamLimits, Upstreams

Start = Callable[..., HttpServer]
LIMITS = UpstreamLimits(leases=2, lease_wait=2.0, lease_idle=0.05, tending=0.05, ping_after=60.0)


def text(outcome: Any) -> str:
    """The text of a call's answer."""
    return str(outcome.content[0].model_dump()["text"])


@pytest.fixture(params=["stdio-session", "stdio-stateless", "http-session", "http-stateless"])
def server(request: pytest.FixtureRequest, http_server: Start) -> ServerConfig:
    """A server that asks its caller, of each era and over each transport."""
    transport, _, era = str(request.param).partition("-")
    if transport == "stdio":
        return stdio_server("modern" if era == "stateless" else "good")
    return http_server(f"mode={'modern' if era == 'stateless' else 'good'}").config


@pytest.fixture
async def small(settings: Settings) -> AsyncIterator[Upstreams]:
    """A pool with few leases, that are not kept for long."""
    pool = Upstreams(settings, limits=LIMITS)
    yield pool
    await pool.close()


async def test_two_users_who_are_asked_at_once_answer_each_for_themselves(
    upstreams: Upstreams, server: ServerConfig
) -> None:
    """Neither sees the other's question, and neither's answer reaches the other's call."""
    users = [Client("ann", ELICITATION), Client("bob", ELICITATION)]
    for user in users:
        user.hold = asyncio.Event()
    calls = [asyncio.create_task(upstreams.call_tool(server, "ask", {"user": user.id}, peer=user)) for user in users]
    await eventually(lambda: [len(user.questions) for user in users] == [1, 1])

    for user in reversed(users):
        assert user.hold
        user.hold.set()
    answers = [text(await call) for call in calls]

    assert ["ann" in answers[0], "bob" in answers[0]] == [True, False]
    assert ["bob" in answers[1], "ann" in answers[1]] == [True, False]
    assert [len(user.questions) for user in users] == [1, 1]
    assert all(isinstance(user.questions[0], ElicitRequest) for user in users)


async def test_the_state_of_a_stateless_server_goes_back_as_it_came(upstreams: Upstreams) -> None:
    """Byte for byte, with the answer under the server's own key."""
    outcome = await upstreams.call_tool(stdio_server("modern"), "ask", {"user": "x"}, peer=Client("ann", ELICITATION))

    assert json.loads(text(outcome)) == {
        "answer": {"action": "accept", "content": {"name": "ann"}},
        "state": "state of x",
    }


async def test_a_client_that_cannot_be_asked_shares_the_session(upstreams: Upstreams, tmp_path: Path) -> None:
    """One child serves the listing and both clients; it is told that no client can be asked."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await upstreams.list_tools(config)

    for name in ("ann", "bob"):
        outcome = await upstreams.call_tool(config, "ask", {}, peer=Client(name))
        assert "Elicitation not supported" in text(outcome)

    assert len(pids(starts)) == 1
    assert upstreams.states()[0].leased == 0


async def test_a_leased_session_declares_what_its_client_can_be_asked(upstreams: Upstreams, tmp_path: Path) -> None:
    """And the shared one nothing."""
    heard = tmp_path / "heard"
    config = stdio_server("good", f"heard={heard}")
    await upstreams.call_tool(config, "ask", {}, peer=Client("ann", ALL))

    shared, leased = (
        json.loads(line)["params"]["capabilities"] for line in heard.read_text().splitlines() if '"initialize"' in line
    )
    assert shared == {}
    assert leased == {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


@pytest.mark.parametrize(
    ("method", "said"), [("sampling/createMessage", "a text by ann"), ("roots/list", "file:///ann")]
)
async def test_sampling_and_roots_pass_between_peers_of_the_older_kind(
    upstreams: Upstreams, method: str, said: str
) -> None:
    """The server's question as it came, the client's answer as it gave it."""
    outcome = await upstreams.call_tool(stdio_server(), "ask", {"method": method}, peer=Client("ann", ALL))

    assert said in text(outcome)


async def test_sampling_for_a_stateless_server_is_refused_with_the_reason(upstreams: Upstreams) -> None:
    """It does not cross from one kind of the protocol to the other."""
    ann = Client("ann", ALL)

    with pytest.raises(UpstreamRefused, match=r"sampling.*passes only between a server and a client of one kind"):
        await upstreams.call_tool(stdio_server("modern"), "ask", {"method": "sampling/createMessage"}, peer=ann)

    assert ann.questions == []


async def test_a_question_is_handed_on_to_a_client_that_answers_in_rounds(upstreams: Upstreams, tmp_path: Path) -> None:
    """As it came, sampling too; what the client sends back goes to the server as it is, and so do its capabilities."""
    heard = tmp_path / "heard"
    config, ann = stdio_server("modern", f"heard={heard}"), Client("ann", ALL)
    arguments = {"user": "x", "method": "sampling/createMessage"}
    ann.rounds = {}
    asked = await upstreams.call_tool(config, "ask", arguments, peer=ann)
    ann.rounds = {"inputResponses": {"q": "yes", "more": 1}, "requestState": "state of x"}

    done = await upstreams.call_tool(config, "ask", arguments, peer=ann)

    assert asked.asks
    assert asked.raw
    assert list(asked.raw["inputRequests"]) == ["q"]
    assert json.loads(text(done)) == {"answer": "yes", "state": "state of x"}
    assert ann.questions == []
    meta = json.loads(heard.read_text().splitlines()[-1])["params"]["_meta"]
    declared = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
    assert meta["io.modelcontextprotocol/clientCapabilities"] == declared


async def test_a_question_that_a_client_has_not_declared_is_not_handed_on(upstreams: Upstreams) -> None:
    """Even if the server asks it all the same."""
    ann = Client("ann", ELICITATION)
    ann.rounds = {}

    with pytest.raises(UpstreamRefused, match=r"roots/list.*which this client cannot give"):
        await upstreams.call_tool(stdio_server("modern"), "ask", {"method": "roots/list"}, peer=ann)


@pytest.mark.parametrize("level", [None, "error"])
async def test_a_stateless_server_is_asked_for_the_log_that_the_client_wants(
    upstreams: Upstreams, tmp_path: Path, level: Any
) -> None:
    """And for none where it wants none."""
    heard, ann = tmp_path / "heard", Client("ann")
    ann.level = level

    await upstreams.call_tool(stdio_server("modern", f"heard={heard}"), "echo", {}, peer=ann)

    assert ('/logLevel": "error"' in heard.read_text()) == (level is not None)
    assert heard.read_text().count("/logLevel") == (level is not None)


async def test_a_server_without_sessions_is_asked_for_one_only_once(upstreams: Upstreams, tmp_path: Path) -> None:
    """Then its clients share the connection that it has."""
    heard = tmp_path / "heard"
    config = stdio_server("modern", f"heard={heard}")

    for name in ("ann", "bob", "cid"):
        await upstreams.call_tool(config, "ask", {}, peer=Client(name, ELICITATION))

    assert heard.read_text().count('"initialize"') == 1


async def test_what_a_client_has_not_declared_is_not_asked_of_it(upstreams: Upstreams) -> None:
    """Even if the server asks all the same."""
    ann = Client("ann", ELICITATION)

    outcome = await upstreams.call_tool(stdio_server(), "ask", {"method": "roots/list"}, peer=ann)

    assert "has not declared it" in text(outcome)
    assert ann.questions == []


async def test_a_question_after_the_call_is_refused(upstreams: Upstreams, tmp_path: Path) -> None:
    """On a leased session too: the call to which it belonged has ended."""
    heard = tmp_path / "heard"
    ann = Client("ann", ELICITATION)

    await upstreams.call_tool(stdio_server("good", f"heard={heard}"), "late", {}, peer=ann)

    await eventually(lambda: "no call of this client is under way" in heard.read_text())
    assert ann.questions == []


async def test_a_question_ends_with_its_call(upstreams: Upstreams, tmp_path: Path) -> None:
    """If the caller gives up while its user still thinks, the question is refused and the call cancelled."""
    heard = tmp_path / "heard"
    ann = Client("ann", ELICITATION)
    ann.hold = asyncio.Event()
    call = asyncio.create_task(upstreams.call_tool(stdio_server("good", f"heard={heard}"), "ask", {}, peer=ann))
    await eventually(lambda: ann.questions)

    call.cancel()

    await eventually(lambda: "has ended" in heard.read_text() and "notifications/cancelled" in heard.read_text())


async def test_the_clock_of_a_call_stands_still_while_its_user_thinks(upstreams: Upstreams) -> None:
    """A person needs longer than a tool."""
    ann = Client("ann", ELICITATION)
    ann.hold = asyncio.Event()
    config = stdio_server()
    call = asyncio.create_task(upstreams.call_tool(config, "ask", {}, peer=ann, timeout=2.0))
    await eventually(lambda: ann.questions)

    with pytest.raises(UpstreamTimeout):
        await upstreams.call_tool(config, "sleep", {"seconds": 60}, peer=ann, timeout=2.5)
    ann.hold.set()

    assert "ann" in text(await call)


async def test_a_client_that_refuses_or_fails_is_no_fault_of_the_server(
    upstreams: Upstreams, server: ServerConfig
) -> None:
    """The server hears it in the older era; the caller does in the newest."""
    ann = Client("ann", ELICITATION)
    ann.refuses = True

    try:
        said = text(await upstreams.call_tool(server, "ask", {"user": "x"}, peer=ann))
    except UpstreamRefused as refusal:
        said = str(refusal)

    assert "The user has left." in said


async def test_what_a_server_logs_reaches_the_client_of_the_call_only(upstreams: Upstreams) -> None:
    """On a shared session a log message names no call, so it is dropped."""
    config = stdio_server()
    ann, bob, shared = Client("ann", ELICITATION), Client("bob", ELICITATION), Client("c")

    await asyncio.gather(
        *(upstreams.call_tool(config, "log", {"text": one.id}, peer=one) for one in (ann, bob, shared))
    )

    assert [ann.logged, bob.logged, shared.logged] == [["ann"], ["bob"], []]


@pytest.mark.parametrize("mode", ["good", "modern"])
async def test_progress_reaches_the_right_client(upstreams: Upstreams, mode: str) -> None:
    """Two clients call the same tool at once."""
    server = stdio_server(mode)
    clients = [Client("ann", ELICITATION), Client("bob")]

    await asyncio.gather(*(upstreams.call_tool(server, "sleep", {"seconds": 0.05}, peer=one) for one in clients))

    assert [one.seen for one in clients] == [[(1, 2, "step 1"), (2, 2, "step 2")]] * 2


async def test_leases_are_bounded_and_an_idle_one_gives_way(small: Upstreams, tmp_path: Path) -> None:
    """A third client waits, then gets an error; an idle session is replaced, and its child is ended."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await small.list_tools(config)
    users = [Client(name, ELICITATION) for name in ("ann", "bob", "cid")]
    for user in users[:2]:
        user.hold = asyncio.Event()
    held = [asyncio.create_task(small.call_tool(config, "ask", {}, peer=user)) for user in users[:2]]
    await eventually(lambda: all(user.questions for user in users[:2]))
    with pytest.raises(UpstreamError, match="All 2 sessions that clients may have with server 'fake' are in use"):
        await small.call_tool(config, "ask", {}, peer=users[2])

    for user in users[:2]:
        assert user.hold
        user.hold.set()
    await asyncio.gather(*held)

    assert "cid" in text(await small.call_tool(config, "ask", {}, peer=users[2]))
    await eventually(lambda: sum(alive(pid) for pid in pids(starts)) <= 3)


async def test_one_user_never_has_all_leased_sessions(settings: Settings) -> None:
    """A user gets three of four; the fourth serves another user while the first user's calls are under way."""
    pool = Upstreams(settings, limits=replace(LIMITS, leases=4))
    config = stdio_server("good")
    users = [Client(f"ann {number}", ELICITATION, owner="ann") for number in range(4)]
    for user in users:
        user.hold = asyncio.Event()
    held = [asyncio.create_task(pool.call_tool(config, "ask", {}, peer=user)) for user in users[:3]]
    await eventually(lambda: all(user.questions for user in users[:3]))

    with pytest.raises(UpstreamError, match="All of your 3 sessions"):
        await pool.call_tool(config, "ask", {}, peer=users[3])
    assert "bob" in text(await pool.call_tool(config, "ask", {}, peer=Client("bob", ELICITATION)))

    for user in users:
        assert user.hold
        user.hold.set()
    await asyncio.gather(*held)
    await pool.close()


async def test_a_lease_ends_when_it_is_idle_or_its_client_has_gone(small: Upstreams, tmp_path: Path) -> None:
    """The shared session stays."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await small.list_tools(config)

    await small.call_tool(config, "ask", {}, peer=Client("ann", ELICITATION))
    await eventually(lambda: small.states()[0].leased == 0)
    await eventually(lambda: [alive(pid) for pid in pids(starts)] == [True, False])
    await small.call_tool(config, "ask", {}, peer=Client("bob", ELICITATION))
    await small.release("bob")

    assert [alive(pid) for pid in pids(starts)] == [True, False, False]
    await small.release("nobody")


async def test_a_client_that_declares_something_else_gets_another_session(upstreams: Upstreams) -> None:
    """Capabilities cannot be changed within a session."""
    config = stdio_server()
    await upstreams.call_tool(config, "ask", {}, peer=Client("ann", ELICITATION))

    outcome = await upstreams.call_tool(config, "ask", {"method": "roots/list"}, peer=Client("ann", ALL))

    assert "file:///ann" in text(outcome)
    assert upstreams.states()[0].leased == 1


async def test_a_leased_session_comes_back_after_a_crash(upstreams: Upstreams) -> None:
    """For the same client, with the same capabilities."""
    ann, config = Client("ann", ELICITATION), stdio_server()
    with pytest.raises(UpstreamError, match="was lost during tools/call"):
        await upstreams.call_tool(config, "crash", {}, peer=ann)

    assert "ann" in text(await upstreams.call_tool(config, "ask", {}, peer=ann))


async def test_sessions_are_never_shared_between_tenants_or_identities(upstreams: Upstreams, tmp_path: Path) -> None:
    """Not even for servers of one name and configuration."""
    starts = tmp_path / "starts"
    owners = [(1, ""), (2, ""), (2, "ann"), (2, "bob")]
    for tenant, identity in owners:
        await upstreams.list_tools(stdio_server("good", f"starts={starts}", tenant=tenant, identity=identity))

    await upstreams.disconnect(2, "fake")

    assert [alive(pid) for pid in pids(starts)] == [True, False, False, False]
    assert [(state.tenant, state.identity) for state in upstreams.states()] == [(1, "")]


async def test_an_elicitation_of_two_forms_is_declared_as_the_client_did(upstreams: Upstreams, tmp_path: Path) -> None:
    """A server must not take one kind for the other."""
    heard = tmp_path / "heard"
    only = ClientCapabilities(elicitation=ElicitationCapability())

    await upstreams.call_tool(stdio_server("good", f"heard={heard}"), "echo", {}, peer=Client("ann", only))

    assert '"capabilities": {"elicitation": {}}' in heard.read_text()
