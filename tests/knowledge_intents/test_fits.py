"""Fits: made once for what they rest on, kept, shared, finished after a kill, and never waited for."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.embedding_server import EmbeddingServer
from tests.knowledge_intents.conftest import DEPLOY, RELATIONS
from tests.knowledge_intents.packs import write_pack
from tests.support import Databases, eventually
from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.intents import IntentService, Sources
from thresher.services import Services
from thresher.store import Database

MESSAGE = "please create a relation between orders and products"


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A clean database that other processes may open."""
    name = await databases.create()
    yield name
    await databases.drop(name)


async def start(url: str, folder: Path, tenant: str = "local") -> asyncio.subprocess.Process:
    """Begin a process over a folder of packs."""
    module = "tests.knowledge_intents.start"
    given = [sys.executable, "-m", module, url, tenant, str(folder), MESSAGE]
    return await asyncio.create_subprocess_exec(*given, stdout=asyncio.subprocess.PIPE)


async def told(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """What a process said, once it has ended."""
    out, _ = await process.communicate()
    return json.loads(out)


async def test_a_second_start_embeds_nothing_and_fits_nothing(databases: Databases, name: str, shelf: Path) -> None:
    """It reads the fit that the first has stored, and decides the same; of a changed pack the new line is embedded."""
    url = databases.url(name)
    first = await told(await start(url, shelf))
    before = await databases.admin("select count(*) from embedding", name)
    second = await told(await start(url, shelf))
    after = await databases.admin("select count(*) from embedding", name)
    write_pack(shelf, "deploy", [*DEPLOY, "release it to the customer"])
    third = await told(await start(url, shelf))

    assert (first["stored"], first["matched"], first["degraded"]) == (False, ["relations"], "")
    assert first["embedded"] == len(RELATIONS) + len(DEPLOY) < before[0][0]  # vectors of everyday messages ship
    assert (second["stored"], second["embedded"]) == (True, 0)
    assert (second["matched"], second["degraded"]) == (["relations"], "")
    assert after == before
    assert (third["stored"], third["embedded"], third["matched"]) == (False, 1, ["relations"])


async def test_a_killed_start_is_finished_by_the_next(
    databases: Databases, name: str, tmp_path: Path, encoder: Encoder
) -> None:
    """What was embedded before the kill is not embedded again; the vectors of everyday messages ship."""
    lines = [f"work on task number {number}" for number in range(300)]
    write_pack(tmp_path, "numbers", lines)
    hashes = ", ".join([f"'\\x{await _key(encoder, line)}'::bytea" for line in lines])
    killed = await start(databases.url(name), tmp_path)

    async def count() -> int:
        """Lines of the pack that are embedded, whatever ships besides."""
        found = await databases.admin(f"select count(*) from embedding where hash in ({hashes})", name)
        return int(str(found[0][0]))

    await eventually(lambda: _positive(count), seconds=60)
    killed.kill()
    await killed.wait()
    kept = await count()
    second = await told(await start(databases.url(name), tmp_path))

    assert second["embedded"] == len(lines) - kept
    assert (second["stored"], second["lines"], second["problem"]) == (False, 300, "")


async def _key(encoder: Encoder, line: str) -> str:
    """The key of a line in the cache: the hash of what the model reads."""
    return hashlib.sha256(((await encoder.warm()).query_prefix + line).encode()).hexdigest()


async def _positive(count: Any) -> bool:
    return await count() > 0


async def test_two_that_fit_at_once_store_one_fit(
    databases: Databases, name: str, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """Neither fails, whichever was first."""
    pools = [await databases.open(name) for _ in range(2)]
    tenant = await pools[0].tenant("local")
    async with (
        opened(pools[0], tenant, settings, encoder, sources) as first,
        opened(pools[1], tenant, settings, encoder, sources) as second,
    ):
        states = await asyncio.gather(*(one.intents.router(one.caller) for one in (first, second)))
    stored = await databases.admin("select count(*) from intent_fit", name)
    for pool in pools:
        await pool.close()

    assert [(state.basis, state.problem) for state in states] == [("head", "")] * 2
    assert stored == [(1,)]


async def test_equal_packs_of_two_tenants_are_fitted_once_and_stored_twice(
    database: Database, tenant: Tenant, other_tenant: Tenant, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """Each tenant has its own row, for the next start may be its alone."""
    async with opened(database, tenant, settings, encoder, sources) as services:
        other = Caller(other_tenant)
        await services.intents.router(services.caller)
        state = await services.intents.router(other)
        await services.intents.settle()
        counts = [await _fits(database, one) for one in (tenant, other_tenant)]

    assert not state.stored
    assert services.intents._fits.made == 1
    assert counts == [1, 1]


async def test_another_model_has_a_fit_and_thresholds_of_its_own(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """The first model's fit stays for the way back."""
    service = EmbeddingServer()
    other = open_encoder(settings.model_copy(update={"encoder_url": service.url, "encoder_model": "fake"}))
    states, limits = [], []
    for one in (encoder, other, encoder):
        async with opened(database, tenant, settings, one, sources) as services:
            states.append(await services.intents.router(services.caller))
            limits.append({info.name: info.fitted for info in await services.intents.intents(services.caller)})
    await other.close()
    service.stop()

    assert [state.stored for state in states] == [False, False, True]
    assert limits[0] != limits[1]
    assert limits[0] == limits[2]


async def test_a_damaged_fit_is_made_again(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """Its row is replaced."""
    async with opened(database, tenant, settings, encoder, sources) as services:
        await services.intents.router(services.caller)
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql("update intent_fit set packed = 'nonsense'")
    async with opened(database, tenant, settings, encoder, sources) as services:
        damaged = await services.intents.router(services.caller)
    async with opened(database, tenant, settings, encoder, sources) as services:
        mended = await services.intents.router(services.caller)

    assert (damaged.stored, damaged.embedded, damaged.problem) == (False, 0, "")
    assert mended.stored


async def test_while_packs_are_fitted_the_old_fit_serves(
    services: Services, intents: IntentService, caller: Caller, shelf: Path
) -> None:
    """The answer says so; afterwards the new pack decides, and nothing of before is remembered."""
    before = await intents.route(caller, MESSAGE)
    write_pack(shelf, "billing", ["send the invoice to the customer", "write an invoice for May", "bill the hours"])
    await intents.reload(caller)
    during = await intents.route(caller, MESSAGE)
    await intents.settle()
    after = await intents.route(caller, MESSAGE)
    billing = await intents.route(caller, "write an invoice for June")

    assert before.degraded == ""
    assert (during.cached, during.basis) == (False, "head")
    assert "being fitted" in during.degraded
    assert [score.intent for score in during.matched] == ["relations"]
    assert (after.degraded, after.cached) == ("", False)
    assert "billing" in {score.intent for score in billing.scores}


async def test_a_pack_that_went_decides_nothing(intents: IntentService, caller: Caller, shelf: Path) -> None:
    """Not even while the fit that knows it still serves."""
    for file in (shelf / "relations").iterdir():
        file.unlink()
    (shelf / "relations").rmdir()
    await intents.reload(caller)

    decision = await intents.route(caller, MESSAGE)

    assert "relations" not in {score.intent for score in decision.scores}


async def test_the_first_message_does_not_wait_for_the_fit(services: Services, caller: Caller) -> None:
    """The words of the lines decide it, and the answer says that."""
    first = await services.intents.route(caller, MESSAGE)
    await services.intents.settle()
    second = await services.intents.route(caller, MESSAGE)

    assert (first.basis, [score.intent for score in first.matched]) == ("words", ["relations"])
    assert "being fitted" in first.degraded
    assert (second.basis, second.degraded, second.cached) == ("head", "", False)


async def test_without_an_encoder_the_words_decide(
    database: Database, tenant: Tenant, settings: Settings, sources: Sources, tmp_path: Path
) -> None:
    """The answer names the reason, and nothing of it is remembered."""
    broken = open_encoder(settings.model_copy(update={"model_dir": tmp_path / "nothing"}))
    async with opened(database, tenant, settings, broken, sources) as services:
        await services.intents.prepare(services.caller)
        decisions = [await services.intents.route(services.caller, MESSAGE) for _ in range(2)]
        state = await services.intents.router(services.caller)
    await broken.close()

    assert [(one.basis, one.cached, bool(one.degraded)) for one in decisions] == [("words", False, True)] * 2
    assert [score.intent for score in decisions[0].matched] == ["relations"]
    assert (state.basis, bool(state.problem)) == ("words", True)


async def test_without_any_pack_every_message_passes_through(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """And nothing is degraded by that."""
    async with opened(database, tenant, settings, encoder) as services:
        await services.intents.prepare(services.caller)
        decision = await services.intents.route(services.caller, MESSAGE)

    assert (decision.pass_through, decision.degraded) == (True, "")


async def _fits(database: Database, tenant: Tenant) -> int:
    async with database.transaction(tenant) as connection:
        return int((await connection.exec_driver_sql("select count(*) from intent_fit")).scalar_one())
