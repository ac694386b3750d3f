"""Keys of callers: made once, recognised by their hash, refused once revoked."""

from __future__ import annotations

import asyncio
import gc
import re
import secrets
from collections.abc import AsyncIterator

import pytest

from tests.support import Databases
from thresher.core import Caller, Conflict, InvalidInput, NotFound, StoreUnavailable, Tenant, ThresherError
from thresher.store import Database, Keys
from thresher.store.keys import FRESH_SECONDS, LOOKUPS, WAITING


@pytest.fixture
async def keys(database: Database) -> AsyncIterator[Keys]:
    """The keys of this process."""
    keys = Keys(database)
    yield keys
    await keys.settle()


async def _stored(database: Database, tenant: Tenant) -> str:
    async with database.transaction(tenant) as connection:
        rows = await connection.exec_driver_sql("select access_key::text from access_key")
        return " ".join(str(row[0]) for row in rows)


async def test_a_key_speaks_for_its_tenant_and_user(keys: Keys, tenant: Tenant, other_tenant: Tenant) -> None:
    """Its holder is that caller, and no other key is."""
    whole, _ = await keys.add(tenant, "team")
    of_ann, _ = await keys.add(other_tenant, "team", "ann")

    assert await keys.holder(whole) == Caller(tenant, keyed=True)
    assert await keys.holder(of_ann) == Caller(other_tenant, "ann", keyed=True)


async def test_only_a_hash_is_kept(keys: Keys, database: Database, tenant: Tenant) -> None:
    """The key's 256 bits are in its text alone; what is stored shows four characters of them."""
    text, info = await keys.add(tenant, "laptop", "ann")

    stored = await _stored(database, tenant)

    assert re.fullmatch(r"thr_[\w-]{43}", text)
    assert text[8:] not in stored
    assert info.hint == f"{text[:8]}…"
    assert (info.name, info.user, info.used_at, info.revoked_at) == ("laptop", "ann", None, None)


@pytest.mark.parametrize(
    "text",
    ["", "thr_", "thr_" + "a" * 43, "thr_" + "a" * 44, "Bearer x", "thr_" + "é" * 43, "\0", "x" * 100_000],
)
async def test_an_invalid_key_has_no_holder(keys: Keys, text: str) -> None:
    """Malformed, unknown, huge."""
    assert await keys.holder(text) is None


async def test_a_revoked_key_is_refused_at_once(keys: Keys, tenant: Tenant) -> None:
    """Although it was recognised a moment ago."""
    text, _ = await keys.add(tenant, "laptop")
    assert await keys.holder(text) is not None

    info = await keys.revoke(tenant, "laptop")

    assert await keys.holder(text) is None
    assert info.revoked_at is not None
    assert (await keys.revoke(tenant, "laptop")).revoked_at == info.revoked_at


async def test_another_process_refuses_a_revoked_key_soon(keys: Keys, database: Database, tenant: Tenant) -> None:
    """It trusts what the database said for two seconds; what is open with the key ends by then too."""
    elsewhere = Keys(database)
    text, _ = await keys.add(tenant, "laptop")
    ended = asyncio.Event()
    patrol = asyncio.create_task(elsewhere.patrol())
    with elsewhere.watched(text, ended.set):
        assert await elsewhere.holder(text) is not None
        await keys.revoke(tenant, "laptop")
        async with asyncio.timeout(5):
            await ended.wait()
    patrol.cancel()

    await elsewhere.settle()
    assert await elsewhere.holder(text) is None


async def test_what_is_open_with_a_key_ends_when_it_is_revoked(keys: Keys, tenant: Tenant) -> None:
    """Each of it once, and nothing that was done before, or that another key opened."""
    text, _ = await keys.add(tenant, "laptop")
    other, _ = await keys.add(tenant, "phone")
    ended: list[str] = []
    with keys.watched(text, lambda: ended.append("over")):
        pass
    with (
        keys.watched(text, lambda: ended.append("first")),
        keys.watched(text, lambda: ended.append("second")),
        keys.watched(other, lambda: ended.append("other")),
    ):
        await keys.revoke(tenant, "laptop")

    assert sorted(ended) == ["first", "second"]


async def test_a_lookup_that_a_revocation_overtakes_is_made_again(keys: Keys, tenant: Tenant) -> None:
    """However the two interleave, the key is refused afterwards."""
    for _ in range(20):
        name = secrets.token_hex(4)
        text, _ = await keys.add(tenant, name)
        await asyncio.gather(keys.holder(text), keys.revoke(tenant, name), keys.holder(text))

        assert await keys.holder(text) is None


