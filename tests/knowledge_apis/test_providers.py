"""Providers: adding, syncing, switching off and removing them; their owners, and errors."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.knowledge_apis.conftest import SHOP, described, write
from tests.knowledge_apis.serving import site
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, SourceUnavailable, Tenant
from thresher.embedding import open_cross_encoder
from thresher.knowledge.apis import TASK, ApiService
from thresher.services import Services
from thresher.store import Database


async def test_a_small_description_can_be_listed_at_once(service: ApiService, caller: Caller, shop: Path) -> None:
    """`add` returns when its operations are counted; its version label comes from the description."""
    added = await service.add(caller, "shop", [str(shop)], aliases=["The  Shop"], display_name="Corner Shop")

    version = added.versions[0]
    assert (version.label, version.operations, version.failure, version.declared) == ("v1", 5, "", "1.2.0")
    assert (version.counts.added, version.dialect, version.title) == (5, "3.0", "Shop")
    assert (added.operations, added.aliases, added.active) == (5, ("the shop",), True)
    assert await service.provider(caller, "corner SHOP") == added
    assert await service.overview(caller) == "shop (5 operations)"


async def test_a_provider_gets_more_versions(service: ApiService, caller: Caller, shop: Path, tmp_path: Path) -> None:
    """An existing label is refused unless it is to be replaced; fields that are not given stay."""
    other = write(tmp_path / "shop-v2.json", described(SHOP | {"GET /carts": "List carts"}))
    await service.add(caller, "shop", [str(shop)], aliases=["store"], base_url="https://shop.example")

    added = await service.add(caller, "shop", [str(other)])
    with pytest.raises(Conflict, match="already has a version 'v2'"):
        await service.add(caller, "shop", [str(shop)], version="v2")
    replaced = await service.add(caller, "shop", [str(shop)], version="v2", replace=True)

    assert [(one.label, one.operations) for one in added.versions] == [("v1", 5), ("v2", 6)]
    assert [(one.label, one.operations, one.source) for one in replaced.versions] == [
        ("v1", 5, str(shop)),
        ("v2", 5, str(shop)),
    ]
    assert (replaced.aliases, replaced.base_url) == (("store",), "https://shop.example")


async def test_the_description_names_its_api(service: ApiService, caller: Caller, tmp_path: Path) -> None:
    """A title that is known means another version; another API of that name gets a number."""
    first = write(tmp_path / "a.json", described(SHOP))
    second = write(tmp_path / "b.json", described(SHOP, "2.0"))
    other = write(tmp_path / "c.json", described(SHOP) | {"info": {"title": "The SHOP API", "version": "1.0"}})

    added = await service.add(caller, "", [str(first)])
    again = await service.add(caller, "", [str(second)])
    apart = await service.add(caller, "", [str(other)], aliases=["corner"])
    with pytest.raises(Conflict, match="already has a version 'v1'"):
        await service.add(caller, "", [str(first)])
    till = write(tmp_path / "d.json", described(SHOP) | {"info": {"title": "Till"}})
    with pytest.raises(InvalidInput, match="several APIs: shop, till"):
        await service.add(caller, "", [str(first), str(till)])

    assert (added.name, added.display_name) == ("shop", "Shop")
    assert [one.label for one in again.versions] == ["v1", "v2"]
    assert (apart.name, apart.display_name, apart.aliases) == ("shop-2", "The SHOP API", ("corner",))


async def test_a_base_address_comes_from_where_the_description_was_read(service: ApiService, caller: Caller) -> None:
    """A relative server is relative to the description's address, and none means its host."""
    server = {"url": "https://{where}.shop.example/v1", "variables": {"where": {"default": "eu"}}}
    pages = {
        "/docs/relative.json": described(SHOP, servers=[{"url": "../v2"}]),
        "/b/none.json": described(SHOP),
        "/absolute.json": described(SHOP, servers=[server]),
    }
    async with site() as web:
        for path, page in pages.items():
            address = web.serves(path, json.dumps(page).encode())
            await service.add(caller, Path(path).stem, [address])
        known = {one.name: one.versions[0].base_url for one in await service.list_providers(caller)}
        found = await service.search(caller, "place an order", providers=["relative"])
        shown = await service.endpoint(caller, found.endpoints[0].id)

    expected = {"relative": f"{web.base}/v2", "none": web.base, "absolute": "https://eu.shop.example/v1"}
    assert known == expected
    assert f"Base: {web.base}/v2" in shown.content
    assert f"{web.base}/v2/orders" in shown.samples["curl"]


