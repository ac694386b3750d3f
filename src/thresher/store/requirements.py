"""What a PostgreSQL server must offer: version 16 and pgvector 0.8.

Invariant: all that is missing is said at once, each with its way out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Connection

from thresher.core import ConfigurationError

_OLDEST_SERVER = 160000
# 0.8 brought the iterative index scans that a search inside one tenant needs.
_OLDEST_VECTOR = (0, 8)

_FACTS = """
select current_setting('server_version_num')::int as server,
       current_setting('server_version') as server_name,
       (select extversion from pg_extension where extname = 'vector') as installed,
       (select default_version from pg_available_extensions where name = 'vector') as available
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of itself.

    Attributes:
        server: Its version as a number, 160003 for 16.3.
        server_name: Its version as people write it.
        installed: pgvector's version in this database; None when it was not created there.
        available: pgvector's version on the server; None when its files are not there.
    """

    server: int
    server_name: str
    installed: str | None
    available: str | None


def check_server(connection: Connection, *, may_install: bool = False) -> Facts:
    """Refuse a server that lacks something.

    Args:
        connection: A connection to the database, in any role.
        may_install: Whether the extension's files on the server are enough.

    Raises:
        ConfigurationError: Something is missing or too old.
    """
    facts = Facts(*connection.exec_driver_sql(_FACTS).one())
    vector = facts.installed or (facts.available if may_install else None)
    lacking = [pair for pair in (_server(facts), _vector(facts, vector)) if pair]
    if lacking:
        raise ConfigurationError(" ".join(pair[0] for pair in lacking), hint=" ".join(pair[1] for pair in lacking))
    return facts


def _server(facts: Facts) -> tuple[str, str] | None:
    if facts.server >= _OLDEST_SERVER:
        return None
    return (
        f"The PostgreSQL server is version {facts.server_name}; Thresher needs 16 or newer.",
        "Point THRESHER_DATABASE_URL to a newer server, or unset it to use the embedded one.",
    )


def _vector(facts: Facts, version: str | None) -> tuple[str, str] | None:
    if version is None and facts.available is None:
        return (
            "The PostgreSQL server has no pgvector.",
            "Install pgvector >= 0.8 on the server (for example the package postgresql-18-pgvector), then run "
            "`create extension vector` in this database as a superuser.",
        )
    if version is None:
        return "The database has no pgvector.", "Run `create extension vector` in this database."
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_VECTOR:
        return (
            f"pgvector is version {version}; Thresher needs 0.8 or newer.",
            "Install a newer pgvector on the server, then run `alter extension vector update`.",
        )
    return None
