"""Handshakes, commands and bridges against a real listener."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.daemon.listening import Listening, listening, listening_thread, no_dry_run
from thresher.core import Settings
from thresher.daemon import DaemonFailure, DaemonPaths, attach
from thresher.daemon.attaching import read_line
from thresher.daemon.client import request
from thresher.daemon.server.control import REQUEST_LIMIT, Progress, serve_control


@pytest.fixture(params=["unix", "tcp"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listening]:
    """A listener on each kind of socket."""
    with listening_thread(tmp_path, unix=request.param == "unix") as listener:
        yield listener


def raw(place: DaemonPaths) -> socket.socket:
    """A connection before its handshake."""
    card = place.read() or {}
    scheme, _, target = str(card["address"]).partition(":")
    if scheme == "tcp":
        host, port = target.split(":")
        return socket.create_connection((host, int(port)), 10)
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(10)
    link.connect(target)
    return link


def bridge(place: DaemonPaths, *options: str, **variables: str) -> subprocess.Popen[bytes]:
    """`thresher stdio` as a client starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "thresher", "stdio", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "THRESHER_DATA_DIR": place.folder, **variables},
    )


def test_a_session_carries_bytes_both_ways(state: Listening) -> None:
    """Past the handshake nothing is lost, not even what came in the same packet."""
    with attach(state.place, "mcp") as link:
        link.sendall(b"one\ntwo\n")
        link.shutdown(socket.SHUT_WR)

        assert link.makefile("rb").read() == b"one\ntwo\n"


def test_a_command_reports_progress_then_its_result(state: Listening) -> None:
    """Arguments go in, events and a result come out."""
    events: list[dict[str, Any]] = []

    assert request(state.place, "greet", {"name": "Ada"}, progress=events.append) == {"hello": "Ada"}
    assert events == [{"done": 1, "total": 2}]
    assert request(state.place, "greet", {"name": "Bob"}) == {"hello": "Bob"}


@pytest.mark.parametrize(
    ("verb", "code", "exit_code"), [("clash", "conflict", 4), ("crash", "internal", 1), ("unknown", "not_found", 3)]
)
def test_a_command_that_fails_gives_one_error(state: Listening, verb: str, code: str, exit_code: int) -> None:
    """Its code, exit code and trace arrive; inner details do not."""
    with pytest.raises(DaemonFailure) as caught:
        request(state.place, verb)

    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert caught.value.trace
    assert "secret detail" not in str(caught.value)


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b'{"verb": "greet", "arguments": 3}\n', b"3\n"])
def test_a_malformed_request_is_answered(state: Listening, line: bytes) -> None:
    """Whatever the line is, the answer is an error in JSON."""
    with attach(state.place, "control") as link:
        link.sendall(line)

        answer = json.loads(link.makefile("rb").readline())
    assert answer["error"]["code"] == "invalid_input"


def test_a_long_request_is_answered_and_an_endless_one_refused(state: Listening) -> None:
    """An imported file of some megabytes fits; beyond the bound the client is told, not cut off."""
    name = "x" * 3_000_000
    assert request(state.place, "greet", {"name": name}) == {"hello": name}

    with pytest.raises(DaemonFailure, match="longer than") as caught:
        request(state.place, "greet", {"name": "x" * (REQUEST_LIMIT + 1)})

    assert caught.value.exit_code == 2


def test_what_a_client_says_after_its_request_is_not_kept(state: Listening) -> None:
    """Fifty megabytes behind a request cost no memory, and its end is still seen."""
    process = psutil.Process()
    with attach(state.place, "control") as link:
        link.sendall(b'{"verb": "hang"}\n')
        assert link.recv(100)
        before = process.memory_info().rss
        for _ in range(50):
            link.sendall(b"x" * 1_000_000)
        grown = process.memory_info().rss - before

    assert state.cancelled.wait(10)
    assert grown < 20_000_000


