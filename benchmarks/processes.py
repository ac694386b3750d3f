"""Real processes: a daemon in the foreground, stdio clients, and the time they take to start."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from benchmarks import machine, product

THRESHER = str(Path(sys.executable).with_name("thresher"))
START_SECONDS = 300.0
"""Far longer than a start takes: on a busy machine a slow start must not end a benchmark."""
CLIENTS = 10
STARTS = 15
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a command that works in a data folder."""
    own = {"THRESHER_DATA_DIR": str(folder), "THRESHER_KEYLESS": "on"}  # also in a container
    return {**os.environ, **own, **more}


@dataclass(frozen=True, slots=True)
class Process:
    """A server that listens."""

    pid: int
    url: str


async def until(condition: Callable[[], Awaitable[object]], pause: float = 0.05) -> None:
    """Wait until a condition holds; not for ever."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            if await condition():
                return
            await asyncio.sleep(pause)


async def answers(client: Client[Any], name: str, arguments: dict[str, Any]) -> bool:
    """Whether a tool answers without an error."""
    return not (await client.call_tool_mcp(name, arguments)).is_error


@asynccontextmanager
async def starting(*command: str) -> AsyncGenerator[Process]:
    """A server that prints its address as its first line, until the block ends."""
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            url = (await process.stdout.readline()).decode().strip()
        yield Process(process.pid, url)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def serving(folder: Path, *options: str, **variables: str) -> AsyncGenerator[Process]:
    """`thresher serve` on a free port, until the block ends."""
    process = await asyncio.create_subprocess_exec(
        THRESHER, "serve", "--port", "0", "--json", *options,
        env=environment(folder, **variables), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
        if '"url"' not in line:
            said = line + (await process.stdout.read()).decode()
            raise RuntimeError(f"thresher serve did not start: {said or 'see its log'}")
        yield Process(process.pid, str(json.loads(line)["url"]))
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _milliseconds(command: Sequence[str], environment: dict[str, str], text: str = "") -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, input=text, text=True, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def _start_times(folder: Path) -> dict[str, Any]:
    """The whole life of a bridge that answers one `initialize`, against a Python that does nothing, in turn."""
    variables = environment(folder)
    message = json.dumps(INITIALIZE) + "\n"
    bridge: list[float] = []
    nothing: list[float] = []
    for _ in range(STARTS):
        nothing.append(_milliseconds([sys.executable, "-c", "pass"], variables))
        bridge.append(_milliseconds([THRESHER, "stdio"], variables, message))
    return {
        "bridge_ms": round(median(bridge), 1),
        "python_ms": round(median(nothing), 1),
        "ratio": round(median(a / b for a, b in zip(bridge, nothing, strict=True)), 2),
    }


def _with_library(processes: Sequence[psutil.Process], name: str) -> int:
    return sum(any(name in region.path for region in process.memory_maps()) for process in processes)


async def _without_worker(daemon: Process) -> None:
    """Wait until the niced worker, which embeds the packs at the very first start, has ended; then count."""
    children = psutil.Process(daemon.pid).children()
    workers = [child for child in children if "thresher.embedding" in child.cmdline()]
    await asyncio.to_thread(psutil.wait_procs, workers, timeout=START_SECONDS)


async def _ten_clients(folder: Path) -> dict[str, Any]:
    """Ten real stdio clients; then: how many processes hold an encoder, how many upstream children run."""
    servers = {"mcpServers": {"time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]}}}
    path = folder.parent / "mcp.json"
    path.write_text(json.dumps(servers), encoding="utf-8")
    async with serving(folder, "--config", str(path)) as daemon, AsyncExitStack() as stack:
        await asyncio.to_thread(_milliseconds, [THRESHER, "servers", "refresh", "time"], environment(folder))
        transport = {"command": THRESHER, "args": ["stdio"], "env": environment(folder)}
        clients = [
            await stack.enter_async_context(Client(StdioTransport(**transport, keep_alive=False)))
            for _ in range(CLIENTS)
        ]
        await asyncio.gather(*(client.call_tool("find_tools", {"message": "time in Tokyo"}) for client in clients))
        call = {"name": "time_get_current_time", "arguments": {"timezone": "UTC"}}
        await asyncio.gather(*(client.call_tool("call_tool_write", call) for client in clients))
        await _without_worker(daemon)
        family = [psutil.Process(daemon.pid), *psutil.Process(daemon.pid).children(recursive=True)]
        bridges = [child for child in psutil.Process().children() if "stdio" in child.cmdline()]
        return {
            "clients": len(clients),
            "bridges": len(bridges),
            "encoders": _with_library([*family, *bridges], "onnxruntime"),
            "upstream_children": sum("mcp_server_time" in child.cmdline() for child in family),
        }


def _first_answer(folder: Path) -> float:
    """Seconds until a client that finds no daemon has an answer; the daemon is ended afterwards."""
    variables = environment(folder, THRESHER_PORT="0")
    taken = _milliseconds([THRESHER, "tools", "list", "--json"], variables) / 1000
    subprocess.run([THRESHER, "stop"], env=variables, capture_output=True, check=True)
    return round(taken, 2)


async def run() -> dict[str, Any]:
    """Measure and save."""
    with product.folder() as folder:
        figures: dict[str, Any] = {"cold_start_seconds": await asyncio.to_thread(_first_answer, folder)}
        warm = [await asyncio.to_thread(_first_answer, folder) for _ in range(3)]
        figures["warm_start_seconds"] = median(warm)
        async with serving(folder):
            figures["stdio_bridge"] = await asyncio.to_thread(_start_times, folder)
        figures["ten_clients"] = await _ten_clients(folder)
    print(figures, flush=True)
    machine.save("processes", figures)
    return figures
