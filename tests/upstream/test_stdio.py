from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support import eventually
from tests.upstream.conftest import FAKES, SECRET, alive, pids, stdio_server
from tests.upstream.peers import Client
from thresher.core import Settings, UpstreamError, UpstreamRefused, UpstreamTimeout, load_settings
from thresher.upstream import ServerConfig, Upstreams


async def test_lists_tools_with_all_they_say(upstreams: Upstreams) -> None:
    """Titles, annotations, schemas, and the server's own information."""
    listing = await upstreams.list_tools(stdio_server())

    assert (listing.version, listing.protocol, listing.instructions) == ("1.2.3", "2025-11-25", "Use it well.")
    echo = listing.tools[0]
    assert (echo.key, echo.title, echo.description) == ("fake/echo", "Echo", "Does echo.")
    assert echo.annotations == {"readOnlyHint": True}
    assert echo.input_schema == {"type": "object"}
    assert listing.tools[-1].output_schema == {"type": "object", "required": ["never"]}


async def test_reads_every_page_and_each_tool_once(upstreams: Upstreams) -> None:
    """A tool that two pages name is kept as the first one has it."""
    listing = await upstreams.list_tools(stdio_server("pages"))

    assert [tool.name for tool in listing.tools] == ["tool0", "echo", "tool1", "tool2", "tool3", "tool4"]


@pytest.mark.parametrize(
    ("mode", "said"),
    [("circle", "in a circle"), ("endless", "200 pages"), ("many", "20,000 tools"), ("invalid", "inputSchema")],
)
async def test_a_listing_without_end_or_shape_is_an_error(upstreams: Upstreams, mode: str, said: str) -> None:
    """A cut listing would look like a good one and make tools vanish."""
    with pytest.raises(UpstreamRefused, match=said):
        await upstreams.list_tools(stdio_server(mode))


async def test_a_second_listing_is_asked_anew(upstreams: Upstreams) -> None:
    """The caller sees the second listing, even if it is empty."""
    config = stdio_server("empty_second")

    first, second = await upstreams.list_tools(config), await upstreams.list_tools(config)

    assert (len(first.tools), len(second.tools)) == (6, 0)


async def test_content_comes_through_unchanged(upstreams: Upstreams) -> None:
    """Text, image, embedded resource, link, structured content and `_meta`."""
    outcome = await upstreams.call_tool(stdio_server(), "rich", {"a": "ü"})

    assert [block.type for block in outcome.content] == ["text", "image", "resource", "resource_link"]
    dumped = outcome.content[2].model_dump(by_alias=True, exclude_none=True, mode="json")
    assert dumped == {"type": "resource", "resource": {"uri": "file:///a", "text": "body", "_meta": {"k": 1}}}
    assert (outcome.structured, outcome.meta, outcome.is_error) == ({"answer": 42}, {"trace": "t"}, False)


async def test_a_tool_that_fails_is_an_outcome_not_an_error(upstreams: Upstreams) -> None:
    """The model shall read the tool's own words."""
    assert (await upstreams.call_tool(stdio_server(), "fail", {})).is_error


async def test_calls_never_list_tools_and_never_check_the_output(upstreams: Upstreams, tmp_path: Path) -> None:
    """The library would list all tools again before each call of one that it has not seen."""
    heard = tmp_path / "heard"

    await upstreams.call_tool(stdio_server("good", f"heard={heard}"), "count", {})

    methods = [json.loads(line)["method"] for line in heard.read_text().splitlines()]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/call"]