async def test_two_sources_become_two_versions_or_none(
    service: ApiService, caller: Caller, shop: Path, tmp_path: Path
) -> None:
    """If one of them cannot be read, nothing is stored."""
    (tmp_path / "broken.json").write_text("{")

    with pytest.raises(InvalidInput):
        await service.add(caller, "shop", [str(shop), str(tmp_path / "broken.json")])

    assert await service.list_providers(caller) == ()


@pytest.mark.parametrize("content", ["", "{}", "[1]", "openapi: [", '{"openapi": "9.9"}', "\0", "a: b", "just words"])
async def test_an_invalid_description_is_refused_and_leaves_nothing(
    service: ApiService, caller: Caller, tmp_path: Path, content: str
) -> None:
    """Its name stays free."""
    (tmp_path / "api.yaml").write_text(content)

    with pytest.raises(InvalidInput):
        await service.add(caller, "shop", [str(tmp_path / "api.yaml")])

    assert await service.list_providers(caller) == ()


@pytest.mark.parametrize("sources", [[], "/a.json", ["/a.json"] * 21])
async def test_sources_must_be_a_list_of_a_few(service: ApiService, caller: Caller, sources: list[str] | str) -> None:
    """None, a bare string, and too many are refused."""
    with pytest.raises(InvalidInput, match="No sources are given"):
        await service.add(caller, "shop", sources)


async def test_no_two_providers_share_a_name(service: ApiService, caller: Caller, shop: Path) -> None:
    """Among the names and aliases of all providers that the caller sees."""
    await service.add(caller, "shop", [str(shop)], aliases=["store"])
    user = Caller(caller.tenant, "ada")

    for name, aliases in {"store": [], "depot": ["shop"], "depot-two": ["Store"]}.items():
        with pytest.raises(Conflict, match="already uses the name"):
            await service.add(caller, name, [str(shop)], aliases=aliases)
    with pytest.raises(Conflict, match="already uses the name 'shop'"):
        await service.add(user, "shop", [str(shop)])
    with pytest.raises(NotFound, match="no API 'shp'") as error:
        await service.provider(caller, "shp")
    assert "'shop'" in error.value.hint


async def test_of_concurrent_adds_of_one_name_one_succeeds(service: ApiService, caller: Caller, shop: Path) -> None:
    """The others get an error, and nothing is duplicated."""
    found = await asyncio.gather(*(service.add(caller, "shop", [str(shop)]) for _ in range(6)), return_exceptions=True)

    assert sorted(type(one).__name__ for one in found) == ["Conflict"] * 5 + ["Provider"]
    assert [(one.name, one.operations) for one in await service.list_providers(caller)] == [("shop", 5)]


async def test_users_see_their_own_providers_and_the_tenants(
    service: ApiService, caller: Caller, other_tenant: Tenant, shop: Path
) -> None:
    """They change only their own; other tenants see nothing."""
    ada, bob = Caller(caller.tenant, "ada"), Caller(caller.tenant, "bob")
    await service.add(caller, "common", [str(shop)])
    await service.add(ada, "mine", [str(shop)])

    for who, name in ((caller, "common"), (ada, "mine")):
        await service.index_here(who, name)
    everyone = (ada, bob, Caller(other_tenant))
    seen = {who: [one.name for one in await service.list_providers(who)] for who in everyone}
    found = [{one.provider for one in (await service.search(who, "list orders")).endpoints} for who in everyone]

    assert list(seen.values()) == [["common", "mine"], ["common"], []]
    assert found == [{"common", "mine"}, {"common"}, set()]
    for change in (
        service.sync(ada, "common"),
        service.remove(ada, "common"),
        service.set_active(ada, "common", False),
    ):
        with pytest.raises(NotAllowed, match="belongs to the tenant"):
            await change
    for missed in (
        service.sync(bob, "mine"),
        service.remove(bob, "mine"),
        service.provider(Caller(other_tenant), "mine"),
    ):
        with pytest.raises(NotFound):
            await missed
    assert (await service.add(bob, "mine", [str(shop)])).owner == "bob"


async def test_an_inactive_provider_is_only_listed(
    service: ApiService, services: Services, caller: Caller, shop: Path
) -> None:
    """Search excludes it at once, on other replicas too, and includes it again unchanged."""
    replica = ApiService(
        services.database,
        services.index,
        open_cross_encoder(services.settings),
        services.jobs,
        services.settings,
        services.secrets,
        services.audit,
    )
    await service.add(caller, "shop", [str(shop)])
    await service.index_here(caller, "shop")
    before = await replica.search(caller, "cancel an order")

    off = await service.set_active(caller, "shop", False)
    seen, listed = await service.sees_any(caller), await service.list_providers(caller, include_inactive=False)
    hidden = [await one.search(caller, "cancel an order") for one in (service, replica)]
    on = await service.set_active(caller, "shop", True)
    after = await replica.search(caller, "cancel an order")

    assert (off.active, seen, listed, on.active) == (False, False, (), True)
    assert [one.endpoints for one in hidden] == [(), ()]
    assert [one.id for one in before.endpoints] == [one.id for one in after.endpoints]
    assert before.endpoints[0].path == "/orders/{id}"


