"""Imports of descriptions: what changes and what stays, words before vectors, kills and races."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import select

from tests.knowledge_apis.conftest import SHOP, described, write
from tests.search.encoders import WordEncoder
from tests.support import Databases
from thresher.audit import AuditLog
from thresher.core import Caller, InvalidInput, Settings, Tenant
from thresher.embedding import open_cross_encoder
from thresher.jobs import Jobs
from thresher.knowledge.apis import KIND, ApiService
from thresher.knowledge.apis.ingestion import intake
from thresher.knowledge.apis.ingestion.sync import DescriptionSync
from thresher.search import SearchIndex
from thresher.store import Database, SecretBox
from thresher.store.tables import api_operation

PHASES = ("reading", "indexing", "embedding")


class Killed(BaseException):
    """Ends a run like a kill: without any clean-up."""


class Bench:
    """A service whose encoder counts, and the job that a worker would run."""

    def __init__(self, database: Database, tenant: Tenant, settings: Settings) -> None:
        self.database = database
        self.caller = Caller(tenant)
        self.encoder = WordEncoder()
        self.index = SearchIndex(database, self.encoder, settings)
        secrets = SecretBox(Fernet.generate_key())
        crossing, jobs, audit = open_cross_encoder(settings), Jobs(database), AuditLog(database, secrets)
        self.service = ApiService(database, self.index, crossing, jobs, settings, secrets, audit)
        self.sync = DescriptionSync(database, self.index)

    async def run(self, *, killed_at: str = "") -> None:
        """Do the pending work of every version; stop at the beginning of a phase."""

        def report(phase: str, *_: int) -> None:
            if phase == killed_at:
                raise Killed

        for provider in await self.service.list_providers(self.caller):
            for version in provider.versions:
                await self.sync.run(self.caller.tenant, version.id, report)

    async def found(self, words: str) -> list[str]:
        """Operations that contain these words or are near them, best first."""
        result = await self.index.search(self.caller, KIND, [words], limit=50, threshold=0.0)
        rows = await self.rows()
        return [rows[hit.id] for hit in result.hits]

    async def rows(self) -> dict[int, str]:
        """Row id to operation."""
        query = select(api_operation.c.id, api_operation.c.method, api_operation.c.path)
        async with self.database.transaction(self.caller.tenant) as connection:
            return {row.id: f"{row.method} {row.path}" for row in await connection.execute(query)}


@pytest.fixture
async def bench(database: Database, tenant: Tenant, settings: Settings) -> AsyncIterator[Bench]:
    """The service and its job."""
    bench = Bench(database, tenant, settings)
    yield bench
    await bench.index.close()


async def test_new_operations_are_found_by_words_at_once_and_by_vectors_later(bench: Bench, shop: Path) -> None:
    """Without a worker nothing is embedded, and everything is found by its words."""
    added = await bench.service.add(bench.caller, "shop", [str(shop)])
    early = await bench.found("cancel order")
    waiting = bench.encoder.documents.copy()
    await bench.run()

    assert early[0] == "DELETE /orders/{id}"
    assert (added.versions[0].state, added.versions[0].embedded, waiting) == ("indexing", 0, [])
    ready = (await bench.service.provider(bench.caller, "shop")).versions[0]
    assert (ready.state, ready.embedded, ready.operations) == ("ready", 5, 5)


async def test_unchanged_operations_keep_their_rows_and_vectors(bench: Bench, shop: Path) -> None:
    """Only added and changed operations are embedded; removed ones are no longer found."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    await bench.run()
    before, embedded = await bench.rows(), len(bench.encoder.documents)
    changed = {key: text for key, text in SHOP.items() if key != "GET /customers"}
    write(shop, described(changed | {"GET /orders": "Browse all orders", "GET /carts": "List carts"}, version="1.3"))

    await bench.service.sync(bench.caller, "shop")
    await bench.run()

    after = await bench.rows()
    version = (await bench.service.provider(bench.caller, "shop")).versions[0]
    counts = version.counts
    assert (counts.added, counts.changed, counts.removed, counts.unchanged) == (1, 1, 1, 3)
    assert {number: key for number, key in after.items() if key != "GET /carts"} == {
        number: key for number, key in before.items() if key != "GET /customers"
    }
    assert len(bench.encoder.documents) == embedded + 2
    assert (version.label, version.embedded, version.state) == ("v1", 5, "ready")
    assert (await bench.found("browse"))[0] == "GET /orders"
    assert len(await bench.found("customers")) <= 5


async def test_a_sync_of_unchanged_text_does_nothing(bench: Bench, shop: Path) -> None:
    """No edition changes, and nothing is written or embedded."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    await bench.run()
    before = await _edition(bench), len(bench.encoder.documents)

    await bench.service.sync(bench.caller, "shop")
    shop.write_text(json.dumps(json.loads(shop.read_text()), indent=1))
    reformatted = await bench.service.sync(bench.caller, "shop")
    await bench.run()

    assert len(bench.encoder.documents) == before[1]
    assert reformatted.versions[0].counts.unchanged == 5


@pytest.mark.parametrize("phase", PHASES)
async def test_a_killed_run_is_resumed(bench: Bench, shop: Path, phase: str) -> None:
    """Wherever it stops, the next run leaves exactly what a single run would."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    await bench.run()
    write(shop, described({"GET /orders": "Browse all orders", "GET /carts": "List carts"}))
    await bench.service.sync(bench.caller, "shop")

    with pytest.raises(Killed):
        await bench.run(killed_at=phase)
    await bench.run()

    version = (await bench.service.provider(bench.caller, "shop")).versions[0]
    assert (version.state, version.operations, version.embedded) == ("ready", 2, 2)
    assert sorted((await bench.rows()).values()) == ["GET /carts", "GET /orders"]
    assert set(await bench.found("orders carts customers")) <= {"GET /carts", "GET /orders"}
    assert await _items(bench) == 2


