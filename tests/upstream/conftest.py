from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from thresher.core import Settings, load_settings
from thresher.upstream import ServerConfig, Upstreams

FAKES = Path(__file__).parent.parent / "fakes"
SECRET = "hunter2-hunter2"


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids(file: Path) -> list[int]:
    """The process ids that a fake noted at its starts."""
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def stdio_server(mode: str = "good", *options: str, name: str = "fake", **more: Any) -> ServerConfig:
    """A fake stdio server that misbehaves in one way."""
    args = (str(FAKES / "stdio_server.py"), mode, *options)
    return ServerConfig(name=name, transport="stdio", command=sys.executable, args=args, **more)


@dataclass
class HttpServer:
    """A fake HTTP server that runs."""

    process: subprocess.Popen[str]
    config: ServerConfig

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.config.url.rpartition(":")[2].partition("/")[0])

    def stop(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def http_server() -> Iterator[Callable[..., HttpServer]]:
    """Starts fake HTTP servers; they end with the test."""
    running: list[HttpServer] = []

    def start(*options: str, script: str = "http_server.py", **more: Any) -> HttpServer:
        command = [sys.executable, str(FAKES / script), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        config = replace(ServerConfig(name="web", transport="http", url=url), **more)
        server = HttpServer(process, config)
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Limits that a busy test machine keeps."""
    return load_settings(data_dir=tmp_path, upstream_connect_seconds=10, upstream_call_seconds=10)


@pytest.fixture
async def upstreams(settings: Settings) -> AsyncIterator[Upstreams]:
    """A pool that is closed after the test."""
    pool = Upstreams(settings)
    yield pool
    await pool.close()
