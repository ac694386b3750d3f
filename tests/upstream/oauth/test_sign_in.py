"""Signing in and out at a guarded server."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.upstream.oauth.conftest import Add
from tests.upstream.oauth.guarded import Guarded, browse, redirected, signed_in, state_of, whoami
from thresher.core import InvalidInput, NotFound, UpstreamRefused, UpstreamTimeout
from thresher.knowledge.tools import CredentialStore
from thresher.upstream import OAuthClient, ServerConfig, SignInNeeded, open_sign_in, sign_in_state, sign_out


async def test_a_person_signs_in_and_calls_are_made_for_him(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Discovery, registration, PKCE and exchange, and then a call with the token."""
    done = await signed_in(config, store)

    assert done.issuer == f"http://127.0.0.1:{guarded.port}/"
    assert done.scope.split() == ["read"]
    assert done.renewable
    assert await whoami(config, store) == "ada"
    assert sign_in_state(config, await store.load(config)) == "done"


async def test_a_call_without_a_sign_in_says_what_to_run(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """A call never waits for a browser."""
    with pytest.raises(SignInNeeded, match="nobody has signed in") as refused:
        await whoami(config, store)

    assert refused.value.hint == "Run: thresher servers login guarded"
    assert sign_in_state(config, await store.load(config)) == "needed"
    assert await guarded.seen("authorizations") == 0


async def test_an_answer_with_a_wrong_state_is_not_taken(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """A page elsewhere cannot slip its own code in, nor end the sign-in that is under way."""
    shown: asyncio.Queue[str] = asyncio.Queue()
    async with open_sign_in(config, store) as sign_in:
        running = asyncio.create_task(sign_in.run(shown.put_nowait))
        address = await shown.get()
        back = await redirected(address)
        forged = await browse(back.replace(state_of(address), "forged"))
        nowhere = await browse(back.partition("?")[0].replace("/callback", "/"))
        without = await browse(back.partition("?")[0])
        honest = await browse(back)
        done = await running

    assert (forged.status_code, nowhere.status_code, without.status_code) == (400, 404, 400)
    assert "does not belong" in forged.text
    assert honest.status_code == 200
    assert done.renewable


async def test_the_address_can_be_handed_over_where_the_browser_is_elsewhere(
    config: ServerConfig, store: CredentialStore
) -> None:
    """A browser on another machine ends at an address that it cannot reach; a person brings it."""
    shown: asyncio.Queue[str] = asyncio.Queue()
    async with open_sign_in(config, store) as sign_in:
        running = asyncio.create_task(sign_in.run(shown.put_nowait))
        back = await redirected(await shown.get())
        with pytest.raises(InvalidInput, match="does not belong"):
            sign_in.take("http://127.0.0.1/callback?code=x&state=y")
        sign_in.take(f"  {back}\n")
        await running

    assert await whoami(config, store) == "ada"


async def test_a_sign_in_that_is_given_up_leaves_the_former_one(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Nothing is stored before it has succeeded, and nothing keeps listening."""
    await signed_in(config, store)
    shown: asyncio.Queue[str] = asyncio.Queue()
    async with open_sign_in(config, store) as sign_in:
        running = asyncio.create_task(sign_in.run(shown.put_nowait))
        back = await redirected(await shown.get())
        running.cancel()
        await asyncio.wait({running})

    port = int(back.split(":")[2].partition("/")[0])
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    assert await whoami(config, store) == "ada"


async def test_a_sign_in_does_not_wait_for_ever(config: ServerConfig, store: CredentialStore) -> None:
    """The person has gone."""
    async with open_sign_in(config, store) as sign_in:
        with pytest.raises(UpstreamTimeout, match="Nobody has signed in"):
            await sign_in.run(lambda _: None, seconds=0.3)


async def test_a_person_may_refuse(guarded: Guarded, config: ServerConfig, store: CredentialStore) -> None:
    """The authorization server's words reach the terminal."""
    await guarded.becomes(deny="yes")

    with pytest.raises(UpstreamRefused, match="access_denied: The person said no"):
        await signed_in(config, store)


async def test_signing_out_forgets_and_revokes(guarded: Guarded, config: ServerConfig, store: CredentialStore) -> None:
    """The next call needs a sign-in again."""
    await signed_in(config, store)

    revoked = await sign_out(config, store)

    assert revoked
    assert await guarded.seen("revocations") == 1
    assert await store.load(config) is None
    with pytest.raises(NotFound, match="Nobody is signed in at server 'guarded'"):
        await sign_out(config, store)
    with pytest.raises(SignInNeeded):
        await whoami(config, store)


async def test_signing_out_works_while_the_authorization_server_is_away(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """The stored credential is deleted, whatever the server answers."""
    await signed_in(config, store)
    guarded.stop()

    assert await sign_out(config, store) is False
    assert await store.load(config) is None


async def test_a_registered_client_signs_in(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """The owner has registered a client with a secret and names it; we register none."""
    client = OAuthClient("known", "known-client-secret", scopes=("read", "write"))
    config = await add(guarded, oauth=client)

    done = await signed_in(config, store)

    assert done.scope == "read write"
    assert await guarded.seen("registrations") == 0
    assert await whoami(config, store) == "ada"


async def test_a_wrong_secret_is_told_without_showing_it(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """The authorization server's reason is shown."""
    config = await add(guarded, oauth=OAuthClient("known", "wrong-client-secret"))

    with pytest.raises(UpstreamRefused, match="invalid_client") as refused:
        await signed_in(config, store)

    assert "wrong-client-secret" not in str(refused.value) + repr(refused.value)


async def test_a_secret_is_not_shown_to_another_server(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """The owner has said whose it is; an MCP server that names another gets nothing."""
    client = OAuthClient("known", "known-client-secret", issuer="https://auth.example.com/")
    config = await add(guarded, oauth=client)

    with pytest.raises(UpstreamRefused, match="another authorization server"):
        await signed_in(config, store)

    assert await guarded.seen("token authorization_code") == 0


async def test_tokens_are_not_fetched_in_clear_from_elsewhere(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """Metadata that lead to a foreign address without https are not followed."""
    await guarded.becomes(metadata="foreign")

    with pytest.raises(UpstreamRefused, match="not safe"):
        await signed_in(config, store)


async def test_a_server_without_a_sign_in_says_so(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """There is nothing to sign in at."""
    await guarded.becomes(metadata="none", open="yes")

    with pytest.raises(UpstreamRefused, match="offers no sign-in"):
        await signed_in(config, store)


async def test_only_servers_that_take_tokens_are_signed_in_at(store: CredentialStore, config: ServerConfig) -> None:
    """A child process, or a header of the owner's, leaves nothing to sign in at."""
    header = ServerConfig("h", "http", url=config.url, headers={"authorization": "Bearer mine"})
    for other in (header, ServerConfig("s", "stdio", command="true")):
        with pytest.raises(InvalidInput):
            async with open_sign_in(other, store):
                pass


async def test_each_way_to_prove_a_registered_secret_is_used(
    guarded: Guarded, config: ServerConfig, store: CredentialStore
) -> None:
    """A registration with a secret defines how it is sent."""
    for method in ("client_secret_post", "client_secret_basic"):
        await guarded.becomes(methods=method)
        await signed_in(config, store)
        await guarded.post("/expire")

        assert await whoami(config, store) == "ada"


async def test_a_published_client_document_takes_the_place_of_a_registration(
    guarded: Guarded, add: Add, store: CredentialStore
) -> None:
    """Where the authorization server takes them; elsewhere we register as usual."""
    document = "https://thresher.example.com/client.json"
    config = await add(guarded, oauth=OAuthClient(document))
    await guarded.becomes(documents="yes")
    await signed_in(config, store)
    first = (await store.load(config) or {})["client"]["client_id"], await guarded.seen("registrations")
    await guarded.becomes(documents="no")
    await signed_in(config, store)
    await guarded.post("/expire")

    assert first == (document, 0)
    assert await guarded.seen("registrations") == 1
    assert await whoami(config, store) == "ada"


async def test_the_registered_port_is_listened_on(guarded: Guarded, add: Add, store: CredentialStore) -> None:
    """A redirect address that was registered by hand has one port; if that is taken, the command says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = await add(guarded, oauth=OAuthClient("known", "known-client-secret", callback_port=port))
        with pytest.raises(InvalidInput, match=f"Port {port}"):
            await signed_in(config, store)

    shown: asyncio.Queue[str] = asyncio.Queue()
    async with open_sign_in(config, store) as sign_in:
        running = asyncio.create_task(sign_in.run(shown.put_nowait))
        back = await redirected(await shown.get())
        await browse(back)
        await running

    assert back.startswith(f"http://127.0.0.1:{port}/callback?")


async def test_signing_in_a_client_of_its_own_rights_asks_no_person(
    guarded: Guarded, add: Add, store: CredentialStore
) -> None:
    """The command checks the secret, and shows no address."""
    client = OAuthClient("known", "known-client-secret", grant="client_credentials", issuer=f"{guarded.url[:-4]}/")
    config = await add(guarded, oauth=client)

    done = await signed_in(config, store)

    assert not done.renewable
    assert await guarded.seen("authorizations") == 0
    assert await whoami(config, store) == "machine known"
