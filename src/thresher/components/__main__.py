"""The process of components: `serve` is an MCP server over stdio, `proxies` prints the servers that modules name.

Invariant: what modules print never lands between messages; a module that ends the process, or for which the process has
to end, is known, and left out when the process is started again.
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
from thresher.components.loading import LOAD_SECONDS, Loaded, load_proxies, load_served
from thresher.components.report import FileReport, Report, read_report

REFUSED = 3
"""Exit code when the folder may not be used."""
HUNG = 4
"""Exit code when a module has run on after its time."""
MODULE_BYTES = 1_000_000
"""Of one module, at most: it is read and compiled whole."""


@dataclass(frozen=True, slots=True)
class _Order:
    role: str
    folder: Path
    report: Path
    version: str
    auth: Auth
    seconds: float


def main() -> int:
    """Do what the command line says.

    Returns:
        The exit code.
    """
    order = _order()
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGTERM, _leave)
    folder = look(order.folder)
    if folder.problem:
        sys.stderr.write(f"{folder.problem}\n")
        return REFUSED
    return asyncio.run(_serve(folder, order) if order.role == "serve" else _proxies(folder, order))


def _leave(_number: int, _frame: object) -> None:
    """End as from within, so that what is being loaded is not taken for the cause."""
    sys.exit(0)


def _order() -> _Order:
    parser = argparse.ArgumentParser(prog="python -m thresher.components")
    parser.add_argument("role", choices=("serve", "proxies"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--version", default="")
    parser.add_argument("--tenant", default="local")
    parser.add_argument("--user", default="")
    parser.add_argument("--seconds", type=float, default=LOAD_SECONDS)
    given = parser.parse_args()
    auth = Auth(given.tenant, given.user)
    return _Order(given.role, given.folder, given.report, given.version, auth, given.seconds)


async def _serve(folder: Folder, order: _Order) -> int:
    loaded = Loaded()
    with redirect_stdout(sys.stderr):
        await _load(loaded, folder.path, folder.served, order)
    await loaded.server.run_stdio_async(show_banner=False)
    return 0


async def _proxies(folder: Folder, order: _Order) -> int:
    answer = os.dup(1)
    os.dup2(2, 1)  # what modules and their children print goes to standard error
    loaded = Loaded()
    await _load(loaded, folder.path, folder.proxies, order)
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        json.dump({"servers": loaded.servers, "files": [asdict(file) for file in loaded.files]}, stream)
    return 0


async def _load(loaded: Loaded, root: Path, names: tuple[str, ...], order: _Order) -> None:
    """Load modules one after another, and write down which is at work before it can do anything."""
    deadly = _deadly(order)
    load = load_served if order.role == "serve" else load_proxies
    loading = ""
    try:
        for loading in names:
            if problem := deadly.get(loading) or _too_large(root / loading):
                loaded.files.append(FileReport(loading, problem=problem))
                continue
            Report(order.version, tuple(loaded.files), loading, deadly).write(order.report)
            if await load(loaded, root, loading, order.auth, order.seconds):
                problem = f"{loaded.files[-1].problem} Change it to have it tried again."
                Report(order.version, tuple(loaded.files), loading, {**deadly, loading: problem}).write(order.report)
                os._exit(HUNG)  # nothing else ends what it does; the daemon starts the process again
    finally:  # also where we are told to end: that was not the module's doing
        Report(order.version, tuple(loaded.files), "", deadly).write(order.report)


def _too_large(path: Path) -> str:
    """Why a module is too large to be read; empty when it is not."""
    size = path.stat().st_size
    return f"It has {size:,} bytes; the most are {MODULE_BYTES:,}." if size > MODULE_BYTES else ""


def _deadly(order: _Order) -> dict[str, str]:
    """The modules of this version for which the process has ended before, and why."""
    former = read_report(order.report)
    if former.version != order.version:
        return {}
    ended = {former.loading: "It ended the process while it was loaded. Change it to have it tried again."}
    return {**(ended if former.loading else {}), **former.deadly}


if __name__ == "__main__":
    sys.exit(main())
