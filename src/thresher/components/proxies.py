"""`add_server`: how a module in `proxies/` names a server.

Invariant: nothing is connected here; what was named is handed to the daemon, which treats it as any other server.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_NAMED: ContextVar[dict[str, Any] | None] = ContextVar("named", default=None)


def add_server(name: str, config: Mapping[str, Any]) -> None:
    """Put a server behind Thresher, under the guards that hold for every server.

    Args:
        name: The server's name; it goes before the names of its tools.
        config: An entry as in an `mcpServers` file, such as `{"command": "uvx", "args": ["mcp-server-time"]}` or
            `{"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}`. The daemon
            fills `${NAME}` in from its own environment.

    Raises:
        RuntimeError: The module is not in `proxies/`.
        ValueError: The name was given before, or the configuration cannot be written as JSON.
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
    """Let a module name servers, for a while.

    Args:
        known: Servers that others have named.

    Yields:
        Those and what is named.
    """
    named = dict(known)
    token = _NAMED.set(named)
    try:
        yield named
    finally:
        _NAMED.reset(token)
