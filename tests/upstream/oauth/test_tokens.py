"""Using stored tokens: expiry, renewal, races, refusals."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace

import httpx2
import pytest

from tests.support.waiting import eventually
from tests.upstream.oauth.conftest import Add
from tests.upstream.oauth.guarded import Guarded, ask, signed_in, whoami
from thresher.core import UpstreamError
from thresher.knowledge.tools import CredentialStore
from thresher.store import Database, SecretBox
from thresher.upstream import OAuthClient, ServerConfig, SignInNeeded, auth_for, identity_for, sign_in_state
from thresher.upstream.oauth import tokens
from thresher.upstream.oauth.credential import RenewalClaim, read_credential


async def test_ten_calls_with_an_ended_token_renew_it_once(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Concurrent calls wait for the same renewal."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="0.2")

    who = await asyncio.gather(*(whoami(config, store) for _ in range(10)))

    assert who == ["ada"] * 10
    assert await guarded.seen("token refresh_token") == 1


async def test_ten_calls_that_are_refused_renew_the_token_once(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """The server has ended the token early."""
    await signed_in(config, store)
    await guarded.post("/expire")
    await guarded.becomes(delay="0.2")
    auth = auth_for(config, store)

    async with httpx2.AsyncClient(auth=auth) as client:
        who = await asyncio.gather(*(ask(config, client) for _ in range(10)))

    assert who == ["ada"] * 10
    assert await guarded.seen("token refresh_token") == 1
    assert await guarded.seen("reuses") == 0


async def test_processes_renew_one_after_the_other(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, database: Database, box: SecretBox
) -> None:
    """Replicas share nothing but the database; the one that is too late takes the winner's token."""
    replicas = [store, CredentialStore(database, box), CredentialStore(database, box)]
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="0.2")

    who = await asyncio.gather(*(whoami(config, replica) for replica in replicas for _ in range(3)))

    assert who == ["ada"] * 9
    assert await guarded.seen("token refresh_token") == 1
    assert await guarded.seen("reuses") == 0