async def test_an_interrupted_removal_is_finished_by_the_next_run(
    bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile nobody sees the provider, and its name is free."""
    await bench.service.add(bench.caller, "shop", [str(shop)])

    async def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(DescriptionSync, "remove_left", killed)
        with pytest.raises(Killed):
            await bench.service.remove(bench.caller, "shop")
    seen = await bench.service.list_providers(bench.caller)
    await bench.service.add(bench.caller, "shop", [str(shop)])
    left = await _items(bench)
    await bench.run()

    assert seen == ()
    assert (left, await _items(bench), len(await bench.rows())) == (10, 5, 5)


async def test_concurrent_runs_have_the_result_of_one(bench: Bench, shop: Path) -> None:
    """A worker may start while the process that added the description is still working."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    write(shop, described({"GET /orders": "Browse all orders"}))

    await asyncio.gather(bench.service.sync(bench.caller, "shop"), *(bench.run() for _ in range(3)))
    await bench.run()

    version = (await bench.service.provider(bench.caller, "shop")).versions[0]
    assert (version.state, version.operations, version.embedded) == ("ready", 1, 1)
    assert await _items(bench) == 1
    assert (await bench.found("browse"))[0] == "GET /orders"


async def test_a_large_description_that_breaks_in_a_worker_keeps_the_last_good_one(bench: Bench, shop: Path) -> None:
    """Its version says why, and can be added again if there never was a good one."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    broken = "openapi: 3.0.0\n" + "# much\n" * 240_000 + "paths: {"
    shop.with_suffix(".yaml").write_text(broken)
    added = await bench.service.add(bench.caller, "other", [str(shop.with_suffix(".yaml"))])
    await bench.service.add(bench.caller, "shop", [str(shop.with_suffix(".yaml"))], version="v1", replace=True)

    for provider in await bench.service.list_providers(bench.caller):
        with pytest.raises(InvalidInput):
            await bench.sync.run(bench.caller.tenant, provider.versions[0].id, lambda *_: None)
    other, kept = [one.versions[0] for one in await bench.service.list_providers(bench.caller)]

    assert added.versions[0].state == "waiting"
    assert (other.state, other.operations, kept.state, kept.operations) == ("failed", 0, "failed", 5)
    assert other.failure
    assert len(await bench.found("orders")) > 0
    assert (await bench.service.add(bench.caller, "other", [str(shop)], version=other.label)).operations == 5


async def test_a_new_model_embeds_everything_again(bench: Bench, shop: Path) -> None:
    """Once; what is up to date is not touched."""
    await bench.service.add(bench.caller, "shop", [str(shop)])
    await bench.run()
    before = await bench.service.catch_up(bench.caller)
    bench.encoder.name = "words@2"

    behind = await bench.service.catch_up(bench.caller)
    await bench.run()

    assert (before, behind) == ([], ["shop v1"])
    assert await bench.service.catch_up(bench.caller) == []
    assert (await bench.service.provider(bench.caller, "shop")).versions[0].embedded == 5


async def test_text_that_postgresql_cannot_store_is_removed(bench: Bench, tmp_path: Path) -> None:
    """A zero byte, half a surrogate pair, a long path; also two operations with one key."""
    odd = described({f"GET /{'x' * 1_900}": "a\0b \ud800 c", "GET /a": "A"}, tags=[{"name": "t\0"}])
    file = write(tmp_path / "odd.json", odd)

    added = await bench.service.add(bench.caller, "odd", [str(file)])

    assert added.operations == 2
    assert added.versions[0].failure == ""


async def test_a_killed_process_leaves_work_that_the_next_one_finishes(
    bench: Bench, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed while some operations are in the index and others are not."""
    monkeypatch.setattr(intake, "INLINE_OCTETS", 0)
    many = {f"GET /things{number}": f"List all things of kind {number}" for number in range(300)}
    added = await bench.service.add(bench.caller, "many", [str(write(tmp_path / "many.json", described(many)))])
    script, version = Path(__file__).with_name("sync_once.py"), added.versions[0].id
    url = await _url_of(bench.database, databases)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), url, str(bench.caller.tenant.id), str(version), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    while await asyncio.wait_for(process.stdout.readline(), 60) != b"indexing\n":
        pass
    process.kill()
    await process.wait()

    between = (await bench.service.provider(bench.caller, "many")).versions[0]
    await bench.run()

    ready = (await bench.service.provider(bench.caller, "many")).versions[0]
    assert (added.operations, between.operations, between.state) == (0, 300, "indexing")
    assert (ready.state, ready.embedded, await _items(bench)) == ("ready", 300, 300)


async def _url_of(database: Database, databases: Databases) -> str:
    async with database.transaction(Tenant(0, "")) as connection:
        return databases.url((await connection.exec_driver_sql("select current_database()")).scalar_one())


async def _edition(bench: Bench) -> int:
    async with bench.database.transaction(bench.caller.tenant) as connection:
        return (await connection.exec_driver_sql("select edition from api_version")).scalar_one()


async def _items(bench: Bench) -> int:
    async with bench.database.transaction(bench.caller.tenant) as connection:
        return (await connection.exec_driver_sql("select count(*) from item where kind = 'operation'")).scalar_one()
