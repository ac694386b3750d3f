"""Who sees which connection, who may add one, and that no password is shown."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.knowledge_databases.conftest import SHOP, url, write, write_as
from tests.support.isolation import without_tenant_conditions
from tests.support.product import opened
from thresher.connectors import read_address
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.databases.sessions import may_connect
from thresher.services import Services
from thresher.store import Database, SecretBox

PASSWORD = "s3cret/of:the@shop"
SEALED = "postgresql://reader:s3cret%2Fof%3Athe%40shop@127.0.0.1:1/shop"


async def test_a_user_s_connection_is_hers(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Others of the tenant see neither it nor its tables; the tenant's they see all."""
    ana, ben = replace(caller, user="ana"), replace(caller, user="ben")
    await service.add_connection(caller, "common", url(shop))
    await service.add_connection(ana, "mine", url(shop))
    await service.refresh_schema(ana, "mine")

    hers = [one.name for one in await service.list_connections(ana)]
    his = [one.name for one in await service.list_connections(ben)]

    assert hers == ["common", "mine"]
    assert his == ["common"]
    assert all(one.connection != "mine" for one in (await service.search_schema(ben, "customers")).tables)
    with pytest.raises(NotFound):
        await service.query(ben, "mine", "select 1")
    with pytest.raises(NotAllowed):
        await service.remove_connection(ben, "common")


async def test_a_user_s_connection_hides_the_tenant_s_of_its_name(
    service: DatabaseService, caller: Caller, shop: Path, tmp_path: Path
) -> None:
    """Each user gets their own."""
    other = tmp_path / "other.db"
    write(other, "create table only_here (id integer)")
    ana = replace(caller, user="ana")
    await service.add_connection(caller, "shop", url(shop))
    await service.add_connection(ana, "shop", url(other))

    hers = await service.query_database_schema(ana, "shop")
    common = await service.query_database_schema(caller, "shop")

    assert hers.shown == ("only_here",)
    assert "customer" in common.shown


async def test_tenants_are_apart_even_without_their_conditions(
    services: Services, other_tenant: Tenant, shop: Path
) -> None:
    """Row-level security holds every statement of the package."""
    service, caller, stranger = services.databases, services.caller, Caller(other_tenant)
    await service.add_connection(caller, "shop", url(shop))
    await service.refresh_schema(caller, "shop")

    async with without_tenant_conditions(services.database) as rewritten:
        seen = await service.list_connections(stranger)
        answer = await service.query_database_schema(caller, "shop")
        with pytest.raises(NotFound):
            await service.query_database_schema(stranger, "shop")

    assert rewritten.statements
    assert seen == ()
    assert len(answer.shown) == 4


async def test_a_key_opens_only_files_that_the_owner_named(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, shop: Path, tmp_path: Path
) -> None:
    """Not by a link out of the folder either."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    write(allowed / "good.db", SHOP)
    (allowed / "link.db").symlink_to(shop)
    limited = settings.model_copy(update={"database_files": (allowed,)})
    keyed = Caller(tenant, "ana", keyed=True)

    async with opened(database, tenant, limited, encoder) as services:
        await services.databases.add_connection(keyed, "good", url(allowed / "good.db"))
        for file in (shop, allowed / "link.db", allowed / ".." / shop.name):
            with pytest.raises(NotAllowed):
                await services.databases.add_connection(keyed, "bad", url(file))
        rows = await services.databases.query(keyed, "good", "select count(*) from customer")

    assert rows.rows == ((3,),)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_file_that_a_link_replaced_is_judged_again(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path, dialect: str
) -> None:
    """A link out of the named folders is not followed, neither by open sessions nor after a restart."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    file, outside = allowed / "good.db", tmp_path / "outside.db"
    for one in (file, outside):
        write_as(dialect, one, "create table t as select 1 as a")
    limited = settings.model_copy(update={"database_files": (allowed,)})
    keyed, box = Caller(tenant, "ana", keyed=True), SecretBox(Fernet.generate_key())

    async with opened(database, tenant, limited, encoder, secrets=box) as services:
        await services.databases.add_connection(keyed, "good", f"{dialect}:///{file}")
        rows = await services.databases.query(keyed, "good", "select a from t")
        file.unlink()
        file.symlink_to(outside)
        with pytest.raises(NotAllowed):
            await services.databases.query(keyed, "good", "select a from t")
    async with opened(database, tenant, limited, encoder, secrets=box) as services:
        with pytest.raises(NotAllowed):
            await services.databases.query(keyed, "good", "select a from t")

    assert rows.rows == ((1,),)


