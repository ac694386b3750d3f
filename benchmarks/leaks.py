"""A thousand clients that connect, call and leave, while their server crashes twenty times: what is left behind.

Invariant: counted on the daemon from outside, after as many clients again as it takes to fill its caches.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from fastmcp import Client

from benchmarks import machine, product
from benchmarks.processes import Process, answers, serving, until

CONNECTS = 1_000
CRASHES = 20
WARMING = 200
AT_ONCE = 10
SETTLE_SECONDS = 30.0
FAKE = Path(__file__).resolve().parents[1] / "tests" / "fakes" / "stdio_server.py"
CALL = {"name": "fake_echo", "arguments": {"text": "hello"}}


@dataclass(frozen=True, slots=True)
class Counts:
    """What a daemon holds at one moment."""

    processes: int
    file_handles: int
    sockets: int
    threads: int
    memory_mb: float


def count(pid: int) -> Counts:
    """Count what the daemon and the children of its servers hold; its database's own processes come and go."""
    daemon = psutil.Process(pid)
    children = [child for child in daemon.children(recursive=True) if FAKE.name in " ".join(_command(child))]
    return Counts(
        processes=len(children),
        file_handles=daemon.num_fds(),
        sockets=len(daemon.net_connections("tcp")),
        threads=daemon.num_threads(),
        memory_mb=round(daemon.memory_info().rss / 2**20, 1),
    )


def _command(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def crash(pid: int) -> bool:
    """Kill the upstream child of a daemon; False when it has none just now."""
    for child in psutil.Process(pid).children(recursive=True):
        if FAKE.name in " ".join(_command(child)):
            os.kill(child.pid, signal.SIGKILL)
            return True
    return False


async def visits(daemon: Process, number: int, crashes: int = 0) -> dict[str, int]:
    """So many clients connect, call and leave, ten at a time and by turns of both eras.

    Args:
        daemon: Where they connect.
        number: How many.
        crashes: How often the server is killed on the way, at even distances.
    """
    seen = {"ok": 0, "tool errors": 0, "failed": 0, "crashes": 0}
    gate = asyncio.Semaphore(AT_ONCE)

    async def visit(place: int) -> None:
        async with gate:
            if crashes and place % (number // crashes) == 0:
                seen["crashes"] += crash(daemon.pid)
            try:
                async with Client(daemon.url, mode="legacy" if place % 2 else "auto") as client:
                    result = await client.call_tool_mcp("call_tool_write", CALL)
                seen["tool errors" if result.is_error else "ok"] += 1
            except Exception as error:  # noqa: BLE001 - whatever a client may see is counted, never raised
                print(f"visit {place}: {type(error).__name__}: {error}", file=sys.stderr)
                seen["failed"] += 1

    await asyncio.gather(*(visit(place) for place in range(number)))
    return seen


async def settled(pid: int, least: Callable[[Counts], bool]) -> Counts:
    """The counts as soon as they are as low as they should be, else those of the last moment."""

    async def reached() -> bool:
        return least(count(pid))

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLE_SECONDS):
            await until(reached, pause=0.2)
    return count(pid)


async def measure(connects: int = CONNECTS, crashes: int = CRASHES, warming: int = WARMING) -> dict[str, Any]:
    """Count before and after."""
    with product.folder() as folder:
        servers = folder.parent / "servers.json"
        entry = {"command": sys.executable, "args": [str(FAKE), "good"]}
        servers.write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")
        async with serving(folder, "--config", str(servers)) as daemon:
            await until(lambda: called(daemon))
            await visits(daemon, warming, crashes=2)
            await until(lambda: called(daemon))
            before = await settled(daemon.pid, lambda now: now.processes == 1 and now.sockets <= 1)
            seen = await visits(daemon, connects, crashes)
            await until(lambda: called(daemon))
            after = await settled(
                daemon.pid, lambda now: now.processes <= before.processes and now.file_handles <= before.file_handles
            )
    return {"visits": seen, "before": asdict(before), "after": asdict(after), **leaked(before, after)}


def leaked(before: Counts, after: Counts) -> dict[str, Any]:
    """What there is more of than before."""
    return {
        "leaked_processes": max(0, after.processes - before.processes),
        "leaked_file_handles": max(0, after.file_handles - before.file_handles),
        "leaked_sockets": max(0, after.sockets - before.sockets),
        "leaked_threads": max(0, after.threads - before.threads),
        "memory_growth": round(after.memory_mb / before.memory_mb - 1, 4),
    }


async def called(daemon: Process) -> bool:
    """Whether the server behind the daemon answers."""
    async with Client(daemon.url) as client:
        return await answers(client, "call_tool_write", CALL)


async def run() -> dict[str, Any]:
    """Measure and save."""
    figures = {"connects": CONNECTS, "crashes": CRASHES, **await measure()}
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("leaks", figures)
    return figures