async def test_a_name_is_taken_until_its_key_is_revoked(keys: Keys, tenant: Tenant) -> None:
    """The new key takes the old one's row; the old text stays dead."""
    old, _ = await keys.add(tenant, "laptop", "ann")
    with pytest.raises(Conflict, match="'laptop'"):
        await keys.add(tenant, "laptop")
    await keys.revoke(tenant, "laptop")

    new, info = await keys.add(tenant, "laptop", "bob")

    assert await keys.holder(old) is None
    assert await keys.holder(new) == Caller(tenant, "bob", keyed=True)
    assert [(key.user, key.revoked_at) for key in await keys.list(tenant)] == [("bob", None)]
    assert info.revoked_at is None


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "\0", "x" * 101, "\ud800"])
async def test_a_name_that_nobody_could_type_is_refused(keys: Keys, tenant: Tenant, name: str) -> None:
    """Of a key, and of a user."""
    with pytest.raises(InvalidInput):
        await keys.add(tenant, name)
    with pytest.raises(InvalidInput):
        await keys.add(tenant, "laptop", name)


async def test_tenants_see_and_revoke_their_own_keys_alone(keys: Keys, tenant: Tenant, other_tenant: Tenant) -> None:
    """A key of the same name in another tenant is untouched."""
    await keys.add(tenant, "laptop")
    text, _ = await keys.add(other_tenant, "laptop")
    await keys.add(other_tenant, "phone")
    await keys.revoke(tenant, "laptop")

    assert [key.name for key in await keys.list(tenant)] == ["laptop"]
    assert await keys.holder(text) == Caller(other_tenant, keyed=True)
    with pytest.raises(NotFound, match="'phone'"):
        await keys.revoke(tenant, "phone")


async def test_a_use_is_written_without_a_failure_behind_the_answer(
    keys: Keys, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    """A task that fails unheard would cost a connection of the pool with each write."""
    text, _ = await keys.add(tenant, "laptop")
    await keys.holder(text)
    await keys.settle()
    gc.collect()

    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_the_last_use_is_noted_without_a_write_for_each(keys: Keys, database: Database, tenant: Tenant) -> None:
    """A thousand uses are one write."""
    text, info = await keys.add(tenant, "laptop")
    await keys.holder(text)
    (first,) = await keys.list(tenant)
    written = await _version(database, tenant)
    for _ in range(1000):
        await keys.holder(text)
    (later,) = await keys.list(tenant)

    assert first.used_at is not None
    assert first.used_at >= info.created_at
    assert later == first
    assert await _version(database, tenant) == written


async def _version(database: Database, tenant: Tenant) -> object:
    async with database.transaction(tenant) as connection:
        return (await connection.exec_driver_sql("select xmin::text from access_key")).scalar_one()


async def test_keys_exist_from_the_first_one_on(databases: Databases) -> None:
    """Revoking the last one opens no door."""
    name = await databases.create()
    database = await databases.open(name)
    keys, tenant = Keys(database), await database.tenant("local")
    before = await keys.exist()
    await keys.add(tenant, "laptop")
    after = await keys.exist()
    await keys.revoke(tenant, "laptop")
    elsewhere = await Keys(database).exist()
    await database.close()
    await databases.drop(name)

    assert (before, after, elsewhere) == (False, True, True)


async def test_a_flood_of_unknown_keys_leaves_connections_to_others(keys: Keys, database: Database) -> None:
    """Few lookups run at once, a bounded number waits, the rest is refused; afterwards everything is as before."""
    guesses = [f"thr_{secrets.token_urlsafe(32)}" for _ in range(500)]

    answers = await asyncio.gather(*(keys.holder(guess) for guess in guesses), return_exceptions=True)

    refused = [answer for answer in answers if isinstance(answer, StoreUnavailable)]
    assert len(refused) == len(guesses) - WAITING
    assert all(answer is None for answer in answers if answer not in refused)
    assert LOOKUPS < 5
    assert await keys.holder(guesses[0]) is None


async def test_one_key_shown_many_times_at_once_is_looked_up_once(keys: Keys, tenant: Tenant) -> None:
    """A burst of a holder's own requests is refused no more than one of them would be."""
    text, _ = await keys.add(tenant, "laptop")

    found = await asyncio.gather(*(keys.holder(text) for _ in range(4 * WAITING)))

    assert set(found) == {Caller(tenant, keyed=True)}


async def test_a_database_that_is_away_ends_nothing(databases: Databases) -> None:
    """A key that cannot be looked up is neither good nor revoked: the caller is told to try again."""
    name = await databases.create()
    database = await databases.open(name)
    keys = Keys(database)
    text, _ = await keys.add(await database.tenant("a"), "laptop")
    ended: list[bool] = []
    await databases.drop(name)
    with keys.watched(text, lambda: ended.append(True)):
        with pytest.raises(ThresherError):
            await keys.holder(text)
        patrol = asyncio.create_task(keys.patrol())
        await asyncio.wait({patrol}, timeout=FRESH_SECONDS)
        survived = not patrol.done()
        patrol.cancel()
    await database.close()

    assert survived
    assert ended == []
