"""The console at 10,000 tools: the first page with nothing cached, the next ones, and bytes over the wire.

Invariant: a fresh daemon for each round. A browser that has nothing fetches the page and every file that it names,
compressed, over one connection: once in the moment in which the daemon is ready, and once when it has shown each page.
One that goes on has the files.
"""

from __future__ import annotations

import json
import re
import time
from statistics import median
from typing import Any

import httpx
import psutil

from benchmarks import machine, product
from benchmarks.gateway import TOOLS, fill
from benchmarks.processes import serving

ROUNDS = 5
PAGES = (
    "/",
    "/tools",
    "/tools?q=send+a+message",
    "/servers",
    "/try",
    "/try?message=how+late+is+it+in+Sao+Paulo%3F",
    "/chat",
    "/knowledge/documents",
    "/insight",
    "/settings",
    "/actions",
)
_FILE = re.compile(r'(?:src|href)="(/static/[^"]+)"')


async def _fetched(web: httpx.AsyncClient, path: str) -> tuple[str, int]:
    """A page or file, and its bytes over the wire."""
    async with web.stream("GET", path) as answer:
        answer.raise_for_status()
        return "".join([text async for text in answer.aiter_text()]), answer.num_bytes_downloaded


async def _first(web: httpx.AsyncClient, path: str) -> dict[str, float]:
    """Milliseconds and bytes of a page for a browser that has nothing."""
    started = time.perf_counter()
    page, size = await _fetched(web, path)
    alone = time.perf_counter() - started
    for name in dict.fromkeys(_FILE.findall(page)):
        size += (await _fetched(web, name))[1]
    whole = time.perf_counter() - started
    return {"page_ms": alone * 1000, "with_files_ms": whole * 1000, "bytes": size}


async def _next(web: httpx.AsyncClient, path: str) -> float:
    """Milliseconds of a page for a browser that has the files."""
    started = time.perf_counter()
    await _fetched(web, path)
    return (time.perf_counter() - started) * 1000


async def run() -> dict[str, Any]:
    """Measure and save."""
    firsts: list[dict[str, float]] = []
    later: list[dict[str, float]] = []
    nexts: dict[str, list[float]] = {path: [] for path in PAGES}
    with product.folder() as folder:
        await fill(folder, TOOLS)
        for turn in range(ROUNDS):
            async with serving(folder) as daemon:
                base = daemon.url.removesuffix("/mcp")
                async with httpx.AsyncClient(base_url=base, timeout=60) as web:
                    firsts.append(await _first(web, ("/", "/tools")[turn % 2]))
                    for path in PAGES:
                        nexts[path].append(await _next(web, path))
                async with httpx.AsyncClient(base_url=base, timeout=60) as web:
                    later.append(await _first(web, ("/", "/tools")[turn % 2]))
    figures: dict[str, Any] = {
        "tools": TOOLS,
        "rounds": ROUNDS,
        "first_page_as_the_daemon_starts": {name: round(median(one[name] for one in firsts)) for name in firsts[0]},
        "first_page": {name: round(median(one[name] for one in later)) for name in later[0]},
        "next_pages_ms": {path: round(median(taken), 1) for path, taken in nexts.items()},
        "load": psutil.getloadavg()[0],
    }
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("console", figures)
    return figures