async def test_a_shared_session_declares_no_capability(upstreams: Upstreams, tmp_path: Path) -> None:
    """A server may not ask a session whose caller it cannot name, in either era."""
    heard = tmp_path / "heard"

    await upstreams.list_tools(stdio_server("good", f"heard={heard}"))

    discover, initialize, *_ = (
        json.loads(line)["params"] for line in heard.read_text().splitlines() if '"params"' in line
    )
    assert discover["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}
    assert initialize["capabilities"] == {}
    assert initialize["clientInfo"]["name"] == "thresher"


async def test_a_server_that_asks_its_client_is_told_no(upstreams: Upstreams) -> None:
    """A shared session has no client to ask. The call itself continues."""
    outcome = await upstreams.call_tool(stdio_server(), "ask", {})

    assert "Elicitation not supported" in outcome.content[0].model_dump()["text"]


async def test_calls_run_side_by_side_over_one_session(upstreams: Upstreams, tmp_path: Path) -> None:
    """A slow call delays no other, and ten first callers start one child."""
    starts = tmp_path / "starts"
    config = stdio_server("slow", "seconds=0.2", f"starts={starts}")

    slow = asyncio.create_task(upstreams.call_tool(config, "sleep", {"seconds": 30}))
    await asyncio.gather(*(upstreams.call_tool(config, "echo", {"n": n}) for n in range(10)))

    assert not slow.done()
    assert len(pids(starts)) == 1
    slow.cancel()


async def test_cancelling_a_call_cancels_it_at_the_server(upstreams: Upstreams, tmp_path: Path) -> None:
    """The session lives on."""
    heard = tmp_path / "heard"
    config = stdio_server("good", f"heard={heard}")
    call = asyncio.create_task(upstreams.call_tool(config, "sleep", {"seconds": 60}))
    await eventually(lambda: heard.exists() and "tools/call" in heard.read_text())

    call.cancel()

    await eventually(lambda: "stopped sleeping" in heard.read_text())
    assert (await upstreams.call_tool(config, "echo", {})).is_error is False


async def test_progress_reaches_the_caller(upstreams: Upstreams) -> None:
    """In order, with the server's words."""
    client = Client("c")

    await upstreams.call_tool(stdio_server(), "sleep", {"seconds": 0.1}, peer=client)

    assert client.seen == [(1, 2, "step 1"), (2, 2, "step 2")]


async def test_a_call_that_takes_too_long_is_given_up(upstreams: Upstreams) -> None:
    """The caller's own limit counts; the session lives on."""
    with pytest.raises(UpstreamTimeout, match=r"'fake' did not answer tools/call within 0\.2 s"):
        await upstreams.call_tool(stdio_server(), "sleep", {"seconds": 60}, timeout=0.2)

    assert upstreams.states()[0].state == "ready"


async def test_an_unknown_tool_is_refused_in_the_servers_words_without_its_secrets(upstreams: Upstreams) -> None:
    """A server may repeat its own environment in an error."""
    with pytest.raises(UpstreamRefused, match=r"Unknown tool: unknown \*\*\* \(code -32602\)") as refused:
        await upstreams.call_tool(stdio_server(env={"SECRET": SECRET}), "unknown", {})

    assert SECRET not in str(refused.value)


async def test_a_large_answer_passes_and_a_monstrous_one_ends_the_session(upstreams: Upstreams) -> None:
    """10 MB arrive completely; above 32 MiB there is an error, and the next call works again."""
    config = stdio_server()

    outcome = await upstreams.call_tool(config, "huge", {"bytes": 10_000_000})
    with pytest.raises(UpstreamError, match="more than 32 MiB"):
        await upstreams.call_tool(config, "huge", {"bytes": 34_000_000})

    assert len(outcome.content[0].model_dump()["text"]) == 10_000_000
    assert (await upstreams.call_tool(config, "echo", {})).is_error is False


@pytest.mark.parametrize(
    ("field", "value", "times", "said"),
    [
        ("content", {"type": "zzz"}, 100_000, "content has more than 10,000 parts"),
        ("content", {"type": "zzz"}, 10_000, "it is wrong in "),
        ("structuredContent", [], 400_000, "more than 250,000 values"),
        ("structuredContent", [], 1_100_000, "too many values to be read"),
    ],
)
async def test_an_answer_with_too_much_in_it_is_refused(
    upstreams: Upstreams, field: str, value: object, times: int, said: str
) -> None:
    """Its parts are checked on the event loop; the session goes on."""
    config = stdio_server()

    with pytest.raises(UpstreamError, match=said):
        await upstreams.call_tool(config, "repeat", {"field": field, "value": value, "times": times})

    assert (await upstreams.call_tool(config, "echo", {})).is_error is False


async def test_an_answer_of_many_parts_passes(upstreams: Upstreams) -> None:
    """Some servers send one for each line or row."""
    part = {"type": "text", "text": "a, b, c"}

    outcome = await upstreams.call_tool(stdio_server(), "repeat", {"field": "content", "value": part, "times": 10_000})

    assert len(outcome.content) == 10_000


async def test_rubbish_on_stdout_goes_to_the_servers_log(upstreams: Upstreams) -> None:
    """Banners and debug prints are common."""
    await upstreams.list_tools(stdio_server("rubbish"))

    assert upstreams.log("fake") == (
        "(stdout, not MCP) Welcome to the fake server!",
        "(stdout, not MCP) {not json",
        '(stdout, not MCP) {"hello": 1}',
    )
    assert upstreams.log("stranger") == ()


async def test_a_flood_of_rubbish_ends_the_attempt(upstreams: Upstreams) -> None:
    """It must not starve the other servers."""
    with pytest.raises(UpstreamError, match=r"floods its stdout.*all work and no play"):
        await upstreams.list_tools(stdio_server("flood"))


async def test_a_flood_on_stderr_keeps_only_the_last_lines(upstreams: Upstreams) -> None:
    """And the server stays usable."""
    config = stdio_server("chatty")

    outcomes = [await upstreams.call_tool(config, "echo", {}) for _ in range(20)]

    assert not any(outcome.is_error for outcome in outcomes)
    await eventually(lambda: len(upstreams.log("fake")) == 200)


@pytest.mark.parametrize(
    ("mode", "kind", "said"),
    [
        ("crash_at_start", UpstreamError, r"it ended \(exit status 2\).*cannot find the database.*Test it by hand: \S"),
        ("crash_in_handshake", UpstreamError, r"exit status 4.*no configuration, key \*\*\*"),
        ("refuse", UpstreamRefused, r"refused the handshake: no licence \*\*\*"),
        ("ancient", UpstreamError, "Unsupported protocol version"),
    ],
)
async def test_a_failed_start_says_why(upstreams: Upstreams, mode: str, kind: type[UpstreamError], said: str) -> None:
    """With the last lines of its stderr, secrets hidden."""
    with pytest.raises(kind, match=said) as failed:
        await upstreams.list_tools(stdio_server(mode, env={"SECRET": SECRET}))

    assert SECRET not in str(failed.value)
    assert [(state.name, state.state, state.pid) for state in upstreams.states()] == [("fake", "failed", None)]


async def test_a_failed_start_is_tried_again_at_the_next_use(upstreams: Upstreams, tmp_path: Path) -> None:
    """A person may have repaired it meanwhile."""
    config = stdio_server("crash_at_start", f"once={tmp_path / 'once'}")
    with pytest.raises(UpstreamError):
        await upstreams.list_tools(config)

    assert len((await upstreams.list_tools(config)).tools) == 6


async def test_a_server_that_hangs_in_the_handshake_is_given_up_and_killed(tmp_path: Path) -> None:
    """No process stays behind."""
    starts = tmp_path / "starts"
    pool = Upstreams(load_settings(upstream_connect_seconds=0.5))

    with pytest.raises(UpstreamTimeout, match=r"not ready within 0\.5 s.*THRESHER_UPSTREAM_CONNECT_SECONDS"):
        await pool.list_tools(stdio_server("hang", f"starts={starts}"))

    assert [pid for pid in pids(starts) if alive(pid)] == []
    await pool.close()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ServerConfig("s", "stdio", command="no-such-command"), "'no-such-command' was not found.*PATH="),
        (ServerConfig("s", "stdio", command="npx", env={"PATH": "/nowhere"}), "comes with Node.js"),
        (ServerConfig("s", "stdio", command=sys.executable, cwd="/no/such/folder"), "'/no/such/folder' does not exist"),
    ],
)
async def test_what_cannot_be_run_is_named(upstreams: Upstreams, config: ServerConfig, said: str) -> None:
    """Before anything is started."""
    with pytest.raises(UpstreamError, match=said):
        await upstreams.list_tools(config)


