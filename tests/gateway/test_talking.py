"""What an upstream server says and asks during a call, as clients of both eras hear it over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp.client.elicitation import ElicitResult
from mcp import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from tests.gateway.talking import add, add_talking, call, connect, over_http, served, text
from tests.support import eventually
from thresher.gateway import questions
from thresher.services import Services
from thresher.upstream import ServerConfig


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Where the server writes which of its calls were cancelled."""
    return tmp_path / "notes"


@pytest.fixture(params=["legacy", "dual"])
async def talking(request: pytest.FixtureRequest, services: Services, notes: Path) -> AsyncIterator[str]:
    """The server, of the handshake era or of both, in the catalogue; over stdio unless said otherwise."""
    era, _, http = str(request.param).partition(" over ")
    if not http:
        await add_talking(services, era, str(notes))
        yield era
        return
    async with over_http(era, notes) as address:
        await add(services, ServerConfig("talk", "http", url=address))
        yield era


legacy = pytest.mark.parametrize("talking", ["legacy"], indirect=True)
dual = pytest.mark.parametrize("talking", ["dual", "dual over http"], indirect=True)
anywhere = pytest.mark.parametrize("talking", ["legacy", "dual", "legacy over http", "dual over http"], indirect=True)


@pytest.fixture
async def url(services: Services, talking: str) -> AsyncIterator[str]:
    """Where the gateway answers."""
    async with served(services) as address:
        yield address


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def never(*_: Any) -> Any:
    """Makes the client one that can be asked: what a server logs belongs to a call only where calls are apart."""
    raise AssertionError


