"""The sign-in with which a server is reached."""

from __future__ import annotations

from dataclasses import replace

from thresher.core import Caller
from thresher.knowledge.tools import CredentialStore, ToolService
from thresher.services import Services
from thresher.upstream import OAuthClient, ServerConfig

WEB = ServerConfig("web", "http", url="https://web.example.com/mcp")


async def test_callers_reach_a_shared_server_as_themselves(tools: ToolService, caller: Caller) -> None:
    """The tenant's server, with one sign-in for each user and one for the tenant."""
    await tools.add_server(caller, WEB)

    identities = [
        (await tools.server_config(replace(caller, user=user), "web")).identity for user in (None, "ada", "eve")
    ]

    assert identities == ["", "ada", "eve"]


async def test_what_the_owner_has_configured_is_the_same_for_all(tools: ToolService, caller: Caller) -> None:
    """A header, a child process, one sign-in for all: no other credentials are used."""
    shared = (
        replace(WEB, name="header", headers={"Authorization": "Bearer mine"}),
        replace(WEB, name="shared", oauth=OAuthClient(shared=True)),
        replace(WEB, name="machine", oauth=OAuthClient("me", "my-client-secret", grant="client_credentials")),
        ServerConfig("program", "stdio", command="true"),
    )
    for server in shared:
        await tools.add_server(caller, server)

    ada = replace(caller, user="ada")
    identities = {(await tools.server_config(ada, server.name)).identity for server in shared}

    assert identities == {""}


async def test_a_configured_client_survives_storing(tools: ToolService, caller: Caller) -> None:
    """With its secret, which is never shown."""
    client = OAuthClient("me", "my-client-secret", scopes=("read",))
    info = await tools.add_server(caller, replace(WEB, oauth=client))

    stored = await tools.server_config(caller, "web")

    assert stored.oauth == client
    assert "my-client-secret" not in repr(info) + repr(stored)


async def test_a_removed_server_takes_its_sign_ins_along(
    services: Services, tools: ToolService, caller: Caller
) -> None:
    """A server added later under its name starts without sign-ins."""
    store = CredentialStore(services.database, services.secrets)
    await tools.add_server(caller, WEB)
    config = await tools.server_config(caller, "web")
    await store.save(config, {"address": config.url})
    await tools.remove_server(caller, "web")
    await tools.add_server(caller, WEB)

    assert await store.load(await tools.server_config(caller, "web")) is None


async def test_a_user_s_own_server_comes_before_the_tenant_s(
    services: Services, tools: ToolService, caller: Caller
) -> None:
    """Two servers of one name, two sign-ins."""
    store = CredentialStore(services.database, services.secrets)
    ada = replace(caller, user="ada")
    await tools.add_server(caller, WEB)
    shared = await tools.server_config(ada, "web")
    await store.save(shared, {"address": "shared"})
    await tools.add_server(ada, replace(WEB, url="https://mine.example.com/mcp"))
    own = await tools.server_config(ada, "web")
    await store.save(own, {"address": "own"})

    assert (shared.identity, own.identity) == ("ada", "ada")
    assert own.url == "https://mine.example.com/mcp"
    assert await store.load(own) == {"address": "own"}
