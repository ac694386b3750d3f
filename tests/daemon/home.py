"""A data folder of its own with whatever daemon runs in it, used through real processes only."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thresher.daemon import DaemonPaths, stop_daemon
from thresher.daemon.lock import is_free

FAKE = Path(__file__).parent.parent / "fakes" / "stdio_server.py"
THRESHER = (sys.executable, "-m", "thresher")
SECONDS = 60.0
HELLO = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Client:
    """An MCP client that started `thresher stdio`, as Claude Code or Cursor do."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0
        self._rest = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params or {}})
        return self.answer(self._last)

    def answer(self, request: int) -> dict[str, Any]:
        """The answer to a request; whatever else comes is passed over."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            message = json.loads(self._line(deadline))
            if message.get("id") == request and "method" not in message:
                return message
        raise AssertionError("no answer in time")

    def _line(self, deadline: float) -> bytes:
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], deadline - time.monotonic())[0], "no line in time"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            assert chunk, f"the bridge ended: {self.error()}"
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def greet(self) -> dict[str, Any]:
        """Initialise the session."""
        hello = self.ask(HELLO["method"], HELLO["params"])
        self.send({"method": "notifications/initialized"})
        return hello

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; returns its result."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def error(self) -> str:
        """What the bridge said on standard error; it must have ended."""
        return self.process.communicate(timeout=SECONDS)[1].decode()

    def leave(self) -> int:
        """End the client as a client does, by closing its end; returns the exit code."""
        self.process.communicate(timeout=SECONDS)
        return self.process.returncode

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()
        self.process.wait(SECONDS)


class Home:
    """One data folder.

    Args:
        folder: The folder, made by the first daemon.
        settings: Environment variables for everything that is run in it.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.place = DaemonPaths(str(folder))
        own = {"THRESHER_DATA_DIR": str(folder), "THRESHER_ALLOW_ROOT": "1", "THRESHER_KEYLESS": "on"}
        self.environment = {**os.environ, **own, **settings}
        self.clients: list[Client] = []

    def start(self, *arguments: str, command: tuple[str, ...] = THRESHER) -> subprocess.Popen[bytes]:
        """Start a command without waiting."""
        return subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
        )

    def run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*THRESHER, *arguments],
            env={**self.environment, **(settings or {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        """Run a command that must succeed, and decode what it prints."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stdout, done.stderr, self.log_tail())
        return json.loads(done.stdout)

    def log_tail(self) -> str:
        """The end of the daemon's log, for a failed test to show."""
        log = Path(self.place.log)
        return log.read_text()[-3000:] if log.exists() else ""

    def client(self) -> Client:
        """Start an MCP client."""
        client = Client(self.start("stdio"))
        self.clients.append(client)
        return client

    @property
    def pid(self) -> int:
        """The daemon's process number; 0 when none runs."""
        card = None if not self.folder.exists() or is_free(self.place.daemon_lock) else self.place.read()
        return int(str((card or {}).get("pid", 0)))

    def kill_daemon(self) -> int:
        """End the daemon with SIGKILL; returns its former process number."""
        pid = self.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        assert is_free(self.place.daemon_lock, SECONDS)
        return pid

    def processes(self, part: str = "") -> dict[int, str]:
        """Living processes whose command line or environment names this folder, and their command lines."""
        return {pid: line for pid, line in _processes(str(self.folder)) if part in line and pid != os.getpid()}

    def close(self) -> None:
        """End everything that was started here."""
        for client in self.clients:
            if client.process.poll() is None:
                client.kill()
        stop_daemon(self.place, force=True)


def _processes(folder: str) -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if line and (f"{folder}/" in line or f"THRESHER_DATA_DIR={folder}\0" in environment):
            yield int(entry.name), line


def encoders(pids: Iterator[int] | dict[int, str]) -> list[int]:
    """The processes that hold an encoder: the runtime's library is mapped into them."""
    held: list[int] = []
    for pid in pids:
        try:
            maps = Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            continue
        if "onnxruntime" in maps:
            held.append(pid)
    return held


def fake_server(folder: Path, name: str = "fake") -> dict[str, Any]:
    """An entry for an `mcpServers` file: a server that notes each of its starts in `FOLDER/NAME.starts`."""
    return {name: {"command": sys.executable, "args": [str(FAKE), "good", f"starts={folder / name}.starts"]}}


@contextmanager
def opened(folder: Path, **settings: str) -> Iterator[Home]:
    """A home that is emptied of processes at the end."""
    home = Home(folder, **settings)
    try:
        yield home
    finally:
        home.close()