@anywhere
async def test_two_users_at_once_are_each_asked_only_for_their_own(url: str, mode: str) -> None:
    """In both eras, over servers of both eras, over stdio and HTTP."""
    heard: dict[str, list[str]] = {"ann": [], "bob": []}
    both = asyncio.Barrier(2)

    async def pays(user: str) -> str:
        async def asked(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult[Any]:
            heard[user].append(message)
            await both.wait()  # nobody answers before both were asked
            return ElicitResult(action="accept", content={"yes": user == "ann"})

        async with connect(url, mode, user, elicitation_handler=asked) as client:
            return text(await call(client, "pay", **{"for": user}))

    async with asyncio.timeout(30):
        answers = await asyncio.gather(pays("ann"), pays("bob"))

    assert heard == {"ann": ["Pay for ann?"], "bob": ["Pay for bob?"]}
    assert answers == ["ann: accept {'yes': True}", "bob: accept {'yes': False}"]


async def test_one_user_may_be_asked_in_several_calls_at_once(url: str, mode: str) -> None:
    """Each answer reaches the call that it is for."""

    async def asked(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult[Any]:
        return ElicitResult(action="accept", content={"yes": "3" in message})

    async with asyncio.timeout(30), connect(url, mode, elicitation_handler=asked) as client:
        answers = await asyncio.gather(*(call(client, "pay", **{"for": f"n{n}"}) for n in range(4)))

    assert [text(answer) for answer in answers] == [f"n{n}: accept {{'yes': {n == 3}}}" for n in range(4)]


async def test_a_client_that_cannot_be_asked_makes_a_clear_error(url: str, mode: str) -> None:
    """And never a hung call."""
    async with asyncio.timeout(30), connect(url, mode) as client:
        answer = await call(client, "pay")

    assert answer.is_error


async def test_a_declined_question_reaches_the_server(url: str, mode: str) -> None:
    """The user's no is an answer."""

    async def asked(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult[Any]:
        return ElicitResult(action="decline")

    async with asyncio.timeout(30), connect(url, mode, elicitation_handler=asked) as client:
        answer = await call(client, "pay", **{"for": "x"})

    assert text(answer) == "x: decline None"


async def test_progress_and_logs_pass_through(url: str, mode: str, talking: str) -> None:
    """To the client whose call it is, in order."""
    steps: list[tuple[float, float | None, str | None]] = []
    words: list[Any] = []

    async def progress(step: float, total: float | None, message: str | None) -> None:
        steps.append((step, total, message))

    async def logged(message: Any) -> None:
        words.append(message.data)

    hearing = {"progress_handler": progress, "log_handler": logged, "elicitation_handler": never}
    async with asyncio.timeout(30), connect(url, mode, **hearing) as client:
        if mode == "legacy":
            await client.set_logging_level("error")
        answer = await call(client, "talk")

    assert text(answer) == "talked"
    assert steps == [(1, 2, "step 1"), (2, 2, "step 2")]
    if (talking, mode) == ("legacy", "legacy"):
        assert [word["msg"] if isinstance(word, dict) else word for word in words] == ["a loud word"]


async def test_a_cancelled_call_is_cancelled_upstream(url: str, mode: str, notes: Path, services: Services) -> None:
    """The client gives up; the server is told, and the log says how the call ended."""
    async with connect(url, mode) as client:
        calling = asyncio.ensure_future(call(client, "wait"))
        await asyncio.wait([calling], timeout=1)
        calling.cancel()
        await asyncio.wait([calling])
        await eventually(notes.exists)

    assert notes.read_text() == "cancelled\n"
    assert await states(services) == ["cancelled"]


@dual
async def test_the_server_is_spoken_to_in_the_era_of_its_client(url: str, mode: str, notes: Path) -> None:
    """A client that can be asked has a session where the server can have one; one that answers in rounds needs none."""

    async def asked(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult[Any]:
        return ElicitResult(action="decline")

    async with asyncio.timeout(30), connect(url, mode, elicitation_handler=asked) as client:
        await call(client, "pay")

    assert set(notes.read_text().split()) == {"2025-11-25" if mode == "legacy" else "2026-07-28"}


@legacy
async def test_what_was_leased_for_a_client_ends_with_its_session(url: str, services: Services) -> None:
    """And not only when it has been idle for long."""
    async with asyncio.timeout(30), connect(url, "legacy", elicitation_handler=never) as client:
        await call(client, "talk")
        during = services.upstreams.states()[0].leased
    await eventually(lambda: services.upstreams.states()[0].leased == 0)

    assert during == 1


async def test_an_error_that_the_client_has_to_act_upon_reaches_it_as_one(url: str, mode: str) -> None:
    """Code and data are the server's own."""
    async with asyncio.timeout(30), connect(url, mode) as client:
        with pytest.raises(MCPError) as refused:
            await call(client, "demand")

    assert refused.value.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused.value.error.data["requiredCapabilities"] == {"sampling": {}}


async def test_a_call_after_a_search_is_a_use_to_learn_from(url: str, mode: str, services: Services) -> None:
    """It belongs to the search of the same client, whether that has a session or not."""
    async with asyncio.timeout(30), connect(url, mode, "ann") as client:
        found = await client.call_tool_mcp("find_tools", {"queries": ["talk"], "threshold": 0, "budget": 2_000})
        await call(client, "talk")
    await services.tools.settle()

    assert "talk_talk" in str(found)
    async with services.database.transaction(services.caller.tenant) as connection:
        rows = await connection.exec_driver_sql("select owner, cardinality(offered) > 0 from tool_use")
        assert [tuple(row) for row in rows] == [("ann", True)]


async def states(services: Services) -> list[str]:
    """How the calls that were noted ended, oldest first."""
    await services.tools.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        return [row.state for row in await connection.exec_driver_sql("select state from invocation order by id")]


PAY = {"name": "talk_pay", "arguments": {"for": "ann"}}
STATELESS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "call_tool",
    "x-user": "ann",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


async def post(http: httpx.AsyncClient, url: str, arguments: Any, user: str = "ann", **more: Any) -> dict[str, Any]:
    """Send a call of the stateless era as it stands."""
    params = {"name": "call_tool", "arguments": arguments, "_meta": META, **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return (await http.post(url, json=message, headers={**STATELESS, "x-user": user}, timeout=30)).json()


@legacy
async def test_a_parked_call_goes_on_for_its_own_caller_and_arguments_alone(url: str) -> None:
    """The state that a client carries is worth nothing to anybody else, nor a second time."""
    async with httpx.AsyncClient() as http:
        asked = (await post(http, url, PAY))["result"]
        key = next(iter(asked["inputRequests"]))
        answers = {
            "requestState": asked["requestState"],
            "inputResponses": {key: {"action": "accept", "content": {"yes": True}}},
        }
        foreign = await post(http, url, PAY, "bob", **answers)
        changed = await post(http, url, {**PAY, "arguments": {"for": "eve"}}, **answers)
        own = await post(http, url, PAY, **answers)
        again = await post(http, url, PAY, **answers)

    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"][key]["params"]["message"] == "Pay for ann?"
    assert own["result"]["content"][0]["text"] == "ann: accept {'yes': True}"
    assert [answer["error"]["code"] for answer in (foreign, changed, again)] == [-32602] * 3


@legacy
async def test_a_parked_call_that_nobody_comes_back_for_is_cancelled(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever comes too late is told to begin again."""
    monkeypatch.setattr(questions, "PARKED_SECONDS", 0.0)
    async with httpx.AsyncClient() as http:
        asked = (await post(http, url, PAY))["result"]
        late = await post(http, url, PAY, requestState=asked["requestState"], inputResponses={})

    assert "Send the request again without it" in late["error"]["message"]


@dual
async def test_a_question_between_stateless_ends_passes_as_it_came(url: str, services: Services) -> None:
    """Under the server's own key, its state worth nothing to others; what nobody asked for is ignored."""
    yes = {"action": "accept", "content": {"yes": True}}
    async with httpx.AsyncClient() as http:
        asked = (await post(http, url, PAY))["result"]
        answers = {"requestState": asked["requestState"], "inputResponses": {"sure": yes, "unknown": yes}}
        foreign = await post(http, url, PAY, "bob", **answers)
        changed = await post(http, url, {**PAY, "arguments": {"for": "eve"}}, **answers)
        own = await post(http, url, PAY, **answers)

    assert asked["inputRequests"]["sure"]["params"]["message"] == "Pay for ann?"
    assert "paying" not in asked["requestState"]
    assert own["result"]["content"][0]["text"] == "ann: accept {'yes': True}"
    assert [answer["error"]["code"] for answer in (foreign, changed)] == [-32602] * 2
    assert await states(services) == ["ok"]