def test_a_greeting_without_end_is_cut_off(state: Listening) -> None:
    """Nobody has shown a token yet: 64 KiB are enough."""
    scheme, _, target = str((state.place.read() or {})["address"]).partition(":")
    with socket.socket(socket.AF_UNIX if scheme == "unix" else socket.AF_INET) as link:
        host, _, port = target.rpartition(":")
        link.settimeout(10)
        link.connect(target if scheme == "unix" else (host, int(port)))
        with suppress(OSError):
            for _ in range(100):
                link.sendall(b"x" * 65_536)
        with suppress(OSError):
            assert link.recv(1) == b""

    assert request(state.place, "greet", {"name": "Ada"}) == {"hello": "Ada"}


def test_a_client_that_goes_away_cancels_its_command(state: Listening) -> None:
    """Ctrl-C in a command leaves nothing running."""
    with attach(state.place, "control") as link:
        link.sendall(b'{"verb": "hang"}\n')
        assert link.recv(100)

    assert state.cancelled.wait(10)


def test_a_client_that_says_nothing_is_let_go(state: Listening) -> None:
    """A handshake without a request ends without an error."""
    attach(state.place, "control").close()

    assert request(state.place, "greet", {"name": "Ada"}) == {"hello": "Ada"}


@pytest.mark.parametrize(
    ("greeting", "code"),
    [
        (b'{"token": "wrong", "mode": "mcp"}\n', b"token"),
        (b"[]\n", b"token"),
        (b"\n", b""),
        (b"no json\n", b""),
        (b"\xff" * 100 + b"\n", b""),
        (b"", b"token"),
    ],
)
def test_a_wrong_greeting_is_refused_and_touches_nobody(state: Listening, greeting: bytes, code: bytes) -> None:
    """Without the token there is no session; the daemon goes on."""
    with raw(state.place) as link:
        link.sendall(greeting)
        link.shutdown(socket.SHUT_WR)

        assert code in link.makefile("rb").read()
    attach(state.place, "mcp").close()


def test_an_unknown_mode_is_refused(state: Listening) -> None:
    """The error names the modes."""
    with pytest.raises(DaemonFailure, match="no mode 'ftp'"):
        attach(state.place, "ftp")


def test_a_silent_and_a_slow_client_hold_up_nobody(state: Listening) -> None:
    """One never greets, one never reads; a third is served at once."""
    with raw(state.place), attach(state.place, "mcp") as deaf:
        deaf.setblocking(False)
        try:
            while deaf.send(b"x" * 65536):
                pass
        except BlockingIOError:
            pass

        assert request(state.place, "greet", {"name": "Ada"}) == {"hello": "Ada"}


def test_a_daemon_that_a_person_started_stays_for_another_version(tmp_path: Path) -> None:
    """The error tells both versions and the way out."""
    with (
        listening_thread(tmp_path, started_by="person", version="0.0.1") as state,
        pytest.raises(DaemonFailure, match=r"version 0\.0\.1") as caught,
    ):
        attach(state.place, "mcp", start=False)

    assert "thresher stop" in caught.value.hint


def test_an_idle_daemon_of_a_client_makes_way_for_another_version(tmp_path: Path) -> None:
    """It ends; the newcomer may start its own."""
    with listening_thread(tmp_path, version="0.0.1") as state:
        with pytest.raises(DaemonFailure) as caught:
            attach(state.place, "mcp", start=False)

        assert caught.value.code == "not_running"
        assert state.asked_to_leave.is_set()


def test_a_daemon_with_clients_stays_for_another_version(tmp_path: Path) -> None:
    """Nobody's session is cut for somebody else's upgrade."""
    with listening_thread(tmp_path, version="0.0.1") as state, attach(state.place, "mcp", version="0.0.1") as link:
        with pytest.raises(DaemonFailure, match="1 clients"):
            attach(state.place, "mcp", start=False)
        link.sendall(b"still here\n")

        assert link.recv(100) == b"still here\n"


