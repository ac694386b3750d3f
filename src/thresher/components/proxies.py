"""`add_server`: how a module in `proxies/` names a server.

Invariant: nothing is connected here; the daemon gets the named servers, and treats them like any other server.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_NAMED: ContextVar[dict[str, Any] | None] = ContextVar("named", default=None)


def add_server(name: str, config: Mapping[str, Any]) -> None:
    """Put a server behind Thresher, under the guards that apply to every server.

    Args:
        name: The server's name; it prefixes the names of its tools.
        config: An entry as in an `mcpServers` file, such as `{"command": "uvx", "args": ["mcp-server-time"]}` or
            `{"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}`. The daemon
            replaces `${NAME}` from its own environment.

    Raises:
        RuntimeError: The module is not in `proxies/`.
        ValueError: The name is used twice, or the configuration cannot be written as JSON.
    """
    named = _NAMED.get()
    if named is None:
        raise RuntimeError("add_server is for modules in proxies/: move this one there.")
    if name in named:
        raise ValueError(f"there are two servers '{name}'")
    try:
        named[str(name)] = json.loads(json.dumps(dict(config)))
    except TypeError as error:
        raise ValueError(f"the configuration of '{name}' cannot be written as JSON: {error}") from None


@contextmanager
def naming(known: Mapping[str, Any]) -> Generator[dict[str, Any]]:
    """Let a module name servers during the block.

    Args:
        known: The servers that other modules have named.

    Yields:
        These and the ones that it names.
    """
    named = dict(known)
    token = _NAMED.set(named)
    try:
        yield named
    finally:
        _NAMED.reset(token)
