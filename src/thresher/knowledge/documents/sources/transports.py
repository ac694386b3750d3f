"""Connections to git servers: https through urllib3, ssh through the ssh program.

Invariant: a request never leaves the server that the address names; nobody is asked for a password; what git itself is
set up with (proxy, certificates, headers, its store of credentials, ssh keys) holds here too.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import IO, Any, Final
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
from thresher.knowledge.documents.sources.deadlines import Deadline

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
_SAID_BYTES: Final = 2_000

Watch = Callable[[str, BaseHTTPResponse | None], None]


class SshTalk(SSHVendor):
    """Runs `ssh`, which asks nothing and gives up on a dead server.

    Args:
        deadline: Kills it.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
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
        version = ["-o", f"SetEnv=GIT_PROTOCOL=version={2 if protocol_version is None else protocol_version}"]
        place = ["-p", str(port)] if port else []
        whom = f"{username}@{host}" if username else host
        program = shlex.split(ssh_command or "ssh")
        process = subprocess.Popen(
            [*program, "-x", *_ALIVE, *version, *place, "--", whom, command.decode()],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._deadline.guard(lambda: _end(process))
        return SubprocessWrapper(process)

    def said(self) -> str:
        """What the program complained about, its last words."""
        size = self._errors.seek(0, 2)
        self._errors.seek(max(0, size - _SAID_BYTES))
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Let go of what it said."""
        self._errors.close()


def client_of(url: str, deadline: Deadline) -> tuple[GitClient, str, SshTalk | None]:
    """A client for an address, the path to ask it for, and the ssh program where it is one.

    Args:
        url: As `origin_of` makes it.
        deadline: Breaks its connections off.
    """
    parts = urlsplit(url)
    config = StackedConfig.default()
    if parts.scheme == "ssh":
        talk = SshTalk(deadline)
        program = environment().get("GIT_SSH_COMMAND")
        client = SSHGitClient(
            parts.hostname or "",
            parts.port,
            parts.username,
            vendor=talk,
            config=config,
            ssh_command=program,
            quiet=True,
        )
        return client, unquote(parts.path), talk
    user, password = next(get_credentials_from_store(parts.scheme, parts.hostname or ""), (None, None))
    silent = min(_SILENT_SECONDS, deadline.seconds)
    manager = default_urllib3_manager(
        config, pool_manager_cls=_Pool, proxy_manager_cls=_Proxy, base_url=url, timeout=silent
    )
    if isinstance(manager, _Pool | _Proxy):
        manager.watch = _watch(url, deadline)
    http = Urllib3HttpGitClient(url, pool_manager=manager, config=config, username=user, password=password, quiet=True)
    return http, unquote(parts.path), None


class _Pool(PoolManager):
    """A pool whose every request is watched, those that redirects lead to included."""

    watch: Watch

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> BaseHTTPResponse:  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self.watch(url, None)
        kw.setdefault("retries", _retries())
        response = super().urlopen(method, url, redirect, **kw)
        self.watch(url, response)
        return response


class _Proxy(ProxyManager):
    """The same through a proxy."""

    watch: Watch

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> BaseHTTPResponse:  # pyright: ignore[reportIncompatibleMethodOverride] - as its base does
        self.watch(url, None)
        kw.setdefault("retries", _retries())
        response = super().urlopen(method, url, redirect, **kw)
        self.watch(url, response)
        return response


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it has started, which holds its pipes too."""
    if sys.platform == "win32":
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _watch(url: str, deadline: Deadline) -> Watch:
    """Refuse addresses elsewhere, and have answers broken off at the deadline."""
    home = _origin(url)

    def watch(asked: str, response: BaseHTTPResponse | None) -> None:
        if _origin(asked) != home:
            raise GitProtocolError("the server sends us to another one")
        if isinstance(response, HTTPResponse):
            deadline.guard(response.shutdown)

    return watch


def _retries() -> Retry:
    return Retry(connect=1, read=0, redirect=_REDIRECTS, status=0, other=0)


def _origin(url: str) -> tuple[str | None, str | None, int | None]:
    parts = parse_url(url)
    return parts.scheme, parts.host, parts.port or {"https": 443, "http": 80}.get(parts.scheme or "")
