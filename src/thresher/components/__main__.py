"""The process of components: `serve` is an MCP server over stdio, `proxies` prints the servers that modules name.

Invariant: output of modules never mixes with messages; a module that ends the process, or because of which the process
has to end, is recorded, and left out when the process is started again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

from thresher.components.auth import Auth
from thresher.components.folder import Folder, look
from thresher.components.modules import LOAD_SECONDS, Loaded, load_proxies, load_served
from thresher.components.report import FileReport, Report, read_report

REFUSED = 3
"""Exit code if the folder must not be used."""
HUNG = 4
"""Exit code if a module runs beyond its time limit."""
MODULE_BYTES = 1_000_000
"""The most bytes of one module: it is read and compiled whole."""


@dataclass(frozen=True, slots=True)
class _Run:
    role: str
    folder: Path
    report: Path
    version: str
    auth: Auth
    seconds: float


def main() -> int:
    """Run the command.

    Returns:
        The exit code.
    """
    run = _parsed()
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGTERM, _leave)
    folder = look(run.folder)
    if folder.problem:
        sys.stderr.write(f"{folder.problem}\n")
        return REFUSED
    return asyncio.run(_serve(folder, run) if run.role == "serve" else _proxies(folder, run))


def _leave(_number: int, _frame: object) -> None:
    """End from within, so that the module that is being loaded does not count as the cause."""
    sys.exit(0)


def _parsed() -> _Run:
    parser = argparse.ArgumentParser(prog="python -m thresher.components")
    parser.add_argument("role", choices=("serve", "proxies"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--version", default="")
    parser.add_argument("--tenant", default="local")
    parser.add_argument("--user", default="")
    parser.add_argument("--seconds", type=float, default=LOAD_SECONDS)
    options = parser.parse_args()
    auth = Auth(options.tenant, options.user)
    return _Run(options.role, options.folder, options.report, options.version, auth, options.seconds)


async def _serve(folder: Folder, run: _Run) -> int:
    loaded = Loaded()
    with redirect_stdout(sys.stderr):
        await _load(loaded, folder.path, folder.served, run)
    await loaded.server.run_stdio_async(show_banner=False)
    return 0


async def _proxies(folder: Folder, run: _Run) -> int:
    answer = os.dup(1)
    os.dup2(2, 1)  # output of modules and their children goes to standard error
    loaded = Loaded()
    await _load(loaded, folder.path, folder.proxies, run)
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        json.dump({"servers": loaded.servers, "files": [asdict(file) for file in loaded.files]}, stream)
    return 0


async def _load(loaded: Loaded, root: Path, names: tuple[str, ...], run: _Run) -> None:
    """Load modules one after another, and record each before it can do anything."""
    deadly = _deadly(run)
    load = load_served if run.role == "serve" else load_proxies
    loading = ""
    try:
        for loading in names:
            if problem := deadly.get(loading) or _too_large(root / loading):
                loaded.files.append(FileReport(loading, problem=problem))
                continue
            Report(run.version, tuple(loaded.files), loading, deadly).write(run.report)
            if await load(loaded, root, loading, run.auth, run.seconds):
                problem = f"{loaded.files[-1].problem} Change it to have it tried again."
                Report(run.version, tuple(loaded.files), loading, {**deadly, loading: problem}).write(run.report)
                os._exit(HUNG)  # nothing else stops it; the daemon starts the process again
    finally:  # also if we are told to end: the module is not the cause
        Report(run.version, tuple(loaded.files), "", deadly).write(run.report)


def _too_large(path: Path) -> str:
    """Return why a module is too large to be read; empty if it is not."""
    size = path.stat().st_size
    return f"It has {size:,} bytes; the limit is {MODULE_BYTES:,}." if size > MODULE_BYTES else ""


def _deadly(run: _Run) -> dict[str, str]:
    """Return the modules of this version because of which the process has ended before, and why."""
    former = read_report(run.report)
    if former.version != run.version:
        return {}
    ended = {former.loading: "It ended the process while it was loaded. Change it to have it tried again."}
    return {**(ended if former.loading else {}), **former.deadly}


if __name__ == "__main__":
    sys.exit(main())
