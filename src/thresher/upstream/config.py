"""How to reach one server, and how that splits into a public and a secret part.

Invariant: nothing that `repr` or `public_config` returns holds a value of the environment, of a header, or a
credential of the command line or address; `sealed_part` holds exactly what the public part lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from thresher.core import JSON, InvalidInput
from thresher.upstream.guarded import GuardedSql, read_sql
from thresher.upstream.masking import MASK, mask_address, mask_arguments
from thresher.upstream.oauth_client import OAuthClient, read_oauth

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, repr=False)
class ServerConfig:
    """One MCP server as its owner configured it, variables already filled in.

    Attributes:
        name: Letters, digits, `_`, `.` and `-`, at most 64 characters.
        transport: `stdio` starts a child process, `http` speaks streamable HTTP, `sse` its forerunner HTTP+SSE.
        command: The program of a stdio server, looked up on the PATH.
        args: Its arguments.
        env: Environment added to the safe base that every child gets; secret.
        cwd: The child's working directory; empty for that of the daemon.
        url: Address of an HTTP server.
        headers: Headers sent with each request; secret.
        enabled: False keeps the server in the catalogue without using it.
        description: What the owner says the server is for.
        prefix: Whether the server's name goes before the names of its tools; without it they keep their own names.
        tenant: Id of the tenant whose server it is; sessions are never shared between tenants.
        identity: Whose credentials the session uses: a user's name, or empty for those of the tenant as a whole.
        oauth: The OAuth client that the owner has registered; None to register ourselves when a sign-in is needed.
        sql: Which arguments of its tools are SQL that the guard must read; None: none is.
        owner: The user whose server it is; empty: the tenant's.
        handed: Addresses of our connections that were filled in; secret.
    """

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    enabled: bool = True
    description: str = ""
    prefix: bool = True
    tenant: int = 0
    identity: str = ""
    oauth: OAuthClient | None = None
    sql: GuardedSql | None = None
    owner: str = ""
    handed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = " ".join(f"{name}={value!r}" for name, value in public_config(self).items())
        env = dict.fromkeys(self.env, MASK)
        headers = dict.fromkeys(self.headers, MASK)
        return f"ServerConfig({self.name!r}, {shown}, env={env}, headers={headers}, enabled={self.enabled})"

    @property
    def connection(self) -> tuple[object, ...]:
        """The part that decides whether a live session still fits."""
        return (
            self.transport,
            self.command,
            self.args,
            dict(self.env),
            self.cwd,
            self.url,
            dict(self.headers),
            self.oauth,
        )


def valid_name(name: str) -> bool:
    """Whether a server may have this name: it becomes the prefix of its tools' names."""
    return _NAME.fullmatch(name) is not None


def public_config(config: ServerConfig) -> dict[str, Any]:
    """What may be stored and shown in clear: transport, and command with arguments or address, secrets as `***`."""
    own_names: dict[str, Any] = {} if config.prefix else {"prefix": False}
    if config.sql is not None:
        own_names["sql"] = config.sql.public()
    if config.transport != "stdio":
        oauth = {} if config.oauth is None else {"oauth": config.oauth.public()}
        return {"transport": config.transport, "url": mask_address(config.url), **oauth, **own_names}
    return {
        "transport": "stdio",
        "command": config.command,
        "args": list(mask_arguments(config.args)),
        "cwd": config.cwd,
        **own_names,
    }


def sealed_part(config: ServerConfig) -> dict[str, Any]:
    """What must be encrypted: environment, headers, client secret, and arguments or address that hold a secret.

    Returns:
        A JSON object without empty entries; empty when the server has no secret.
    """
    sealed: dict[str, Any] = {"env": dict(config.env), "headers": dict(config.headers)}
    if mask_arguments(config.args) != config.args:
        sealed["args"] = list(config.args)
    if mask_address(config.url) != config.url:
        sealed["url"] = config.url
    if config.oauth is not None:
        sealed["client_secret"] = config.oauth.client_secret
    return {name: value for name, value in sealed.items() if value}


def restore_config(
    name: str,
    public: JSON,
    sealed: JSON,
    *,
    enabled: bool = True,
    description: str = "",
    tenant: int = 0,
    identity: str = "",
) -> ServerConfig:
    """Join the two stored parts again; the rest says whose server it is and whose credentials are used.

    Raises:
        InvalidInput: The stored parts do not describe a server.
    """
    whole = {**public, **sealed}
    transport = whole.get("transport")
    if transport not in ("stdio", "http", "sse"):
        raise InvalidInput(
            f"The stored configuration of server '{name}' has no known transport.",
            hint=f"Remove it and add it again: thresher servers remove {name}.",
        )
    return ServerConfig(
        name=name,
        transport=transport,
        command=str(whole.get("command", "")),
        args=tuple(whole.get("args", ())),
        env=dict(whole.get("env", {})),
        cwd=str(whole.get("cwd", "")),
        url=str(whole.get("url", "")),
        headers=dict(whole.get("headers", {})),
        enabled=enabled,
        description=description,
        prefix=whole.get("prefix") is not False,
        tenant=tenant,
        identity=identity,
        oauth=_restored_oauth(whole),
        sql=read_sql(public.get("sql")),
    )


def _restored_oauth(whole: JSON) -> OAuthClient | None:
    oauth: JSON | None = whole.get("oauth")
    return None if oauth is None else read_oauth({**oauth, "clientSecret": whole.get("client_secret", "")})
