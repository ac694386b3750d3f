"""Fixtures of the store's tests: servers of a test's own, and processes that own one."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from thresher.core import Settings
from thresher.store import EmbeddedServer

StartServer = Callable[..., Awaitable[EmbeddedServer]]
SpawnOwner = Callable[..., Awaitable[tuple[Process, dict[str, Any]]]]


@pytest.fixture
async def start_server(settings: Settings) -> AsyncIterator[StartServer]:
    """Starts an embedded server that is stopped after the test."""
    async with AsyncExitStack() as stack:

        async def start(given: Settings = settings, **options: Any) -> EmbeddedServer:
            wanted = {"fsync": "off"} | options.pop("options", {})
            server = await EmbeddedServer.start(given, options=wanted, **options)
            stack.push_async_callback(server.stop)
            return server

        yield start


@pytest.fixture
async def spawn_owner() -> AsyncIterator[SpawnOwner]:
    """Starts a process that owns a server; gives the process and what it printed first."""
    processes: list[Process] = []

    async def spawn(folder: Path, version: int = 18, user: str = "") -> tuple[Process, dict[str, Any]]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.own_server", str(folder), str(version), user),
            stdout=asyncio.subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        return process, json.loads(await process.stdout.readline())

    yield spawn
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.wait()
