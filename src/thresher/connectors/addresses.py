"""Reads addresses of databases as people write them, and refuses what an address must not say.

Invariant: the password leaves in no message and no representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from thresher.sqlguard import Dialect


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart.

    Attributes:
        dialect: Of its engine.
        location: The address without user, password and options.
        user: Whom it signs in as; may be empty.
        password: May be empty.
        hosts: Machines, or folders of sockets, that it reaches; empty for engines that read a file.
        port: None: the engine's own.
        database: On the server; empty for engines that read a file, and where the address names none.
        file: That it reads; None for servers.
        query: Options that are allowed.
    """

    dialect: Dialect
    location: str
    user: str
    password: str = field(repr=False)
    hosts: tuple[str, ...]
    port: int | None
    database: str
    file: Path | None
    query: Mapping[str, str] = field(repr=False)


def read_address(url: str) -> Address:
    """Take an address apart; see `open_connector` for what it raises."""
    raise NotImplementedError(url)
