"""Starts and ends the child process of a stdio server.

Invariant: a child leads its own process group, and after `stop_child` returns no member of that group is alive.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from thresher.core import UpstreamError, environment
from thresher.upstream.config import ServerConfig
from thresher.upstream.masking import secret_name

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Maximum size of a message; a larger one ends the session. Enough for 10 MB answers in base64."""
EXIT_SECONDS = 2.0
"""Seconds for the child to exit after its stdin is closed (the order of the MCP specification)."""
TERMINATE_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL to its group."""
_POLL_SECONDS = 0.02

# fmt: off
_PASSED_ON = frozenset({
    "PATH", "HOME", "LANG", "LANGUAGE", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TMP", "TEMP", "TZ", "USER",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR",
})
# fmt: on
_PASSED_ON_PREFIXES = ("LC_", "XDG_", "UV_", "PIP_", "NPM_CONFIG_", "npm_config_")
"""Launchers (uvx, npx) need their registry and cache; anything that looks like a secret is not passed on."""
_HOW_TO_GET = {
    "npx": "It comes with Node.js.",
    "node": "It comes with Node.js.",
    "uvx": "It comes with uv (pip install uv).",
    "uv": "pip install uv.",
    "docker": "Install Docker, or a compatible engine.",
}


def child_environment(config: ServerConfig, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: a safe base, and what the owner configured."""
    base = {
        name: value
        for name, value in inherited.items()
        if name in _PASSED_ON or (name.startswith(_PASSED_ON_PREFIXES) and not secret_name(name))
    }
    return base | dict(config.env)


def find_program(config: ServerConfig) -> str:
    """The path of a stdio server's program.

    Raises:
        UpstreamError: The command or the working directory does not exist.
    """
    path = child_environment(config, environment()).get("PATH", "")
    cwd = _working_directory(config)
    program = shutil.which(config.command, path=path)
    if program is None and cwd and (cwd / config.command).is_file():
        program = str(cwd / config.command)
    if program is None:
        known = _HOW_TO_GET.get(config.command, "Install it, or give its full path.")
        raise UpstreamError(
            f"Server '{config.name}' cannot start: the command '{config.command}' was not found.",
            hint=f"{known} Looked in PATH={path}",
        )
    return program


async def start_child(config: ServerConfig) -> Process:
    """Start a stdio server with pipes on all three streams.

    Raises:
        UpstreamError: The command or the working directory does not exist, or cannot be run.
    """
    env = child_environment(config, environment())
    program, cwd = find_program(config), _working_directory(config)
    try:
        return await asyncio.create_subprocess_exec(
            program,
            *config.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=MAX_MESSAGE_BYTES,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise UpstreamError(
            f"Server '{config.name}' cannot start: '{config.command}' cannot be run ({reason}).",
            hint="Check that it is a program for this machine and that you may run it.",
        ) from None


def _working_directory(config: ServerConfig) -> Path | None:
    if not config.cwd:
        return None
    cwd = Path(config.cwd).expanduser()
    if not cwd.is_dir():
        raise UpstreamError(
            f"Server '{config.name}' cannot start: its working directory '{config.cwd}' does not exist.",
            hint="Create it, or correct 'cwd'.",
        )
    return cwd


async def stop_child(process: Process) -> None:
    """End a child and everything it started: close its stdin, wait, SIGTERM to the group, wait, SIGKILL.

    Returns within about `EXIT_SECONDS + TERMINATE_SECONDS`, earlier if the child exits.
    """
    if process.stdin is not None:
        process.stdin.close()
    await _gone(process, EXIT_SECONDS, group=False)
    if _signal_group(process, _TERMINATE) and not await _gone(process, TERMINATE_SECONDS, group=True):
        _signal_group(process, _KILL)
        await _gone(process, TERMINATE_SECONDS, group=False)
    _close_pipes(process)


_TERMINATE = signal.SIGTERM
_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


def kill_child(process: Process) -> None:
    """Send SIGKILL to the whole group, without waiting."""
    _signal_group(process, _KILL)


async def _gone(process: Process, seconds: float, *, group: bool) -> bool:
    # Polled: `process.wait()` also waits for the pipes to close, which a grandchild may hold open.
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None or (group and _group_lives(process)):
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


def _group_lives(process: Process) -> bool:
    return _signal_group(process, 0) and not (sys.platform == "linux" and _only_zombies(process.pid))


def _only_zombies(group: int) -> bool:
    """Whether all members have ended and only wait to be reaped by a slow init (that of a container)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has gone meanwhile
            state, _parent, its_group = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in ("Z", "X"):
                return False
    return True


def _signal_group(process: Process, number: int) -> bool:
    """Signal the group that the child leads; returns whether it still has members."""
    if sys.platform == "win32":  # pragma: no cover - no groups there; the child alone is ended
        if process.returncode is None and number:
            process.kill()
        return process.returncode is None
    try:
        # The child's id is its group's; getpgid would fail once the leader is reaped while others live.
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS raises this for zombies, and members may run under another account: the group may still exist.
        return process.returncode is None
    return True


def _close_pipes(process: Process) -> None:
    # asyncio keeps the pipes open while another process holds the other end, and warns later; only the
    # transport can close them, and it is not public.
    transport = getattr(process, "_transport", None)
    if isinstance(transport, asyncio.SubprocessTransport):
        with suppress(ProcessLookupError, PermissionError):
            transport.close()
