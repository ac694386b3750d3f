"""Sources of descriptions that are followed: what has changed is imported by itself, by one daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.knowledge_apis.conftest import SHOP, described, write
from tests.knowledge_apis.serving import site
from tests.support import eventually
from thresher.core import Caller, InvalidInput, Settings
from thresher.embedding import open_cross_encoder
from thresher.jobs import Claim, ClaimLoop, Jobs
from thresher.jobs.claims import keep_row, take_up
from thresher.knowledge.apis import ApiService, queries
from thresher.knowledge.apis.providers import VERSIONS
from thresher.services import Services
from thresher.store import Database

MORE = SHOP | {"GET /carts": "List carts"}


@asynccontextmanager
async def following(service: ApiService) -> AsyncGenerator[None]:
    """A daemon that follows the sources of the database."""
    running = asyncio.create_task(service.follow_sources())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_description_that_changes_is_imported_by_itself(service: ApiService, caller: Caller) -> None:
    """Its server is asked with what it said last, and sends what has changed; an unchanged one makes no job."""
    async with site() as web:
        address = web.serves("/api.json", json.dumps(described(SHOP)).encode(), etag='"1"')
        added = await service.add(caller, "shop", [address])
        await service.index_here(caller, "shop")

        async def asked_again() -> bool:
            return len(web.asked) > 1

        async def grown() -> bool:
            return (await service.provider(caller, "shop")).operations == len(MORE)

        async with following(service):
            await eventually(asked_again, seconds=30)
            unchanged = await service.provider(caller, "shop")
            web.serves("/api.json", json.dumps(described(MORE)).encode(), etag='"2"')
            await service.set_schedule(caller, "shop", 3600)
            await eventually(grown, seconds=30)

    assert 'if-none-match: "1"' in web.asked[1].lower()
    assert unchanged.versions[0].job == added.versions[0].job
    assert len(web.asked) == 3


async def test_a_file_is_followed_and_a_broken_one_keeps_the_last_good_state(
    service: ApiService, caller: Caller, shop: Path
) -> None:
    """The version says what is wrong until the file is right again."""
    await service.add(caller, "shop", [str(shop)])
    await service.index_here(caller, "shop")

    async def failed() -> bool:
        return bool((await service.provider(caller, "shop")).versions[0].failure)

    async def mended() -> bool:
        version = (await service.provider(caller, "shop")).versions[0]
        return version.operations == len(MORE) and not version.failure

    async with following(service):
        shop.write_text("just: words\n")
        await service.set_schedule(caller, "shop", 3600)
        await eventually(failed, seconds=30)
        broken = await service.provider(caller, "shop")
        write(shop, described(MORE))
        await service.set_schedule(caller, "shop", 3600)
        await eventually(mended, seconds=30)

    assert (broken.operations, broken.versions[0].state) == (len(SHOP), "ready")


async def test_a_source_that_is_allowed_no_more_is_not_asked(
    services: Services, settings: Settings, caller: Caller, database: Database
) -> None:
    """It was added with a key while the settings named its address."""
    async with site() as web:
        address = web.serves("/api.json", json.dumps(described(SHOP)).encode(), etag='"1"')
        keyed = Caller(caller.tenant, "ann", keyed=True)
        with_it, without = (
            ApiService(
                database, services.index, open_cross_encoder(settings), Jobs(database),
                settings.model_copy(update={"api_sources": named}), services.secrets, services.audit,
            )
            for named in ((web.base,), ())
        )  # fmt: skip
        await with_it.add(keyed, "shop", [address])
        await with_it.index_here(keyed, "shop")

        async def refused() -> bool:
            return "not public" in (await without.provider(keyed, "shop")).versions[0].failure

        async with following(without):
            await eventually(refused, seconds=30)

    assert len(web.asked) == 1


async def test_one_of_two_daemons_checks_a_source_and_a_dead_ones_claim_lapses(
    service: ApiService, caller: Caller, shop: Path, database: Database
) -> None:
    """A daemon that has lost its claim neither checks nor gives back what is another's by now."""
    version = (await service.add(caller, "shop", [str(shop)])).versions[0].id
    checked: list[str] = []

    def daemon(name: str) -> ClaimLoop:
        async def check(claim: Claim) -> None:
            checked.extend([name] * (claim.row == version))

        return ClaimLoop(database, VERSIONS, check, 3600.0)

    async def once() -> bool:
        return bool(checked)

    both = [asyncio.create_task(daemon(name).run()) for name in ("one", "other")]
    await eventually(once, seconds=30)
    for one in both:
        one.cancel()
    await asyncio.gather(*both, return_exceptions=True)
    async with database.transaction(caller.tenant) as link:
        await queries.set_schedule(link, caller.tenant, (await service.provider(caller, "shop")).id, None)
    dead = await take_up(database, VERSIONS, "dead", 0.0)  # it never gives back
    taken = await take_up(database, VERSIONS, "living", 60.0)
    late = await keep_row(database, VERSIONS, caller.tenant, version, "dead", 3600.0)
    mine = await keep_row(database, VERSIONS, caller.tenant, version, "living", 60.0)

    assert checked in (["one"], ["other"])
    assert (caller.tenant.id, version) in dead
    assert (caller.tenant.id, version) in taken
    assert (late, mine) == (False, True)


async def test_a_source_is_not_checked_all_the_time(service: ApiService, caller: Caller, shop: Path) -> None:
    """Ten seconds are the least; zero means never."""
    await service.add(caller, "shop", [str(shop)])
    never = await service.set_schedule(caller, "shop", 0)

    with pytest.raises(InvalidInput):
        await service.set_schedule(caller, "shop", 9)

    assert never.check_seconds == 0
