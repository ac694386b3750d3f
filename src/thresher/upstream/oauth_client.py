"""The OAuth client that a server's owner has registered himself: the `oauth` part of a server's definition.

Invariant: the client secret shows in no `repr` and not in `public`; it is stored sealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from thresher.core import JSON, InvalidInput

Grant = Literal["authorization_code", "client_credentials"]
_KEYS = {
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "scopes": "scopes",
    "grant": "grant",
    "issuer": "issuer",
    "callback_port": "callbackPort",
    "shared": "shared",
}
_ALIASES = {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "scope": "scopes"}
"""What Cursor calls them, under `auth`, and how OAuth itself spells the scopes."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """How to present ourselves to a server's authorization server, where registering by ourselves will not do.

    Attributes:
        client_id: As registered; an https address is the id of a published client metadata document. Empty: we
            register ourselves.
        client_secret: Its secret; empty for a public client.
        scopes: What to ask for; empty for what the server names.
        grant: `authorization_code` lets a person sign in, `client_credentials` uses the client's own rights.
        issuer: The only authorization server that may see the secret; empty for the one that the server names.
        callback_port: The port of the registered redirect address; 0 for any free one.
        shared: Whether one sign-in, that of the server's owner, serves all users of the tenant.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    grant: Grant = "authorization_code"
    issuer: str = ""
    callback_port: int = 0
    shared: bool = False

    def public(self) -> dict[str, Any]:
        """All but the secret, under the names of the `mcpServers` file."""
        shown = {_KEYS[name]: getattr(self, name) for name in _KEYS if name not in ("client_secret", "scopes")}
        shown["scopes"] = list(self.scopes)
        return {name: value for name, value in shown.items() if value}


def read_oauth(entry: object) -> OAuthClient | None:
    """Read a definition's `oauth` object (or Cursor's `auth`), variables filled in.

    Returns:
        The client; None when there is no such object.

    Raises:
        InvalidInput: A value is of the wrong kind, or client credentials lack id or secret.
    """
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InvalidInput("'oauth' must be an object.", hint='For example {"clientId": "...", "scopes": ["read"]}.')
    given = {_ALIASES.get(name, name): value for name, value in cast("JSON", entry).items()}
    if unknown := sorted(given.keys() - set(_KEYS.values())):
        raise InvalidInput(f"'oauth' has no '{unknown[0]}'.", hint=f"It knows {', '.join(_KEYS.values())}.")
    client = OAuthClient(
        client_id=_text(given, "clientId"),
        client_secret=_text(given, "clientSecret"),
        scopes=_scopes(given.get("scopes")),
        grant=_grant(_text(given, "grant") or "authorization_code"),
        issuer=_text(given, "issuer"),
        callback_port=_port(given.get("callbackPort", 0)),
        shared=_flag(given, "shared"),
    )
    if client.grant == "client_credentials" and not (client.client_id and client.client_secret):
        raise InvalidInput("Client credentials need both 'clientId' and 'clientSecret'.")
    return client


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or "\0" in value:
        raise InvalidInput(f"'oauth.{name}' must be a text.")
    return value.strip()


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"'oauth.{name}' must be true or false.")
    return value


def _scopes(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list | tuple):
        items = tuple(cast("list[object]", value))
        if all(isinstance(item, str) for item in items):
            return tuple(word for item in cast("tuple[str, ...]", items) for word in item.split())
    raise InvalidInput("'oauth.scopes' must be a list of texts.")


def _grant(value: str) -> Grant:
    if value not in get_args(Grant):
        raise InvalidInput(f"'oauth.grant' cannot be '{value}'.", hint=f"Use {' or '.join(get_args(Grant))}.")
    return cast("Grant", value)


def _port(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise InvalidInput("'oauth.callbackPort' must be a number from 1 to 65535.")
    return value
