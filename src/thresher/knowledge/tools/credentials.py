"""Keeps sign-ins at upstream servers: the place behind `thresher.upstream.Credentials`.

Invariant: what is stored is sealed, and durable before `save` and `exchange` return; it goes with its server.
"""

from __future__ import annotations

import json

from thresher.core import JSON, ConfigurationError, NotFound, Tenant, dumps
from thresher.knowledge.tools import queries
from thresher.store import Database, SecretBox, run_retrying
from thresher.upstream import ServerConfig


class CredentialStore:
    """The sign-ins of all tenants; one per process."""

    def __init__(self, database: Database, secrets: SecretBox) -> None:
        self._database = database
        self._secrets = secrets

    async def load(self, config: ServerConfig) -> JSON | None:
        """What is stored for a server and identity; None when nothing is.

        Raises:
            ConfigurationError: It was sealed with another key.
            StoreUnavailable: The database is away.
        """
        tenant, owner = _whose(config)
        sealed = await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.read_credential(connection, tenant, config.name, owner),
        )
        return None if sealed is None else self._opened(config, sealed)

    async def save(self, config: ServerConfig, value: JSON) -> None:
        """Store, whatever was there.

        Raises:
            NotFound: The server has been removed.
            StoreUnavailable: The database is away.
        """
        tenant, owner = _whose(config)
        sealed = self._secrets.seal(dumps(value))
        written = await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.put_credential(connection, tenant, config.name, owner, sealed),
        )
        if not written:
            raise NotFound(f"There is no server '{config.name}' any more.", hint="Add it again.")

    async def exchange(self, config: ServerConfig, old: JSON | None, new: JSON) -> bool:
        """Store `new` if `old` is still what is stored; False when it is not, or the server has been removed.

        Raises:
            ConfigurationError: What is stored was sealed with another key.
            StoreUnavailable: The database is away.
        """
        tenant, owner = _whose(config)
        sealed = self._secrets.seal(dumps(new))

        def expected(held: bytes | None) -> bool:
            return (None if held is None else self._opened(config, held)) == old

        return await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.exchange_credential(connection, tenant, config.name, owner, expected, sealed),
        )

    async def clear(self, config: ServerConfig) -> None:
        """Forget what is stored; nothing stored is fine.

        Raises:
            StoreUnavailable: The database is away.
        """
        tenant, owner = _whose(config)
        await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.delete_credential(connection, tenant, config.name, owner),
        )

    def _opened(self, config: ServerConfig, sealed: bytes) -> JSON:
        try:
            return json.loads(self._secrets.open(sealed))
        except ConfigurationError as error:
            raise ConfigurationError(
                f"The stored sign-in at server '{config.name}' cannot be opened with this secret key.",
                hint=f"{error.hint} Or sign in again: thresher servers login {config.name}.",
            ) from None


def _whose(config: ServerConfig) -> tuple[Tenant, str | None]:
    return Tenant(config.tenant, ""), config.identity or None
