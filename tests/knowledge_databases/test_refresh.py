"""Schemas are read again when they change, by one at a time, and go on after a kill."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url, write
from thresher.core import Caller, DatabaseUnavailable, NotFound, Tenant, ThresherError
from thresher.knowledge.databases import DatabaseService, refresh
from thresher.services import Services
from thresher.store import Database


async def test_a_changed_schema_is_read_in_the_background(
    service: DatabaseService, caller: Caller, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the old one is used, and the answer says so; no request is needed."""
    monkeypatch.setattr(refresh, "LOOK_SECONDS", 0.0)
    await service.add_connection(caller, "shop", url(shop))
    await service.query_database_schema(caller, "shop")
    write(shop, "create table voucher (voucher_id integer primary key, customer_id integer)")

    first = await service.query_database_schema(caller, "shop")
    await service.settle()
    second = await service.query_database_schema(caller, "shop")

    assert "voucher" in second.shown
    assert "voucher" in first.shown or any("read again" in note for note in first.notes)
    assert [one.table.name for one in (await service.search_schema(caller, "voucher")).tables][:1] == ["voucher"]


async def test_a_table_keeps_its_place_in_the_index(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """A dropped table is no longer found, and a new one never gets its number."""
    await service.add_connection(caller, "shop", url(shop))
    await service.refresh_schema(caller, "shop")
    write(shop, "drop table product; create table article (article_id integer primary key)")

    await service.refresh_schema(caller, "shop")

    names = {one.table.name for one in (await service.search_schema(caller, "article product order", limit=50)).tables}
    assert names == {"article", "customer", "order", "order_line"}


async def test_many_who_ask_at_once_read_a_schema_once(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """All get the same answer."""
    await service.add_connection(caller, "shop", url(shop))

    answers = await asyncio.gather(*(service.query_database_schema(caller, "shop") for _ in range(20)))

    assert {answer.shown for answer in answers} == {("customer", "order", "order_line", "product")}


async def test_what_was_known_answers_while_a_database_is_away(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """The answer says since when, and the connection says why."""
    await service.add_connection(caller, "shop", url(shop))
    await service.refresh_schema(caller, "shop")
    shop.rename(shop.with_suffix(".away"))

    with pytest.raises(ThresherError):
        await service.refresh_schema(caller, "shop")
    answer = await service.query_database_schema(caller, "shop")

    assert len(answer.shown) == 4
    assert any("could not be read again" in note for note in answer.notes)
    assert (await service.connection(caller, "shop")).state == "stale"


async def test_a_test_that_works_has_the_schema_read(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """After a repair and a successful test, the problem is no longer reported."""
    away = shop.rename(shop.with_suffix(".away"))
    await service.add_connection(caller, "shop", url(shop))
    await service.settle()
    away.rename(shop)

    health = await service.test_connection(caller, "shop")
    await service.settle()
    found = await service.connection(caller, "shop")

    assert (health.ok, found.state, found.problem, found.tables) == (True, "ready", "", 4)


async def test_a_schema_that_was_never_read_is_an_error(service: DatabaseService, caller: Caller) -> None:
    """Not an empty answer."""
    await service.add_connection(caller, "far", "postgresql://reader:x@127.0.0.1:1/shop")

    with pytest.raises(DatabaseUnavailable):
        await service.query_database_schema(caller, "far")


async def test_a_killed_refresh_is_finished_by_the_next_use(
    services: Services, database: Database, tenant: Tenant, shop: Path
) -> None:
    """A process that dies after storing a schema leaves tables that are not indexed; another process indexes them."""
    caller = services.caller
    await services.databases.add_connection(caller, "shop", url(shop))
    await services.databases.query_database_schema(caller, "shop")
    await services.databases.close()  # what it does in the background ends here
    async with database.transaction(tenant) as link:
        await link.exec_driver_sql("update schema_snapshot set indexed = ''")
    await services.index.remove(
        tenant, "table", [one << 24 | place for one in await _ids(services) for place in range(9)]
    )

    other = another(services)
    await other.query_database_schema(caller, "shop")
    await other.settle()
    found = await other.search_schema(caller, "customers")
    await other.close()

    assert found.tables[0].table.name == "customer"


def another(services: Services) -> DatabaseService:
    """The service of another process on the same database."""
    made = services
    return DatabaseService(made.database, made.index, made.jobs, made.secrets, made.audit, made.settings)


async def _ids(services: Services) -> list[int]:
    return [one.id for one in await services.databases.list_connections(services.caller)]


async def test_replicas_number_tables_alike(services: Services, shop: Path) -> None:
    """Two processes that read a schema at the same moment put each table once."""
    caller = services.caller
    other = another(services)
    await services.databases.add_connection(caller, "shop", url(shop))
    both = (services.databases, other)
    await asyncio.gather(*(one.refresh_schema(caller, "shop") for one in both))
    found = [await one.search_schema(caller, "customer order product", limit=50) for one in both]
    await other.close()

    names = [sorted(one.table.name for one in result.tables) for result in found]
    assert names == [["customer", "order", "order_line", "product"]] * 2


async def test_a_connection_that_is_removed_while_it_is_read_leaves_nothing(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """Its background work ends quietly."""
    await service.add_connection(caller, "shop", url(shop))

    await service.remove_connection(caller, "shop")
    await service.settle()

    with pytest.raises(NotFound):
        await service.query_database_schema(caller, "shop")
    assert (await service.search_schema(caller, "customers")).tables == ()
