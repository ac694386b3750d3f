"""Where an operation is called: the servers of a description, with their variables.

Invariant: pure; an address has no user, query or fragment, and a variable takes only what the description lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from thresher.core import InvalidInput, did_you_mean, is_host, nearest
from thresher.openapi.pointers import join, parent
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, Operation
from thresher.openapi.schemas import listed, mapped

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_ABSOLUTE: Final = re.compile(r"https?://[^\s/]", re.IGNORECASE)
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
        chosen: The one to use: its address or description, or any other absolute address; if empty, the first whose
            address is known.
        variables: Values of the server's variables.
        base_url: The address that relative ones continue, as a person gave it.
        source: Where the description was read; used if it is a URL and there is no `base_url`.

    Raises:
        InvalidInput: No such server or value, or it is not known where the API is.
    """
    rooted = bool(whole_address("/", base_url, source))
    filled = _filled(_chosen(servers, chosen, rooted=rooted), variables)
    return _checked(whole_address(filled, base_url, source) or filled)


def whole_address(url: str, base_url: str, source: str) -> str:
    """Return the absolute address that a server's address means; empty if it is not known.

    Args:
        url: The server's address; a relative one continues `base_url`, else it is relative to `source`.
        base_url: The address that a person gave; may be empty.
        source: The path or URL that the description was read from.
    """
    if "://" in url:
        return url if _ABSOLUTE.match(url) else ""
    if _ABSOLUTE.match(base_url):
        source, url = f"{base_url.rstrip('/')}/", url if url.startswith("//") else url.lstrip("/")
    try:
        joined = urljoin(source, url)
    except ValueError:  # brackets around what is not an IPv6 address
        return ""
    return joined if _ABSOLUTE.match(source) and _ABSOLUTE.match(joined) else ""


def _chosen(servers: Sequence[Server], chosen: str, *, rooted: bool) -> Server:
    wanted = chosen.strip()
    if not wanted:
        return next((one for one in servers if rooted or "://" in one.url), servers[0] if servers else Server("/"))
    for server in servers:
        if wanted.rstrip("/") in (server.url.rstrip("/"), server.description):
            return server
    if _ABSOLUTE.match(wanted):
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


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme.lower() in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        sound, parts = False, urlsplit("")
    if not sound and not _ABSOLUTE.match(url):
        raise InvalidInput(
            "The description does not say where the API is.",
            hint="Give an address as the server, or store one: thresher apis add NAME SOURCE --base-url URL --replace.",
        )
    climbs = any(unquote(step) in (".", "..") for step in parts.path.split("/"))
    if not sound or climbs or parts.username is not None or parts.query or parts.fragment or len(url) > _LONGEST:
        raise InvalidInput(f"The API's address {url[:200]!r} is not valid.", hint="Give another server.")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path.rstrip("/"), "", ""))