@pytest.mark.parametrize(("started_by", "code"), [("client", "not_running"), ("person", "conflict")])
def test_only_a_daemon_of_a_client_can_be_taken_over(tmp_path: Path, started_by: str, code: str) -> None:
    """`thresher serve` takes the place of an idle daemon, not of another person's."""
    with listening_thread(tmp_path, started_by=started_by) as state, pytest.raises(DaemonFailure) as caught:
        attach(state.place, "takeover", start=False)

    assert caught.value.code == code


def test_stop_works_across_versions(tmp_path: Path) -> None:
    """The way out of a mismatch must not depend on the version."""
    with listening_thread(tmp_path, started_by="person", version="0.0.1") as state:
        attach(state.place, "stop", start=False).close()

        assert state.asked_to_leave.wait(10)


def test_without_a_daemon_a_command_that_must_not_start_one_says_so(tmp_path: Path) -> None:
    """Stale cards of every kind count as no daemon."""
    place = DaemonPaths(str(tmp_path))
    taken = socket.create_server(("127.0.0.1", 0))
    cards: list[dict[str, object]] = [
        {},
        {"address": f"unix:{tmp_path}/gone.sock", "token": "t"},
        {"address": f"tcp:127.0.0.1:{taken.getsockname()[1]}", "token": "t"},
        {"address": "tcp:nonsense", "token": "t"},
        {"address": "smoke:signal"},
    ]
    with taken:
        for card in cards:
            place.write(card)
            with pytest.raises(DaemonFailure) as caught:
                attach(place, "mcp", start=False)

            assert caught.value.code == "not_running"


def test_a_connection_that_breaks_in_a_command_is_an_error(tmp_path: Path) -> None:
    """The daemon ends while it works."""
    with listening_thread(tmp_path) as state:

        def leave(_event: dict[str, Any]) -> None:
            state.loop.call_soon_threadsafe(state.stopped.set)

        with pytest.raises(DaemonFailure, match="ended before"):
            request(state.place, "hang", progress=leave)


def test_reading_a_line_stops_at_its_end_and_at_the_streams_end() -> None:
    """What follows the line stays in the socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"one\ntwo")
        assert read_line(ours) == b"one\n"
        theirs.close()

        assert ours.recv(10) == b"two"
        assert read_line(ours) == b""


def test_the_bridge_passes_everything_on_and_ends_with_its_input(state: Listening) -> None:
    """A megabyte there and back, then exit code 0 and a silent standard error."""
    payload = os.urandom(1_000_000) + b"\n"
    child = bridge(state.place)
    out, err = child.communicate(payload, timeout=30)

    assert (child.returncode, err) == (0, b"")
    assert out == payload


def test_a_client_says_what_its_list_shows(state: Listening) -> None:
    """By an option, which wins, or by a variable; without either the daemon's setting decides."""
    for options, variables in (
        (["--expose", "own"], {}),
        (["--expose=all"], {}),
        ([], {"THRESHER_EXPOSE": "all"}),
        (["--expose", "meta"], {"THRESHER_EXPOSE": "all"}),
        ([], {}),
    ):
        child = bridge(state.place, *options, **variables)
        out, err = child.communicate(b"x\n", timeout=60)
        assert (child.returncode, out, err) == (0, b"x\n", b"")

    assert state.exposed == ["own", "all", "all", "meta", None]


def test_what_a_list_cannot_show_is_refused(state: Listening) -> None:
    """In one line that names the variable."""
    child = bridge(state.place, THRESHER_EXPOSE="some")
    _, err = child.communicate(b"", timeout=30)

    assert child.returncode == 5
    assert b"'some' is not a valid value of expose. Use meta, own, all, or unset THRESHER_EXPOSE." in err


