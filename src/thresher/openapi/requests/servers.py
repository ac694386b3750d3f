"""Where an operation is called: the servers of a description, with their variables.

Invariant: pure; an address has no user, query or fragment, and a variable takes only what the description lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from thresher.core import InvalidInput, did_you_mean, is_host, nearest
from thresher.openapi.pointers import join, parent
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, Operation
from thresher.openapi.schemas import listed, mapped

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_VALUE: Final = re.compile(r"[^\s\\?#@{}]*")
_LONGEST: Final = 2_000
_LISTED: Final = 10


@dataclass(frozen=True, slots=True)
class ServerVariable:
    """A variable in the address of a server.

    Attributes:
        default: Its value unless one is given.
        values: The only values; empty if any is allowed.
    """

    default: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """A server as a description names it.

    Attributes:
        url: Its address, variables in braces; may be relative.
        description: In words; may be empty.
        variables: By name.
    """

    url: str
    description: str = ""
    variables: Mapping[str, ServerVariable] = field(default_factory=dict[str, ServerVariable])


def servers_of(description: Description, operation: Operation) -> tuple[Server, ...]:
    """Return the servers of an operation: its own, else its path's, else the description's; may be empty."""
    if description.dialect == "2.0":
        return tuple(Server(url) for url in description.servers)
    pointers = (operation.pointer, parent(operation.pointer), join("/paths", operation.path), "")
    for pointer in pointers:
        holder = mapped(description.resolve(pointer) if pointer else description.root)
        if found := tuple(_server(description, each) for each in listed(holder.get("servers"))):
            return tuple(one for one in found if one.url)
    return ()


def _server(description: Description, value: Json) -> Server:
    fields = mapped(description.follow(value))
    variables: dict[str, ServerVariable] = {}
    for name, each in mapped(fields.get("variables")).items():
        said = mapped(description.follow(each))
        values = tuple(str(one) for one in listed(said.get("enum")))
        variables[name] = ServerVariable(str(said.get("default", "")), values)
    return Server(str(fields.get("url") or ""), str(fields.get("description") or ""), variables)


def server_address(
    servers: Sequence[Server],
    *,
    chosen: str = "",
    variables: Mapping[str, str],
    base_url: str = "",
    source: str = "",
) -> str:
    """Return the absolute address before an operation's path, without a trailing slash.

    Args:
        servers: The operation's servers.
        chosen: The one to use: its address or description, or any other absolute address; the first if empty.
        variables: Values of the server's variables.
        base_url: The address that relative ones continue, as a person gave it.
        source: Where the description was read; used if it is a URL and there is no `base_url`.

    Raises:
        InvalidInput: No such server or value, or it is not known where the API is.
    """
    server = _chosen(servers, chosen)
    filled = _filled(server, variables)
    if base_url and not _is_absolute(filled):
        filled = base_url.rstrip("/") + (filled if filled.startswith("/") or not filled else f"/{filled}")
    remote = source if _is_absolute(source) else ""
    return _checked(urljoin(remote, filled) if not _is_absolute(filled) else filled)


def _chosen(servers: Sequence[Server], chosen: str) -> Server:
    wanted = chosen.strip()
    if not wanted:
        return servers[0] if servers else Server("/")
    for server in servers:
        if wanted.rstrip("/") in (server.url.rstrip("/"), server.description):
            return server
    if _is_absolute(wanted):
        return Server(wanted)
    known = ", ".join(one.url for one in servers[:_LISTED]) or "none"
    raise InvalidInput(f"The API has no server '{wanted[:200]}'.", hint=f"The description lists: {known}.")


def _filled(server: Server, given: Mapping[str, str]) -> str:
    names = dict.fromkeys(_VARIABLE.findall(server.url))
    if unknown := next((name for name in given if name not in names), ""):
        near = did_you_mean(nearest(unknown[:100], names))
        raise InvalidInput(
            f"The server {server.url} has no variable '{unknown[:100]}'.",
            hint=near or f"It has {', '.join(names) or 'none'}.",
        )
    values: dict[str, str] = {}
    for name in names:
        variable = server.variables.get(name, ServerVariable())
        value = str(given.get(name) or variable.default)
        if not value or not _VALUE.fullmatch(value) or (variable.values and value not in variable.values):
            allowed = f"It is one of {', '.join(variable.values[:_LISTED])}." if variable.values else ""
            raise InvalidInput(f"'{value[:100]}' is not a value of the server's variable '{name}'.", hint=allowed)
        values[name] = value
    return _VARIABLE.sub(lambda found: values[found[1]], server.url)


def _is_absolute(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme.lower() in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        sound, parts = False, urlsplit("")
    if not sound and not _is_absolute(url):
        raise InvalidInput(
            "The description does not say where the API is.",
            hint="Give an address as the server, or store one: thresher apis add NAME SOURCE --base-url URL --replace.",
        )
    if not sound or parts.username is not None or parts.query or parts.fragment or len(url) > _LONGEST:
        raise InvalidInput(f"The API's address {url[:200]!r} is not valid.", hint="Give another server.")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path.rstrip("/"), "", ""))
