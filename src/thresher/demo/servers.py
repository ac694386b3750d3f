"""The real MCP servers of the demo, as far as this machine can run them.

Invariant: a server that cannot run is left out with a reason and a way to get it; none of them needs a key.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from thresher.core import ThresherError
from thresher.upstream import ServerConfig

NPM_VERSION = "2026.8.31"
"""Of the reference servers on npm, which are released together."""
_STAND_INS = Path(__file__).with_name("stand_ins.py")
_COMMITS = ("Plant the seed", "Water the field", "Bring in the harvest")
_AUTHOR = ("-c", "user.name=Thresher demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class MissingServer:
    """A server that does not take part in the demo.

    Attributes:
        name: The server.
        reason: What is missing, or what went wrong.
        hint: How to get it; may be empty.
    """

    name: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The servers that take part, and those that do not."""

    servers: tuple[ServerConfig, ...] = ()
    left_out: tuple[MissingServer, ...] = ()


@dataclass(frozen=True, slots=True)
class _ServerCandidate:
    config: ServerConfig
    module: str = ""
    own: ServerConfig | None = None
    programs: tuple[str, ...] = field(default=())


def choose_servers(
    folder: Path,
    *,
    has_module: Callable[[str], bool] = lambda name: find_spec(name) is not None,
    which: Callable[[str], str | None] = shutil.which,
) -> ServerChoice:
    """Choose the servers that can run on this machine.

    Args:
        folder: The demo's own folder, with `repository` and `files` in it.
        has_module: Whether a Python module is installed beside Thresher.
        which: Returns the path of a program on the PATH.
    """
    servers: list[ServerConfig] = []
    left_out: list[MissingServer] = []
    for candidate in _candidates(folder):
        name = candidate.config.name
        missing = [program for program in candidate.programs if which(program) is None]
        installed = not candidate.module or has_module(candidate.module)
        config = candidate.config if installed else candidate.own
        if config is None:
            package = candidate.module.replace("_", "-")
            left_out.append(MissingServer(name, f"the package {package} is not installed", f"pip install {package}"))
        elif missing:
            left_out.append(
                MissingServer(name, f"{missing[0]} is not on the PATH", f"install {_PROVIDERS[missing[0]]}")
            )
        else:
            servers.append(config)
    return ServerChoice(tuple(servers), tuple(left_out))


_PROVIDERS = {"git": "git", "npx": "Node.js"}


def _candidates(folder: Path) -> tuple[_ServerCandidate, ...]:
    return (
        _python("time", "mcp_server_time", "Time and time zone conversion", "--local-timezone", "UTC", own=("time",)),
        _python(
            "git",
            "mcp_server_git",
            "Reads and changes a local Git repository",
            *("--repository", str(folder / "repository")),
            own=("git", str(folder / "repository")),
            programs=("git",),
        ),
        _python("fetch", "mcp_server_fetch", "Fetches web pages and turns them into text"),
        _npm("filesystem", "Reads and writes files in one folder", str(folder / "files")),
        _npm("memory", "Remembers facts in a knowledge graph"),
    )


def _python(
    name: str,
    module: str,
    description: str,
    *arguments: str,
    own: tuple[str, ...] = (),
    programs: tuple[str, ...] = (),
) -> _ServerCandidate:
    """A reference server in Python; `own` are the arguments of its stand-in, where there is one."""
    config = ServerConfig(name, "stdio", sys.executable, ("-m", module, *arguments), description=description)
    stand_in = replace(config, args=("-P", str(_STAND_INS), *own)) if own else None
    return _ServerCandidate(config, module, stand_in, programs)


def _npm(name: str, description: str, *arguments: str) -> _ServerCandidate:
    package = f"@modelcontextprotocol/server-{name}@{NPM_VERSION}"
    quick = {"npm_config_fetch_retries": "0", "npm_config_update_notifier": "false", "npm_config_loglevel": "error"}
    config = ServerConfig(
        name, "stdio", "npx", ("--yes", "--prefer-offline", package, *arguments), env=quick, description=description
    )
    return _ServerCandidate(config, programs=("npx",))


def prepare_folder(folder: Path) -> None:
    """Create what the servers work on: a small Git repository, if git is installed, and a folder with a file.

    Raises:
        ThresherError: git fails; the message quotes its output.
    """
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "notes.txt").write_text("Written by the demo of Thresher.\n", encoding="utf-8")
    repository = folder / "repository"
    repository.mkdir()
    if shutil.which("git") is None:
        return
    _git(repository, "init", "--quiet", "--initial-branch=main")
    for number, title in enumerate(_COMMITS, 1):
        (repository / "field.txt").write_text(f"{title}\n", encoding="utf-8")
        _git(repository, "add", "field.txt")
        _git(repository, *_AUTHOR, "commit", "--quiet", "--message", f"{title} ({number} of {len(_COMMITS)})")


def _git(repository: Path, *arguments: str) -> None:
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ThresherError(
            f"git {arguments[0]} failed in the demo's folder: {done.stderr.strip()[-200:]}",
            hint="Check that git works: git --version",
        )
