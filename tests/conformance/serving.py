"""The everything-server, and a real daemon in front of it that shows everything under its own name."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client

from benchmarks import product
from benchmarks.processes import serving, starting, until


@asynccontextmanager
async def everything() -> AsyncGenerator[str]:
    """The reference server as a child process; gives its address."""
    async with starting(sys.executable, "-m", "tests.conformance.everything") as server:
        yield server.url


@asynccontextmanager
async def gateway(upstream: str) -> AsyncGenerator[str]:
    """A daemon with that server behind it, without a prefix and with everything exposed; gives its address."""
    with product.folder() as folder:
        servers = folder.parent / "servers.json"
        entry = {"type": "http", "url": upstream, "prefix": False}
        servers.write_text(json.dumps({"mcpServers": {"everything": entry}}), encoding="utf-8")
        options = ("--config", str(servers), "--expose", "all")
        async with serving(folder, *options, THRESHER_ALLOW_ROOT="1") as daemon:
            await _ready(daemon.url)
            yield daemon.url


async def _ready(url: str) -> None:
    """Wait until the server's tools are listed: the daemon answers before it has asked its servers."""
    async with Client(url) as client:
        await until(lambda: _lists(client))


async def _lists(client: Client[Any]) -> bool:
    return any(tool.name == "test_simple_text" for tool in await client.list_tools())
