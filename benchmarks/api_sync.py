"""Taking descriptions over: seconds until their operations are found by words, and by meaning; syncs after a change.

`indexed` is what is done from the bytes to operations that words find, without the encoder: reading, rows, index; what
this process takes of it is told apart, since the database's share depends on what else runs. `worker` is what somebody
waits for who adds the description to the running product, worker start included. One description of 5,000 operations
is made of Kubernetes' by repeating paths under other names.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import api_reading, machine, product
from thresher.core import Caller
from thresher.knowledge.apis import Version
from thresher.services import Services

LARGE = 5_000
RUNS = 3


def made(content: bytes, operations: int) -> bytes:
    """A description with at least so many operations, made of a JSON one."""
    document = json.loads(content)
    methods = {"get", "put", "post", "delete", "options", "head", "patch"}
    paths, count, copy = dict(document["paths"]), 0, 0
    per_copy = sum(len(methods & one.keys()) for one in paths.values())
    while count + per_copy < operations:
        count += per_copy
        copy += 1
        paths |= {f"/copy{copy}{path}": value for path, value in document["paths"].items()}
    return json.dumps({**document, "paths": paths}).encode()


async def _indexed(services: Services, path: Path) -> dict[str, Any]:
    """From bytes to words in this process: the least of several runs, each for a tenant of its own."""
    taken: list[tuple[float, float]] = []
    version = Version("", "")
    for _ in range(RUNS):
        tenant = await services.database.tenant(f"bench-{time.monotonic_ns()}")
        caller = Caller(tenant)
        began, spent = time.perf_counter(), time.process_time()
        await services.apis.add(caller, "bench", [str(path)])
        version = (await services.apis.index_here(caller, "bench", embed=False)).versions[0]
        taken.append((time.perf_counter() - began, time.process_time() - spent))
        await services.database.drop_tenant(tenant)
    return {
        "operations": version.operations,
        "indexed_seconds": round(min(seconds for seconds, _ in taken), 2),
        "indexed_processor_seconds": round(min(spent for _, spent in taken), 2),
    }


async def _followed(services: Services, began: float) -> dict[str, float]:
    """Seconds until the worker has the operations found by words, and all of them by meaning."""
    seconds: dict[str, float] = {}
    while True:
        version = (await services.apis.provider(services.caller, "bench")).versions[0]
        elapsed = round(time.perf_counter() - began, 2)
        if version.operations and version.state != "waiting":
            seconds.setdefault("words", elapsed)
        if version.failure:
            raise SystemExit(version.failure)
        if version.state == "ready":
            return seconds | {"embedded": elapsed}
        await asyncio.sleep(0.05)


def _change(path: Path) -> None:
    """Give the first operation another summary."""
    document = json.loads(path.read_bytes())
    first = next(iter(document["paths"].values()))
    next(one for one in first.values() if isinstance(one, dict))["summary"] = "Something else entirely"
    path.write_text(json.dumps(document), encoding="utf-8")


async def _worked(services: Services, path: Path) -> dict[str, Any]:
    """Added to the running product, synced unchanged, and synced with one operation changed."""
    began = time.perf_counter()
    await services.apis.add(services.caller, "bench", [str(path)])
    figures: dict[str, Any] = {"added": await _followed(services, began)}
    began = time.perf_counter()
    await services.apis.sync(services.caller, "bench")
    figures["unchanged_seconds"] = round(time.perf_counter() - began, 2)
    await asyncio.to_thread(_change, path)
    began = time.perf_counter()
    await services.apis.sync(services.caller, "bench")
    figures["one_changed"] = await _followed(services, began)
    counts = (await services.apis.provider(services.caller, "bench")).versions[0].counts
    figures["one_changed_operations"] = counts.changed
    await services.apis.remove(services.caller, "bench")
    return figures


async def run() -> dict[str, Any]:
    """Measure and save."""
    sources = {name: api_reading.folder() / path for name, path in api_reading.FILES.items()}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thresher-apis-") as place:
        large, copy = Path(place) / "large.json", Path(place) / "kubernetes.json"
        kubernetes = await asyncio.to_thread(sources["kubernetes"].read_bytes)
        await asyncio.to_thread(large.write_bytes, made(kubernetes, LARGE))
        await asyncio.to_thread(copy.write_bytes, kubernetes)
        async with product.running(workers=0) as services:
            for name, path in {**sources, "5,000 operations": large}.items():
                figures[name] = await _indexed(services, path)
        async with product.running() as services:
            figures["kubernetes"]["worker"] = await _worked(services, copy)
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("api_sync", figures)
    return figures
