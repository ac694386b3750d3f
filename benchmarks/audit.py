"""The audit log: what a decision costs a statement, how fast a chain is checked, and how fast it is shown."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from benchmarks import machine
from thresher.audit import Attempt, AuditLog, StatementOutcome
from thresher.core import Caller, Settings
from thresher.store import Database, EmbeddedServer, SecretBox, migrate

ALONE = 1_000
AT_ONCE = 32
EACH = 60
STATEMENTS = 10_000
ATTEMPT = Attempt(
    "ada", "client 1.0", "", "thread", "shop", "postgresql", "select * from orders where id = 1", True, "", "sql_query"
)


async def run() -> None:
    """Measure on an embedded server that writes to disk as it does for people."""
    with tempfile.TemporaryDirectory(prefix="thr-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o711)
        server = await EmbeddedServer.start(Settings(data_dir=folder / "data", allow_root=True))
        try:
            migrate(server.owner_url)
            database = await Database.open(server.application_url)
            caller = Caller(await database.tenant(f"audit-{secrets.token_hex(4)}"))
            figures = await measure(AuditLog(database, SecretBox(Fernet.generate_key()), folder), caller)
            await database.close()
        finally:
            await server.stop()
    print(machine.save("audit", figures).read_text(encoding="utf-8"))


async def measure(log: AuditLog, caller: Caller) -> dict[str, Any]:
    """Decide one by one and many at once, then check and show what was written."""

    async def decide(count: int) -> list[float]:
        return [await timed(lambda: log.decide(caller, ATTEMPT)) for _ in range(count)]

    await decide(20)
    alone = await decide(ALONE)
    started = time.perf_counter()
    together = [*chain.from_iterable(await asyncio.gather(*(decide(EACH) for _ in range(AT_ONCE))))]
    rate = len(together) / (time.perf_counter() - started)
    for _ in range(0, STATEMENTS, AT_ONCE):
        await asyncio.gather(*(_statement(log, caller) for _ in range(AT_ONCE)))
    shown = [await timed(lambda: log.entries(caller)) for _ in range(20)]
    sought = [await timed(lambda: log.entries(caller, text="nowhere")) for _ in range(5)]
    started = time.perf_counter()
    checked = await log.verify(caller.tenant)
    seconds = time.perf_counter() - started
    assert checked.sound, checked.problems
    return {
        "decision_ms": _percentiles(alone),
        "decision_of_32_ms": _percentiles(together),
        "decisions_a_second_of_32": round(rate),
        "links": checked.links,
        "check_links_a_second": round(checked.links / seconds),
        "newest_50_p50_ms": _percentiles(shown)["p50"],
        "text_nowhere_p50_ms": _percentiles(sought)["p50"],
    }


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that something takes."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def _statement(log: AuditLog, caller: Caller) -> None:
    await log.end(caller, await log.decide(caller, ATTEMPT), StatementOutcome("ok", 1, 2.0))


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {f"p{part}": round(ordered[int(len(ordered) * part / 100)], 2) for part in (50, 95, 99)}
