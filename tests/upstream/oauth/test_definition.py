"""The OAuth client in a server's definition."""

from __future__ import annotations

from typing import Any

import pytest

from thresher.upstream import OAuthClient, ServerConfig, parse_servers, public_config, restore_config, sealed_part

SECRET = "client-secret-of-the-owner"
WHOLE = {
    "clientId": "me",
    "clientSecret": "${SECRET}",
    "scopes": ["read", "write admin"],
    "grant": "client_credentials",
    "issuer": "https://auth.example.com/",
    "callbackPort": 8765,
    "shared": True,
}


def parsed(**entry: Any) -> ServerConfig:
    """The one server of a file."""
    document = {"mcpServers": {"web": {"url": "https://web.example.com/mcp", **entry}}}
    servers = parse_servers(document, {"SECRET": SECRET})
    assert servers.problems == ()
    return servers[0]


def test_every_key_is_read() -> None:
    """Variables are filled in, scopes split into words."""
    client = parsed(oauth=WHOLE).oauth

    assert client == OAuthClient(
        "me",
        SECRET,
        ("read", "write", "admin"),
        "client_credentials",
        "https://auth.example.com/",
        8765,
        shared=True,
    )


def test_the_names_that_others_use_are_read() -> None:
    """Cursor's `auth`; a single text of scopes."""
    cursor = parsed(auth={"CLIENT_ID": "me", "CLIENT_SECRET": SECRET, "scopes": ["read"]})
    oauth = parsed(oauth={"clientId": "me", "scope": "read write"})

    assert cursor.oauth == OAuthClient("me", SECRET, ("read",))
    assert oauth.oauth == OAuthClient("me", scopes=("read", "write"))
    assert parsed().oauth is None


def test_a_definition_survives_storing_and_its_secret_is_sealed() -> None:
    """The public part shows the client, and not what it proves itself with."""
    config = parsed(oauth=WHOLE)
    public, sealed = public_config(config), sealed_part(config)

    restored = restore_config("web", public, sealed)

    assert restored.oauth == config.oauth
    assert SECRET not in repr(config) + repr(config.oauth) + str(public)
    assert sealed["client_secret"] == SECRET
    assert restored.connection == config.connection
    assert config.connection != parsed().connection


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("yes", "must be an object"),
        ({"clientID": "me"}, "has no field 'clientID'"),
        ({"clientId": 7}, "must be a text"),
        ({"clientId": "${MISSING}"}, "MISSING"),
        ({"scopes": [7]}, "must be a list of texts"),
        ({"grant": "password"}, "cannot be 'password'"),
        ({"grant": "client_credentials", "clientId": "me"}, "need both"),
        ({"callbackPort": "8765"}, "must be a number"),
        ({"callbackPort": 99999}, "must be a number"),
        ({"shared": "yes"}, "must be true or false"),
    ],
)
def test_what_is_wrong_is_said(entry: object, says: str) -> None:
    """One broken entry is a problem that names its server, and keeps the others."""
    document: Any = {"mcpServers": {"web": {"url": "https://a.example/mcp", "oauth": entry}, "b": {"command": "b"}}}

    servers = parse_servers(document, {})

    assert [server.name for server in servers] == ["b"]
    assert says in str(servers.problems[0])
    assert "'web'" in str(servers.problems[0])