async def test_a_rotated_refresh_token_is_stored_before_the_access_token_serves(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Three renewals in a row, each with the token that the one before has brought."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)

    stored = [(await store.load(config) or {})["tokens"]["refresh_token"]]
    for _ in range(3):
        await guarded.post("/expire")
        await guarded.becomes(seconds="1000")
        await whoami(config, store)
        stored.append((await store.load(config) or {})["tokens"]["refresh_token"])

    assert len(set(stored)) == 4
    assert await guarded.seen("reuses") == 0


async def test_a_refresh_token_that_stays_is_kept(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """An answer without a new one means that the old one goes on."""
    await guarded.becomes(rotate="no")
    await signed_in(config, store)
    await guarded.post("/expire")

    first = await whoami(config, store)
    await guarded.post("/expire")

    assert (first, await whoami(config, store)) == ("ada", "ada")


@pytest.mark.parametrize("trouble", ["drop", "500", "html", "slow_down"])
async def test_trouble_at_the_authorization_server_loses_nothing(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, trouble: str
) -> None:
    """The call fails with a reason; once the server is well, the next one succeeds."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    before = (await store.load(config) or {})["tokens"]
    await guarded.becomes(seconds="3600", token=trouble)

    with pytest.raises(UpstreamError, match="authorization server") as failed:
        await whoami(config, store)
    after = await store.load(config) or {}
    await guarded.becomes(token="well")

    assert not isinstance(failed.value, SignInNeeded)
    assert "kept" in failed.value.hint
    assert after["tokens"] == before
    assert "claim" not in after
    assert before["refresh_token"] not in str(failed.value)
    assert await whoami(config, store) == "ada"


async def test_a_token_is_renewed_ahead_without_anybody_waiting(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is still valid, a failed renewal does not affect calls."""
    await guarded.becomes(seconds="30")
    await signed_in(config, store)
    held = read_credential(config, await store.load(config))
    assert held is not None
    assert held.expires_at is not None
    # As it will be when less than a tenth of its life is left.
    await store.save(config, held.changed(expires_at=held.expires_at - 28).dump())
    await guarded.becomes(token="500")

    assert await whoami(config, store) == "ada"


async def test_a_sign_in_that_was_ended_is_marked_and_said(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """After `invalid_grant` only a person can help; the authorization server is not asked again."""
    await signed_in(config, store)
    await guarded.post("/revoke_all")

    for _ in range(3):
        with pytest.raises(SignInNeeded, match="invalid_grant") as needed:
            await whoami(config, store)
        assert needed.value.hint == "Run: thresher servers login guarded"

    assert await guarded.seen("token refresh_token") == 1
    assert sign_in_state(config, await store.load(config)) == "needed"
    await signed_in(config, store)
    assert await whoami(config, store) == "ada"


async def test_an_error_under_status_200_is_an_error(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """GitHub answers so."""
    await signed_in(config, store)
    await guarded.post("/expire")
    await guarded.becomes(token="github")

    with pytest.raises(SignInNeeded, match="bad_refresh_token"):
        await whoami(config, store)


async def test_a_server_that_refuses_every_token_is_not_asked_without_end(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Two tokens are tried for a call; the next calls try one."""
    await signed_in(config, store)
    await guarded.becomes(seconds="-3600")
    await guarded.post("/expire")
    auth = auth_for(config, store)

    async with httpx2.AsyncClient(auth=auth) as client:
        for _ in range(3):
            with pytest.raises(UpstreamError):
                await ask(config, client)

    assert await guarded.seen("token refresh_token") <= 3
    assert await guarded.seen("refusals") <= 6


async def test_without_a_refresh_token_the_end_of_the_token_is_the_end(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """The call fails at once, without a request."""
    await guarded.becomes(refresh="no", seconds="0")
    await signed_in(config, store)
    messages = await guarded.seen("messages")

    with pytest.raises(SignInNeeded, match="no means to renew"):
        await whoami(config, store)

    assert await guarded.seen("messages") == messages


async def test_a_token_without_a_stated_end_is_used_until_it_is_refused(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """`expires_in` is optional."""
    await guarded.becomes(seconds="-1")
    await signed_in(config, store)
    before = await whoami(config, store)
    await guarded.post("/expire")

    assert (before, await whoami(config, store)) == ("ada", "ada")
    assert await guarded.seen("token refresh_token") == 1


async def test_a_new_process_goes_on_with_the_stored_tokens(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, database: Database, box: SecretBox
) -> None:
    """Tokens, their end and the token endpoint are known without asking anybody."""
    await signed_in(config, store)
    discoveries = await guarded.seen("discoveries")
    restarted = CredentialStore(database, box)

    who = await whoami(config, restarted)
    held = read_credential(config, await restarted.load(config))
    assert held is not None
    await restarted.save(config, held.changed(expires_at=1.0).dump())
    again = await whoami(config, CredentialStore(database, box))

    assert (who, again) == ("ada", "ada")
    assert await guarded.seen("token refresh_token") == 1
    assert await guarded.seen("discoveries") == discoveries
    assert await guarded.seen("refusals") == 0 + 1  # the question that began the sign-in


async def test_what_a_process_claimed_before_it_died_is_taken_over(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """A claim expires, so that other processes do not wait for a dead one."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    held = read_credential(config, await store.load(config))
    assert held is not None
    await store.save(config, held.changed(claim=RenewalClaim(at=1.0)).dump())
    await guarded.becomes(seconds="3600")

    assert await whoami(config, store) == "ada"


async def test_a_caller_who_gives_up_does_not_stop_the_renewal(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """The refresh token is used up once the request is out; what comes back is stored for the next call."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="0.3")
    auth = auth_for(config, store)
    async with httpx2.AsyncClient(auth=auth) as client:
        call = asyncio.create_task(ask(config, client))
        while not await guarded.seen("token refresh_token"):
            await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.wait({call})

        assert await ask(config, client) == "ada"

    assert await guarded.seen("token refresh_token") == 1
    assert await guarded.seen("reuses") == 0


async def test_a_new_sign_in_is_not_overwritten_by_a_renewal_under_way(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """If a person signs in as another user while a token is renewed, the new sign-in is kept."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="0.5")
    call = asyncio.create_task(whoami(config, store))
    while not await guarded.seen("token refresh_token"):
        await asyncio.sleep(0.01)
    await guarded.becomes(user="eve", delay="0")
    await signed_in(config, store)

    await asyncio.wait({call})

    assert await whoami(config, store) == "eve"


async def test_two_users_of_a_tenant_never_share(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Each call uses its caller's identity; a caller who has not signed in has none."""
    ada, eve = replace(config, identity="ada"), replace(config, identity="eve")
    await signed_in(ada, store)
    await guarded.becomes(user="eve")

    with pytest.raises(SignInNeeded) as needed:
        await whoami(eve, store)
    await signed_in(eve, store)
    who = await asyncio.gather(*(whoami(user, store) for user in (ada, eve) * 5))

    assert needed.value.hint == "Run: thresher servers login guarded --user eve"
    assert who == ["ada", "eve"] * 5
    with pytest.raises(SignInNeeded):
        await whoami(config, store)


async def test_a_server_that_moved_does_not_get_the_old_address_s_token(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """After a change of the server's address, a new sign-in is needed."""
    await signed_in(config, store)
    other = Guarded.start()
    try:
        moved = replace(config, url=other.url)
        with pytest.raises(SignInNeeded):
            await whoami(moved, store)
    finally:
        other.stop()

    assert await whoami(config, store) == "ada"


async def test_a_token_stays_at_its_server(guarded: Guarded, config: ServerConfig, store: CredentialStore) -> None:
    """A request of the same connection to another origin goes without."""
    await signed_in(config, store)
    other = Guarded.start("open=yes")
    try:
        async with httpx2.AsyncClient(auth=auth_for(config, store)) as client:
            who = await ask(replace(config, url=other.url), client)
    finally:
        other.stop()

    assert who == "nobody"


async def test_client_credentials_need_no_person(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """The first call fetches a token, later ones use it, and its end brings the next."""
    client = OAuthClient("known", "known-client-secret", scopes=("read",), grant="client_credentials")
    config = await add(guarded, oauth=client)

    first = await asyncio.gather(*(whoami(config, store) for _ in range(5)))
    await guarded.post("/expire")
    second = await whoami(config, store)

    assert {*first, second} == {"machine known"}
    assert await guarded.seen("token client_credentials") == 2
    assert await guarded.seen("registrations") == 0


async def test_client_credentials_are_proved_as_the_server_wants(
    guarded: Guarded, add: Add, store: CredentialStore
) -> None:
    """Some take the secret in the form only."""
    await guarded.becomes(methods="client_secret_post")
    client = OAuthClient("known", "known-client-secret", grant="client_credentials")
    config = await add(guarded, oauth=client)

    assert await whoami(config, store) == "machine known"


async def test_wrong_client_credentials_say_so(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """The call fails at once and names the trouble, not the secret."""
    client = OAuthClient("known", "not-the-right-secret", grant="client_credentials")
    config = await add(guarded, oauth=client)

    with pytest.raises(SignInNeeded, match="invalid_client") as refused:
        await whoami(config, store)

    assert "not-the-right-secret" not in str(refused.value)


async def test_further_permissions_are_asked_of_the_person(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """The error of a call that needs a wider scope names it, and a sign-in with it is enough."""
    await signed_in(config, store)
    await guarded.becomes(scope="write")

    with pytest.raises(SignInNeeded, match="further permissions") as needed:
        await whoami(config, store)
    await signed_in(config, store, scopes=("read", "write"))

    assert needed.value.hint == "Run: thresher servers login guarded --scope write"
    assert await whoami(config, store) == "ada"


async def test_a_server_that_takes_the_token_after_all_needs_no_sign_in(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """A refusal that has passed leaves no mark behind."""
    await guarded.becomes(refresh="no")
    await signed_in(config, store)
    stored = await store.load(config)
    await guarded.becomes(open="no")
    await store.save(config, {**(stored or {}), "problem": "it asked for one"})

    before = sign_in_state(config, await store.load(config))
    await whoami(config, store)

    assert (before, sign_in_state(config, await store.load(config))) == ("needed", "done")


@pytest.mark.parametrize(
    ("config", "identity"),
    [
        (ServerConfig("s", "stdio", command="true"), "owner"),
        (ServerConfig("s", "http", url="https://a.example/mcp", headers={"Authorization": "x"}), "owner"),
        (ServerConfig("s", "http", url="https://a.example/mcp"), "caller"),
        (ServerConfig("s", "sse", url="https://a.example/sse"), "caller"),
        (ServerConfig("s", "http", url="https://a.example/mcp", oauth=OAuthClient(shared=True)), "owner"),
        (
            ServerConfig(
                "s", "http", url="https://a.example/mcp", oauth=OAuthClient("a", "b", grant="client_credentials")
            ),
            "owner",
        ),
    ],
)
def test_whose_credentials_a_caller_uses(config: ServerConfig, identity: str) -> None:
    """With sign-ins of persons, each caller uses their own; the owner's configuration uses the owner's."""
    assert identity_for(config, owner="owner", user="caller") == identity


async def test_no_secret_shows_anywhere(
    guarded: Guarded,
    config: ServerConfig,
    store: CredentialStore,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Logs of every library, errors and representations, through a whole life with troubles."""
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    for trouble in ("drop", "500", "html", "slow_down", "well", "invalid_grant"):
        await guarded.becomes(token=trouble)
        try:
            await whoami(config, store)
        except UpstreamError as error:
            said += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
    value = await store.load(config)
    held = read_credential(config, value)
    auth = auth_for(config, store)
    said += [repr(held), str(held), repr(auth), repr(store), repr(vars(auth)), repr(config)]
    said += [record.getMessage() + json.dumps(vars(record), default=repr) for record in caplog.records]
    said += [*capfd.readouterr()]
    async with database.transaction(_tenant(config)) as connection:
        rows = await connection.exec_driver_sql("select encode(sealed, 'escape') from credential")
        said += [row[0] for row in rows]

    issued = (await guarded.story())["issued"]

    assert len(issued) >= 5
    everything = "\n".join(said)
    assert [secret for secret in issued if secret in everything] == []


def _tenant(config: ServerConfig):
    from thresher.core import Tenant

    return Tenant(config.tenant, "")


async def test_what_another_process_has_stored_is_seen_in_time(
    guarded: Guarded,
    config: ServerConfig,
    store: CredentialStore,
    database: Database,
    box: SecretBox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sign-in as another user in another process is used soon, and no call waits for it."""
    monkeypatch.setattr(tokens, "FRESH_SECONDS", 0.05)
    await signed_in(config, store)
    held = await store.load(config) or {}
    async with httpx2.AsyncClient(auth=auth_for(config, store)) as client:
        before = await ask(config, client)
        await guarded.becomes(user="eve")
        await signed_in(config, store)
        other = await store.load(config) or {}
        await store.save(config, held)
        assert await ask(config, client) == "ada"
        await CredentialStore(database, box).save(config, other)

        async def as_eve() -> bool:
            return await ask(config, client) == "eve"

        await eventually(as_eve)

    assert before == "ada"
