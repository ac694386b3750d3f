"""Connections to git servers: https through urllib3, ssh through the ssh program.

Invariant: a request never goes to another server than the address names; passwords are never prompted for; git's own
configuration (proxy, certificates, headers, stored credentials, ssh keys) applies. A guarded connection is closed at
its deadline.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any, Final, Self
from urllib.parse import unquote, urlsplit

from dulwich.client import (
    GitClient,
    SSHGitClient,
    SSHVendor,
    SubprocessWrapper,
    Urllib3HttpGitClient,
    default_urllib3_manager,
    get_credentials_from_store,
)
from dulwich.config import StackedConfig
from dulwich.errors import GitProtocolError
from urllib3 import PoolManager, ProxyManager
from urllib3.response import BaseHTTPResponse, HTTPResponse
from urllib3.util import Retry, parse_url

from thresher.core import environment

_SILENT_SECONDS: Final = 30.0
"""How long a server may send nothing."""
_ALIVE: Final = (
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-o",
    "ServerAliveInterval=10",
    "-o",
    "ServerAliveCountMax=3",
)
_REDIRECTS: Final = 3
_ERROR_BYTES: Final = 2_000

Watch = Callable[[str, BaseHTTPResponse | None], None]


class SshProgram(SSHVendor):
    """Runs `ssh` without prompts, and gives up on a dead server.

    Args:
        deadline: Kills the program.
        most: Most bytes that it may give; 0 for any number.
    """

    def __init__(self, deadline: Deadline, most: int = 0) -> None:
        self._deadline = deadline
        self._most = most
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()

    def run_command(
        self,
        host: str,
        command: bytes,
        username: str | None = None,
        port: int | None = None,
        password: str | None = None,  # noqa: ARG002 - never given
        key_filename: str | None = None,  # noqa: ARG002 - never given
        ssh_command: str | None = None,
        protocol_version: int | None = None,
    ) -> SubprocessWrapper:
        """Start a command on a host."""
        protocol = ["-o", f"SetEnv=GIT_PROTOCOL=version={2 if protocol_version is None else protocol_version}"]
        port_option = ["-p", str(port)] if port else []
        login = f"{username}@{host}" if username else host
        program = shlex.split(ssh_command or "ssh")
        process = subprocess.Popen(
            [*program, "-x", *_ALIVE, *protocol, *port_option, "--", login, command.decode()],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._deadline.guard(lambda: _end(process))
        wrapped = SubprocessWrapper(process)
        if self._most:
            wrapped.read = _limited(wrapped.read, self._most)
        return wrapped

    def last_errors(self) -> str:
        """The end of the program's error output."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(0, size - _ERROR_BYTES))
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Discard the error output."""
        self._errors.close()


def client_of(url: str, deadline: Deadline, most: int = 0) -> tuple[GitClient, str, SshProgram | None]:
    """A client for an address, the path to request, and the ssh program if one is used.

    Args:
        url: An address made by `origin_of`.
        deadline: Closes its connections.
        most: Most bytes of an answer; 0 for any number.
    """
    parts = urlsplit(url)
    config = StackedConfig.default()
    if parts.scheme == "ssh":
        ssh = SshProgram(deadline, most)
        program = environment().get("GIT_SSH_COMMAND")
        client = SSHGitClient(
            parts.hostname or "",
            parts.port,
            parts.username,
            vendor=ssh,
            config=config,
            ssh_command=program,
            quiet=True,
        )
        return client, unquote(parts.path), ssh
    user, password = next(get_credentials_from_store(parts.scheme, parts.hostname or ""), (None, None))
    silent = min(_SILENT_SECONDS, deadline.seconds)
    manager = default_urllib3_manager(
        config, pool_manager_cls=_WatchedPool, proxy_manager_cls=_WatchedProxy, base_url=url, timeout=silent
    )
    if isinstance(manager, _WatchedPool | _WatchedProxy):
        manager.watch = _watch(url, deadline, most)
    http = Urllib3HttpGitClient(url, pool_manager=manager, config=config, username=user, password=password, quiet=True)
    return http, unquote(parts.path), None


class _WatchedPool(PoolManager):
    """A pool that checks every request, including redirects."""

    watch: Watch

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> BaseHTTPResponse:  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self.watch(url, None)
        kw.setdefault("retries", _retries())
        response = super().urlopen(method, url, redirect, **kw)
        self.watch(url, response)
        return response


class _WatchedProxy(ProxyManager):
    """A proxy that checks every request, including redirects."""

    watch: Watch

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> BaseHTTPResponse:  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self.watch(url, None)
        kw.setdefault("retries", _retries())
        response = super().urlopen(method, url, redirect, **kw)
        self.watch(url, response)
        return response


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children, which hold its pipes too."""
    if sys.platform == "win32":
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _watch(url: str, deadline: Deadline, most: int) -> Watch:
    """Refuse other servers, close responses at the deadline, and bound them."""
    home = _origin(url)

    def watch(target: str, response: BaseHTTPResponse | None) -> None:
        if _origin(target) != home:
            raise GitProtocolError("the server redirects to another one")
        if isinstance(response, HTTPResponse):
            deadline.guard(response.shutdown)
            if most:
                response.read = _limited(response.read, most)

    return watch


def _limited(read: Callable[..., bytes], most: int) -> Callable[..., bytes]:
    """A function that reads, and refuses to go on after so many bytes."""
    left = most

    def limited(*args: Any, **options: Any) -> bytes:
        nonlocal left
        data = read(*args, **options)
        left -= len(data)
        if left < 0:
            raise GitProtocolError("the server's answer does not end")
        return data

    return limited


def _retries() -> Retry:
    return Retry(connect=1, read=0, redirect=_REDIRECTS, status=0, other=0)


def _origin(url: str) -> tuple[str | None, str | None, int | None]:
    parts = parse_url(url)
    return parts.scheme, parts.host, parts.port or {"https": 443, "http": 80}.get(parts.scheme or "")


class Deadline:
    """A time limit after which guarded connections are closed, wherever the thread that uses them waits.

    Args:
        seconds: Seconds from now.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._passed = False
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._passed

    def guard(self, end: Callable[[], None]) -> None:
        """End something when the time is up, or immediately if it is up already.

        Args:
            end: Called from another thread; may raise what a closed connection raises.
        """
        with self._lock:
            if not self._passed:
                self._ends.append(end)
                return
        _quietly(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ends.clear()

    def _fire(self) -> None:
        with self._lock:
            self._passed = True
            ends, self._ends = self._ends, []
        for end in ends:
            _quietly(end)


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except (OSError, ValueError, RuntimeError):
        return