def test_the_bridge_says_when_the_daemon_ends(tmp_path: Path) -> None:
    """One line on standard error with the way out, exit code 9."""
    with listening_thread(tmp_path) as state:
        child = bridge(state.place)
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"hello\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"hello\n"
        state.loop.call_soon_threadsafe(state.stopped.set)
        assert child.wait(10) == 9

    assert child.stderr is not None
    message = child.stderr.read().decode()
    assert "The daemon ended" in message
    assert "Start the client again" in message


def test_the_bridge_ends_quietly_when_nobody_reads_it(state: Listening) -> None:
    """A client that closed its end of the pipe has gone."""
    child = bridge(state.place)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.close()
    child.stdin.write(b"hello\n" * 1000)
    child.stdin.flush()

    assert child.wait(10) == 0
    assert child.stderr is not None
    assert child.stderr.read() == b""


def test_a_killed_bridge_leaves_the_others_alone(state: Listening) -> None:
    """Its session ends; theirs go on."""
    first, second = bridge(state.place), bridge(state.place)
    for child in (first, second):
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"a\n")
        child.stdin.flush()
        child.stdout.readline()
    first.kill()
    first.wait()

    assert second.communicate(b"b\n", timeout=10)[0] == b"b\n"


async def test_nobody_present_for_a_while_means_leave(tmp_path: Path) -> None:
    """A client or a job stops the clock."""
    async with listening(tmp_path, idle_seconds=1.0) as state:
        with state.presence.entered("job"), pytest.raises(TimeoutError):
            await asyncio.wait_for(state.stopped.wait(), 1.5)

        await asyncio.wait_for(state.stopped.wait(), 10)


async def test_without_an_idle_time_a_daemon_stays(tmp_path: Path) -> None:
    """0 means never."""
    async with listening(tmp_path) as state:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(state.stopped.wait(), 0.1)


def test_ctrl_c_ends_the_bridge_quietly(state: Listening) -> None:
    """A terminal interrupts the whole group; nothing is printed."""
    child = bridge(state.place)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(b"a\n")
    child.stdin.flush()
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=10)

    assert (child.returncode, err) == (130, b"")


def test_a_bridge_without_standard_input_ends(state: Listening) -> None:
    """A launcher may have closed it."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m thresher stdio <&-"],
        capture_output=True,
        timeout=20,
        check=False,
        env={**os.environ, "THRESHER_DATA_DIR": state.place.folder},
    )

    assert (done.returncode, done.stderr) == (0, b"")


async def _answered(pieces: list[bytes]) -> dict[str, Any]:
    """What `serve_control` says to a request that arrives in these pieces, each taken before the next one comes."""
    near, far = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=near)
    answers, other = await asyncio.open_connection(sock=far)

    async def hello(arguments: Mapping[str, Any], tell: Progress) -> int:
        return len(arguments["name"])

    reader = asyncio.StreamReader()
    serving = asyncio.create_task(serve_control({"greet": hello}, no_dry_run, Settings(), reader, writer))
    for piece in pieces:
        reader.feed_data(piece)
        await asyncio.sleep(0)
    answer = json.loads(await answers.readline())
    reader.feed_eof()
    await serving
    for end in (writer, other):
        end.close()
        await end.wait_closed()
    return answer


@pytest.mark.parametrize("end", [1, 100, 70_000])
async def test_the_bound_of_a_request_is_exact_however_its_bytes_come_in(end: int) -> None:
    """What is left after a read may be short: the whole line counts."""
    frame = len(b'{"verb": "greet", "arguments": {"name": ""}}\n')
    for length in (REQUEST_LIMIT, REQUEST_LIMIT + 1):
        line = b'{"verb": "greet", "arguments": {"name": "%s"}}\n' % (b"x" * (length - frame))
        answer = await _answered([line[:-end], line[-end:]])
        if length == REQUEST_LIMIT:
            assert answer == {"result": length - frame}
        else:
            assert answer["error"]["code"] == "invalid_input"