async def test_removal_deletes_everything(
    service: ApiService, services: Services, caller: Caller, shop: Path, tmp_path: Path
) -> None:
    """A version, and with the last one the provider; its name is free, and the ids of its operations stay the same."""
    write(tmp_path / "shop-v2.json", described(SHOP))
    await service.add(caller, "shop", [str(shop), str(tmp_path / "shop-v2.json")])
    before = await _endpoints(services.database, caller.tenant)

    with pytest.raises(NotFound, match="has no version 'v9'"):
        await service.remove(caller, "shop", "v9")
    await service.remove(caller, "shop", "v2")
    left = (await service.provider(caller, "shop")).versions
    await service.remove(caller, "shop", "v1")

    assert [one.label for one in left] == ["v1"]
    assert await service.list_providers(caller) == ()
    assert await _counts(services.database, caller.tenant) == [0, 0, 0, 0, 0]
    await service.add(caller, "shop", [str(shop), str(tmp_path / "shop-v2.json")])
    assert await _endpoints(services.database, caller.tenant) == before


async def test_a_failed_sync_keeps_the_last_content_and_says_so(
    service: ApiService, caller: Caller, shop: Path
) -> None:
    """Missing, broken, and valid again."""
    text = shop.read_text()
    await service.add(caller, "shop", [str(shop)])

    shop.unlink()
    with pytest.raises(NotFound):
        await service.sync(caller, "shop")
    gone = (await service.provider(caller, "shop")).versions[0]
    shop.write_text(text[:-10])
    with pytest.raises(InvalidInput):
        await service.sync(caller, "shop")
    broken = (await service.provider(caller, "shop")).versions[0]
    shop.write_text(text)
    well = (await service.sync(caller, "shop")).versions[0]

    assert [(one.state, one.operations) for one in (gone, broken)] == [("failed", 5)] * 2
    assert "does not exist" in gone.failure
    assert "JSON" in broken.failure
    assert (well.state != "failed", well.failure, well.operations) == (True, "", 5)


async def test_only_the_sources_that_fail_are_marked(
    service: ApiService, caller: Caller, shop: Path, tmp_path: Path
) -> None:
    """The others are synced, and the answer shows both."""
    other = write(tmp_path / "shop-v2.json", described(SHOP))
    await service.add(caller, "shop", [str(shop), str(other)])
    other.unlink()
    write(shop, described({"GET /carts": "List carts"}))

    synced = await service.sync(caller, "shop")

    assert [(one.label, one.operations, bool(one.failure)) for one in synced.versions] == [
        ("v1", 1, False),
        ("v2", 5, True),
    ]


async def test_an_unchanged_page_makes_no_job(service: ApiService, services: Services, caller: Caller) -> None:
    """Its server says that nothing has changed, so no job is made; if the server goes away, the version says why."""
    async with site() as web:
        address = web.serves("/v1/api.json", json.dumps(described(SHOP)).encode(), etag='"1"')
        added = await service.add(caller, "shop", [address])
        synced = await service.sync(caller, "shop")
        jobs = await services.jobs.list(caller, task=TASK)
    with pytest.raises(SourceUnavailable):
        await service.sync(caller, "shop")

    assert "304" not in added.versions[0].failure
    assert "if-none-match" in web.asked[1].lower()
    assert synced.versions[0].synced_at != added.versions[0].synced_at
    assert len(jobs) == 1
    assert "cannot be read" in (await service.provider(caller, "shop")).versions[0].failure


async def _endpoints(database: Database, tenant: Tenant) -> list[str]:
    async with database.transaction(tenant) as connection:
        rows = await connection.exec_driver_sql("select endpoint from api_operation order by 1")
        return list(rows.scalars())


async def _counts(database: Database, tenant: Tenant) -> list[int]:
    """Row counts of every table of the kind, and of operations in the index."""
    tables = ["api_provider", "api_version", "api_document", "api_operation", "item where kind = 'operation'"]
    async with database.transaction(tenant) as connection:
        return [(await connection.exec_driver_sql(f"select count(*) from {one}")).scalar_one() for one in tables]
