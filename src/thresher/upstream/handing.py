"""Hands addresses of our connections to servers that name them: `${connection:NAME}` in their definition.

Invariant: a filled-in address is in no stored part of a definition; a server is started and reached with it, and what
comes from the server is searched for it and its password.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

from thresher.upstream.config import ServerConfig

_REFERENCE: Final = re.compile(r"\$\{connection:(?P<name>[^}]*)\}")

Addresses: TypeAlias = Callable[[ServerConfig, str], Awaitable[str]]
"""The whole address of one of our connections, for a server that names it."""


def names_connections(config: ServerConfig) -> bool:
    """Whether a definition wants the address of a connection of ours."""
    texts = (*config.env.values(), *config.headers.values(), *config.args, config.url)
    return any("${connection:" in text for text in texts)


async def fill_connections(config: ServerConfig, addresses: Addresses) -> ServerConfig:
    """The definition with addresses in the place of `${connection:NAME}`; what it is started and reached with.

    Raises:
        ThresherError: There is no such connection for this server.
    """
    texts = " ".join((*config.env.values(), *config.headers.values(), *config.args, config.url))
    known = {name: await addresses(config, name) for name in dict.fromkeys(_REFERENCE.findall(texts))}

    def filled(text: str) -> str:
        return _REFERENCE.sub(lambda found: known[found["name"]], text)

    return replace(
        config,
        env={name: filled(value) for name, value in config.env.items()},
        headers={name: filled(value) for name, value in config.headers.items()},
        args=tuple(filled(value) for value in config.args),
        url=filled(config.url),
        handed=tuple(known.values()),
    )
