"""The definition of a server, with its `sql` and `oauth` parts, and how it splits into a public and a secret part.

Invariant: pure. `repr` and `public_config` never contain a value of the environment or of a header, a client secret, or
a credential of the command line or address; `sealed_part` holds exactly what the public part lacks. SQL arguments that
cannot be read are an error, never passed on unread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from thresher.core import JSON, InvalidInput
from thresher.upstream.masking import MASK, mask_address, mask_arguments

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, repr=False)
class ServerConfig:
    """One MCP server as its owner configured it, with variables filled in.

    Attributes:
        name: Letters, digits, `_`, `.` and `-`, at most 64 characters.
        transport: `stdio` starts a child process, `http` uses streamable HTTP, `sse` its predecessor HTTP+SSE.
        command: The program of a stdio server, looked up on the PATH.
        args: Its arguments.
        env: Environment added to the safe base that every child gets; secret.
        cwd: The child's working directory; empty for that of the daemon.
        url: Address of an HTTP server.
        headers: Headers sent with each request; secret.
        enabled: False keeps the server in the catalogue without using it.
        description: The owner's description of the server.
        prefix: Whether the names of its tools are prefixed with the server's name.
        tenant: Id of the owning tenant; sessions are never shared between tenants.
        identity: The user whose credentials the session uses; empty for those of the whole tenant.
        oauth: The OAuth client that the owner has registered; None to register dynamically when a sign-in is needed.
        sql: Which arguments of its tools are SQL that the guard must read; None if there are none.
        owner: The user who owns the server; empty for the tenant.
        handed: Addresses of database connections that were filled in; secret.
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
        """The fields that a live session depends on."""
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
    """Whether a server may have this name, which becomes the prefix of its tools' names."""
    return _NAME.fullmatch(name) is not None


def public_config(config: ServerConfig) -> dict[str, Any]:
    """The part that may be stored and shown in clear: transport, and command or address with secrets as `***`."""
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
    """The part that must be encrypted: environment, headers, client secret, and arguments or address with secrets.

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
    """Join the two stored parts; the other arguments name the owner and the credentials to use.

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


DIALECTS: Final = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb", "oracle", "mssql")
"""The guard's dialects; this package does not import the guard, so a test keeps the two equal."""
USUAL_ARGUMENTS: Final = ("sql", "query")
"""Names of SQL arguments by default."""
_SQL_FIELDS: Final = ("dialect", "argument", "tools")


@dataclass(frozen=True, slots=True)
class GuardedSql:
    """Which arguments of a server's tools are SQL, so that the guard reads them before each call.

    Attributes:
        dialect: Dialect of the server's database.
        arguments: Names of arguments that hold SQL, in any tool of the server, at any depth.
        tools: Tools that must not be called without such an argument.
    """

    dialect: str
    arguments: tuple[str, ...] = USUAL_ARGUMENTS
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            raise InvalidInput(
                f"The guard does not know the SQL dialect '{self.dialect}'.", hint=f"Use one of {', '.join(DIALECTS)}."
            )
        if not self.arguments:
            raise InvalidInput("'sql' does not name an argument.", hint='Write "argument": "sql", or leave it out.')

    def public(self) -> dict[str, Any]:
        """The definition in the format of an `mcpServers` file."""
        return {"dialect": self.dialect, "argument": list(self.arguments), "tools": list(self.tools)}


def read_sql(entry: object) -> GuardedSql | None:
    """Read a definition's `sql` object; None if it has none.

    Raises:
        InvalidInput: It is not such an object, or a field is wrong.
    """
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InvalidInput("'sql' must be an object.", hint='Write "sql": {"dialect": "postgresql"}.')
    given = cast("Mapping[str, object]", entry)
    if unknown := sorted(set(given) - set(_SQL_FIELDS)):
        raise InvalidInput(f"'sql' has no field '{unknown[0]}'.", hint=f"It takes {', '.join(_SQL_FIELDS)}.")
    arguments = _sql_names(given.get("argument"), "argument")
    dialect = given.get("dialect")
    return GuardedSql(
        dialect if isinstance(dialect, str) else "",
        USUAL_ARGUMENTS if arguments is None else arguments,
        _sql_names(given.get("tools"), "tools") or (),
    )


def statements_in(arguments: JSON, names: Sequence[str]) -> tuple[str, ...]:
    """The statements in arguments of these names, at any depth and in any case.

    Raises:
        InvalidInput: One is neither a text nor a list of texts, so that the guard cannot read what would run.
    """
    wanted = {name.casefold() for name in names}
    found: list[str] = []
    waiting: list[object] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            for name, item in cast("Mapping[Any, object]", value).items():
                if str(name).casefold() in wanted:
                    found.extend(_sql_texts(str(name), item))
                else:
                    waiting.append(item)
        elif isinstance(value, list | tuple):
            waiting.extend(cast("Sequence[object]", value))
    return tuple(found)


def _sql_texts(name: str, value: object) -> Sequence[str]:
    if value is None:
        return ()
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise InvalidInput(f"'{name}' must be SQL as a text.", hint="Give one statement as a string.")
    return texts


def _sql_names(value: object, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list | tuple):
        given = cast("Sequence[object]", items)
        texts = tuple(item for item in given if isinstance(item, str) and item)
        if len(texts) == len(given):
            return texts
    raise InvalidInput(f"'sql.{field}' must be a name or a list of names.", hint=f'Write "{field}": ["query"].')


Grant = Literal["authorization_code", "client_credentials"]
_OAUTH_FIELDS = {
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "scopes": "scopes",
    "grant": "grant",
    "issuer": "issuer",
    "callback_port": "callbackPort",
    "shared": "shared",
}
_ALIASES = {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "scope": "scopes"}
"""The names that Cursor uses under `auth`, and OAuth's own name for scopes."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The OAuth client for a server's authorization server, if dynamic registration is not enough.

    Attributes:
        client_id: The registered id; an https address is the id of a published client metadata document. Empty to
            register dynamically.
        client_secret: Its secret; empty for a public client.
        scopes: Scopes to request; empty for those that the server names.
        grant: `authorization_code` lets a person sign in, `client_credentials` uses the client's own rights.
        issuer: The only authorization server that may see the secret; empty for the one that the server names.
        callback_port: The port of the registered redirect address; 0 for any free port.
        shared: Whether the owner's sign-in serves all users of the tenant.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    grant: Grant = "authorization_code"
    issuer: str = ""
    callback_port: int = 0
    shared: bool = False

    def public(self) -> dict[str, Any]:
        """All fields except the secret, in the format of an `mcpServers` file."""
        shown = {
            _OAUTH_FIELDS[name]: getattr(self, name)
            for name in _OAUTH_FIELDS
            if name not in ("client_secret", "scopes")
        }
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
    if unknown := sorted(given.keys() - set(_OAUTH_FIELDS.values())):
        raise InvalidInput(
            f"'oauth' has no field '{unknown[0]}'.", hint=f"It takes {', '.join(_OAUTH_FIELDS.values())}."
        )
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
