"""The daemon with real processes: who starts it, who ends it, and what survives whom."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.daemon.home import THRESHER, Home, encoders, fake_server, opened
from tests.support import eventually
from thresher.daemon import DaemonFailure, stop_daemon
from thresher.daemon.lock import FileLock, is_free

pytestmark = pytest.mark.timeout(300)  # several processes import everything, beside other tests


@pytest.fixture(scope="module")
def home(open_folder: Path) -> Iterator[Home]:
    """A home with the embedded database, shared by the tests that leave it in order."""
    with opened(open_folder / f"home-{secrets.token_hex(4)}") as home:
        yield home


async def test_ten_racing_clients_share_one_daemon_one_encoder_and_one_set_of_servers(home: Home) -> None:
    """Ten clients start at once where nothing runs; exactly one daemon comes up, with one of everything."""
    clients = [home.client() for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        hellos = list(pool.map(lambda client: client.greet(), clients))
    config = home.folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(home.folder)}))
    assert home.json("servers", "add", "--config", str(config))["added"] == ["fake"]
    home.json("servers", "set", "fake", "--trusted")
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(lambda client: client.call("find_tools", queries=["echo a text"]), clients))
        called = list(pool.map(lambda client: client.call("call_tool", name="fake_echo", arguments={}), clients))

    assert {hello["result"]["serverInfo"]["name"] for hello in hellos} == {"Thresher"}
    assert not any(answer.get("isError") for answer in found + called)
    assert home.json("status")["clients"]["mcp"] == 10
    assert list(home.processes("_daemon")) == [home.pid]
    indexers = home.processes("thresher.embedding")  # embeds batches, at a lower priority, and ends by itself
    assert [pid for pid in encoders(home.processes()) if pid not in indexers] == [home.pid]
    assert len((home.folder / "fake.starts").read_text().split()) == 1
    clients[0].kill()
    assert clients[1].leave() == 0
    await eventually(lambda: home.json("status")["clients"]["mcp"] == 8)
    assert not clients[2].call("call_tool", name="fake_echo", arguments={}).get("isError")
    assert len((home.folder / "fake.starts").read_text().split()) == 1
    for client in clients[2:]:
        assert client.leave() == 0


async def test_the_daemon_survives_the_client_that_started_it(home: Home) -> None:
    """Started by a client that is then killed, with its whole process group."""
    stop_daemon(home.place)
    starter = subprocess.Popen(
        [*THRESHER, "stdio"], stdin=subprocess.PIPE, env=home.environment, start_new_session=True
    )
    await eventually(lambda: home.pid)
    pid = home.pid
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()

    assert home.json("status")["pid"] == pid


async def test_a_killed_database_comes_back(home: Home) -> None:
    """The postmaster is killed; the daemon starts it again, and commands go on."""
    home.json("tools", "list")
    daemon = home.pid
    (note,) = home.folder.rglob("postmaster.pid")
    os.kill(int(note.read_text().split()[0]), signal.SIGKILL)

    await eventually(lambda: home.run("servers", "list").returncode == 0, seconds=40)
    assert home.pid == daemon


async def test_after_a_killed_daemon_clients_are_told_and_the_next_one_starts_anew(home: Home) -> None:
    """The bridge ends with a message; a new daemon takes the same database over; the old one's servers end."""
    client = home.client()
    client.greet()
    catalogue = home.json("servers", "list")
    former = home.kill_daemon()
    assert client.process.wait(30) == 9
    message = client.error()

    assert "The daemon ended" in message
    assert "Start the client again" in message
    fresh = home.client()
    assert fresh.greet()["result"]["serverInfo"]["name"] == "Thresher"
    assert home.pid not in (0, former)
    assert [server["name"] for server in home.json("servers", "list")] == [server["name"] for server in catalogue]
    assert fresh.leave() == 0


async def test_stop_ends_the_daemon_with_everything_it_started(home: Home) -> None:
    """No process of the data folder is left: daemon, database, servers."""
    home.json("servers", "refresh")
    pid = home.pid
    stopped = home.json("stop")

    assert stopped == {"stopped": True, "pid": pid}
    await eventually(lambda: not home.processes())
    assert home.json("stop") == {"stopped": False, "pid": None}
    assert home.json("status") == {"running": False, "data_dir": str(home.folder)}