async def test_a_file_that_is_no_program_is_named(upstreams: Upstreams, tmp_path: Path) -> None:
    """Found in the working directory, and not runnable."""
    (tmp_path / "server").write_bytes(b"\x7fELF broken")
    (tmp_path / "server").chmod(0o755)

    with pytest.raises(UpstreamError, match="'server' cannot be run"):
        await upstreams.list_tools(ServerConfig("s", "stdio", command="server", cwd=str(tmp_path)))


async def test_the_child_gets_a_safe_environment(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variables and a base; neither our secrets nor a stranger's."""
    monkeypatch.setenv("THRESHER_SECRET_KEY", SECRET)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("UV_PUBLISH_TOKEN", SECRET)
    monkeypatch.setenv("UV_CACHE_DIR", "/cache")

    outcome = await upstreams.call_tool(stdio_server(env={"OWN": "value"}), "env", {})

    env = json.loads(outcome.content[0].model_dump()["text"])
    assert SECRET not in str(env)
    assert env["OWN"] == "value"
    assert env["UV_CACHE_DIR"] == "/cache"
    assert env["PATH"] == os.environ["PATH"]


async def test_a_crash_in_mid_call_fails_it_clearly_and_the_next_use_reconnects(
    upstreams: Upstreams, tmp_path: Path
) -> None:
    """The call is never repeated: it may have had an effect."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}", f"heard={tmp_path / 'heard'}")

    with pytest.raises(UpstreamError, match=r"'fake' was lost during tools/call.*may or may not have been carried out"):
        await upstreams.call_tool(config, "crash", {})
    outcome = await upstreams.call_tool(config, "echo", {})

    assert not outcome.is_error
    assert len(pids(starts)) == 2
    assert (tmp_path / "heard").read_text().count('"name": "crash"') == 1


async def test_a_killed_child_is_noticed_and_started_again(upstreams: Upstreams, tmp_path: Path) -> None:
    """Idle, without a call in flight."""
    starts = tmp_path / "starts"
    config = stdio_server("good", f"starts={starts}")
    await upstreams.list_tools(config)

    os.kill(pids(starts)[0], signal.SIGKILL)
    await eventually(lambda: upstreams.states()[0].state == "lost")

    assert upstreams.states()[0].pid is None
    await upstreams.call_tool(config, "echo", {})
    assert len(pids(starts)) == 2


async def test_a_child_that_dies_while_its_own_child_holds_the_pipe_is_noticed(
    upstreams: Upstreams, tmp_path: Path
) -> None:
    """The pipe never ends there; the dead leader's group goes with the session."""
    starts = tmp_path / "starts"
    config = stdio_server("parent", f"starts={starts}")
    await upstreams.list_tools(config)
    leader, grandchild = pids(starts)

    os.kill(leader, signal.SIGKILL)

    await eventually(lambda: upstreams.states()[0].state == "lost")
    await eventually(lambda: not alive(grandchild))


@pytest.mark.parametrize("mode", ["parent", "stubborn"])
async def test_closing_ends_the_child_and_all_it_started(upstreams: Upstreams, tmp_path: Path, mode: str) -> None:
    """Even when both ignore SIGTERM and the end of their input; and then nothing more can be asked."""
    starts = tmp_path / "starts"
    await upstreams.list_tools(stdio_server(mode, f"starts={starts}"))
    assert [alive(pid) for pid in pids(starts)] == [True, True]

    async with asyncio.timeout(8):
        await upstreams.close()

    await eventually(lambda: not any(alive(pid) for pid in pids(starts)))
    with pytest.raises(UpstreamError, match="stopping"):
        await upstreams.list_tools(stdio_server())


async def test_closing_while_connecting_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    """The waiting caller gets an error, not a hang."""
    starts = tmp_path / "starts"
    pool = Upstreams(settings)
    waiting = asyncio.create_task(pool.list_tools(stdio_server("hang", f"starts={starts}")))
    await eventually(lambda: pids(starts))
    assert pool.states()[0].state == "connecting"

    await pool.close()

    with pytest.raises(UpstreamError, match="was closed"):
        await waiting
    assert not any(alive(pid) for pid in pids(starts))


async def test_both_protocol_eras_are_spoken(upstreams: Upstreams) -> None:
    """A server made with the library answers in the newest one."""
    config = ServerConfig("lib", "stdio", command=sys.executable, args=(str(FAKES / "library_server.py"), "stdio"))

    listing = await upstreams.list_tools(config)
    outcome = await upstreams.call_tool(config, "add", {"a": 1, "b": 2})

    assert listing.protocol == "2026-07-28"
    assert outcome.structured == {"result": 3}