async def test_taking_a_folder_back_reaches_the_connections_of_keys(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, shop: Path
) -> None:
    """Those that keys have made open no more; those of the machine's user stay, for keys too."""
    named = settings.model_copy(update={"database_files": (shop.parent,)})
    keyed, box = Caller(tenant, "ana", keyed=True), SecretBox(Fernet.generate_key())
    async with opened(database, tenant, named, encoder, secrets=box) as services:
        await services.databases.add_connection(keyed, "mine", url(shop))
        await services.databases.add_connection(Caller(tenant), "common", url(shop))

    async with opened(database, tenant, settings, encoder, secrets=box) as services:
        rows = await services.databases.query(keyed, "common", "select count(*) from customer")
        with pytest.raises(NotAllowed) as refused:
            await services.databases.query(keyed, "mine", "select count(*) from customer")

    assert rows.rows == ((3,),)
    assert "THRESHER_DATABASE_FILES" in str(refused.value.hint)


async def test_a_key_reaches_only_hosts_that_the_owner_named(tenant: Tenant, settings: Settings) -> None:
    """By name and port; no option may name a file of the server."""
    limited = settings.model_copy(update={"database_hosts": ("db.example.test:5432",)})
    keyed = Caller(tenant, "ana", keyed=True)
    allowed = ("postgresql://u:p@db.example.test:5432/shop", "postgresql://u:p@DB.example.test/shop")
    refused = (
        "postgresql://u:p@db.example.test:5433/shop",
        "postgresql://u:p@127.0.0.1/shop",
        "postgresql://u:p@db.example.test:5432/shop?sslrootcert=/etc/passwd",
        "postgresql://u:p@/shop?host=/var/run/postgresql",
    )

    for address in allowed:
        may_connect(keyed, read_address(address), limited)
    for address in refused:
        with pytest.raises(NotAllowed):
            may_connect(keyed, read_address(address), limited)


async def test_no_password_is_told(services: Services, caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in a record, nor in an error, nor in the log, nor readable in the database."""
    service = services.databases
    caplog.set_level(logging.DEBUG)

    made = await service.add_connection(caller, "shop", SEALED)
    health = await service.test_connection(caller, "shop")
    with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever it is, it must not tell
        await service.refresh_schema(caller, "shop")
    with pytest.raises(Exception) as refused:  # noqa: PT011 - as above
        await service.query(caller, "shop", "select 1")
    after = await service.connection(caller, "shop")
    async with services.database.transaction(caller.tenant) as link:
        rows = (await link.exec_driver_sql("select c::text, sealed from connection c")).all()

    told = f"{made} {health} {failed.value!r} {refused.value!r} {after} {caplog.text}"
    told += "".join(f"{text} {bytes(sealed)!r}" for text, sealed in map(tuple, rows))
    assert "s3cret" not in told
    assert not health.ok
    assert after.state == "failed"
    assert after.problem
    assert (await service.connector_url(caller, "shop")) == SEALED


async def test_a_name_must_be_one(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Names that tools take as an argument are short and plain."""
    for name in ("", " ", "a b", "-x", "x" * 64, "a/b", "a\nb", "ä b"):
        with pytest.raises(InvalidInput):
            await service.add_connection(caller, name, url(shop))


async def test_a_name_is_taken_once(service: DatabaseService, caller: Caller, shop: Path, tmp_path: Path) -> None:
    """Unless it is said that it shall be replaced; then sessions and schema are the new address's."""
    other = tmp_path / "other.db"
    write(other, "create table only_here (id integer)")
    await service.add_connection(caller, "shop", url(shop))
    await service.query_database_schema(caller, "shop")

    with pytest.raises(Conflict):
        await service.add_connection(caller, "shop", url(other))
    await service.add_connection(caller, "shop", url(other), replace=True)

    assert (await service.query_database_schema(caller, "shop")).shown == ("only_here",)
    assert (await service.query(caller, "shop", "select count(*) from only_here")).rows == ((0,),)


async def test_an_unknown_connection_offers_near_names(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """The error for a mistyped name suggests similar ones."""
    await service.add_connection(caller, "shop-berlin", url(shop))

    with pytest.raises(NotFound, match="shop-berlin"):
        await service.connection(caller, "shop-berln")