async def test_stop_waits_for_a_thread_inside_a_driver_though_not_for_long(light: Home) -> None:
    """When it says that the process has ended, it has, and the thread with it."""
    stuck = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()"
    serve = "from thresher.daemon.server import serve_foreground as serve"
    serve += "; serve(lambda ready: print('up', flush=True), {'port': 0})"
    process = light.start("-c", f"{stuck}\n{serve}", command=(sys.executable,))
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == b"up\n"

    assert light.json("stop") == {"stopped": True, "pid": process.pid}
    assert process.wait(0.5) == 0
    process.communicate()


async def test_two_data_folders_have_nothing_in_common(light: Home, home: Home) -> None:
    """Each has a daemon, a socket and a catalogue of its own."""
    home.json("tools", "list")
    light.json("tools", "list")

    assert light.pid != home.pid
    assert light.place.read() != home.place.read()


async def test_a_daemon_that_nobody_needs_leaves(light: Home) -> None:
    """Started by a command, gone after the idle time, with its card and socket."""
    light.environment["THRESHER_IDLE_EXIT_SECONDS"] = "0.3"
    light.json("tools", "list")

    assert await eventually(lambda: is_free(light.place.daemon_lock))
    assert light.place.read() is None
    await eventually(lambda: not light.processes())


def old_daemon(home: Home) -> subprocess.Popen[bytes]:
    """A daemon of another version, started as a client would."""
    code = "import sys, thresher; thresher.__version__ = '0.0.1'\n"
    code += "from thresher.__main__ import main; sys.exit(main(['_daemon']))"
    home.place.prepare()
    process = home.start(command=(sys.executable, "-c", code))
    assert process.stdout is not None
    assert "ready" in json.loads(process.stdout.readline())
    return process


async def test_an_idle_daemon_of_another_version_is_replaced(light: Home) -> None:
    """It is asked to leave, and a client's own version comes up."""
    old = old_daemon(light)
    with ThreadPoolExecutor(1) as pool:
        reaped = pool.submit(old.wait, 60)
        client = light.client()
        hello = client.greet()

        assert hello["result"]["serverInfo"]["version"] != "0.0.1"
        assert reaped.result() == 0
    assert light.pid != old.pid


async def test_a_broken_start_is_told_to_whoever_asked(light: Home) -> None:
    """The error of the daemon that could not start reaches the client, with its hint and exit code."""
    broken = {"THRESHER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
    done = light.run("tools", "list", settings=broken)
    garbled = light.run("tools", "list", "--json", settings={"THRESHER_PORT": "many"})

    assert done.returncode == 6
    assert done.stderr.startswith("thresher: ")
    assert "Traceback" not in done.stderr
    assert garbled.returncode == 5
    assert "THRESHER_PORT" in json.loads(garbled.stdout)["error"]["message"]


async def test_a_second_daemon_gives_way(light: Home) -> None:
    """Whoever finds the data folder taken says so and ends."""
    light.place.prepare()
    lock = FileLock(light.place.daemon_lock)
    assert lock.acquire(0)
    try:
        second = light.start("_daemon")
        out, _ = second.communicate(timeout=60)
    finally:
        lock.release()

    assert json.loads(out) == {"taken": True}


async def test_a_daemon_that_hangs_is_named_and_can_be_forced(light: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped in its tracks; plain stop gives up in time, --force ends it."""
    monkeypatch.setattr(sys.modules["thresher.daemon.attaching"], "ANSWER_SECONDS", 0.5)
    light.json("tools", "list")
    pid = light.pid
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(DaemonFailure, match=f"process {pid}"):
        stop_daemon(light.place, seconds=0.5)

    assert stop_daemon(light.place, force=True) == pid
    assert light.pid == 0


async def test_answers_under_way_arrive_after_the_client_closed_its_input(light: Home) -> None:
    """A script may pipe its requests in and read the answers."""
    lines = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "find_tools", "arguments": {"queries": ["echo"]}}},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    done = subprocess.run(
        [*THRESHER, "stdio"], input=text, env=light.environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in said if "id" in one] == [1, 2]  # lists that changed meanwhile are told of between
