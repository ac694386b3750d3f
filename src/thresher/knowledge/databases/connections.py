"""Operations on connections: add, list, remove, test.

Invariant: an address is sealed before it is written, and opened only for a connector or an upstream server; only the
owner of a connection changes it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.connectors import DatabaseAddress, Health, read_address
from thresher.core import (
    Caller,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    Tenant,
    ThresherError,
    checked_name,
    did_you_mean,
    nearest,
)
from thresher.jobs import Jobs
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.indexing import TASK, TableIndexer
from thresher.knowledge.databases.models import Connection
from thresher.knowledge.databases.queries import ConnectionValues, StoredConnection
from thresher.knowledge.databases.sessions import ConnectorPool, may_connect
from thresher.store import Database, SecretBox, clean, run_retrying

_FUNCTION: Final = re.compile(r"[^\s.()]{1,128}\.[^\s()]{1,128}")
_LONGEST_DESCRIPTION: Final = 2_000
_MOST_FUNCTIONS: Final = 500
_TEST_SECONDS: Final = 30.0


class Connections:
    """The connections of all tenants.

    Args:
        database: Stores them.
        indexing: Keeps their tables in the index.
        jobs: Embeds their tables.
        sessions: Opens them.
        secrets: Seals addresses.
        settings: Who may connect to what.
    """

    def __init__(
        self,
        database: Database,
        indexing: TableIndexer,
        jobs: Jobs,
        sessions: ConnectorPool,
        secrets: SecretBox,
        settings: Settings,
    ) -> None:
        self._database = database
        self._indexing = indexing
        self._jobs = jobs
        self._sessions = sessions
        self._secrets = secrets
        self._settings = settings

    async def add(
        self,
        caller: Caller,
        name: str,
        url: str,
        *,
        samples: bool,
        description: str,
        allow_functions: Sequence[str],
        replace: bool,
        configured: bool = False,
    ) -> StoredConnection:
        """Add a connection; see `DatabaseService.add_connection`."""
        checked_name(name, "a connection")
        if clean(url) != url:
            raise InvalidInput("The address holds characters that are not allowed.", hint="Copy it again.")
        address = await asyncio.to_thread(read_address, url)
        may_connect(caller, address, self._settings)
        write = ConnectionValues(
            name,
            address.dialect,
            clean(address.location),
            clean(address.user),
            self._secrets.seal(url.strip()),
            samples,
            _description(description),
            _functions(allow_functions),
            configured,
            keyed=caller.keyed,
        )
        return await run_retrying(
            self._database, caller.tenant, lambda link: self._written(link, caller, write, address, replace=replace)
        )

    async def _written(
        self, link: AsyncConnection, caller: Caller, write: ConnectionValues, address: DatabaseAddress, *, replace: bool
    ) -> StoredConnection:
        number = await queries.add_connection(link, caller, write)
        if number is None:
            known = await queries.own_connection(link, caller, write.name)
            if known is None:
                raise Conflict(f"The connection '{write.name}' is being removed.", hint="Try again.")
            if not (replace or known.connection.workspace):
                raise Conflict(
                    f"There is already a connection '{write.name}', to {known.connection.location}.",
                    hint="Choose another name, or replace it.",
                )
            if known.configured and not write.configured:
                raise _from_file(write.name)
            number = known.id
            if not self._same(known, write, address):
                await queries.replace_connection(link, caller.tenant, number, write)
        found = await queries.connection_by_id(link, caller.tenant, number)
        if found is None:
            raise NotFound("The connection was removed meanwhile.", hint="List the connections.")
        return found

    def _same(self, known: StoredConnection, write: ConnectionValues, address: DatabaseAddress) -> bool:
        """Whether nothing would change, so that sessions and the schema can be kept."""
        before = known.connection
        former = dataclasses.replace(
            write,
            **{name: getattr(before, name) for name in ("location", "samples", "description", "workspace")},
            **{name: getattr(known, name) for name in ("functions", "configured", "keyed")},
            account=before.user,
        )
        try:
            return former == write and read_address(self._secrets.open(known.sealed)) == address
        except ThresherError:
            return False

    async def listed(self, caller: Caller) -> tuple[Connection, ...]:
        """The connections that the caller sees."""
        return tuple(one.connection for one in (await queries.held(self._database, caller)).values())

    async def held(self, caller: Caller, name: str) -> StoredConnection:
        """A stored connection that the caller sees, by name."""
        found = await queries.held(self._database, caller)
        if (one := found.get(name)) is None:
            raise unknown(name, list(found))
        return one

    async def all_held(self, caller: Caller) -> list[StoredConnection]:
        """The stored connections that the caller sees, sorted by name."""
        return list((await queries.held(self._database, caller)).values())

    async def configured(self, tenant: Tenant) -> list[StoredConnection]:
        """The connections that come from a configuration file."""
        async with self._database.transaction(tenant) as link:
            return await queries.configured(link, tenant)

    async def removable(self, caller: Caller, name: str) -> StoredConnection:
        """A stored connection that the caller may remove."""
        await self.held(caller, name)
        async with self._database.transaction(caller.tenant) as link:
            return await self._own(link, caller, name)

    async def remove(self, tenant: Tenant, held: StoredConnection) -> None:
        """Remove a connection: end its sessions, and delete its index entries and rows."""

        async def write(link: AsyncConnection) -> None:
            await self._jobs.withdraw(link, tenant, TASK, held.id)
            await queries.begin_removal(link, tenant, held.id)

        await run_retrying(self._database, tenant, write)
        await self._sessions.drop(tenant, held.id)
        await self._indexing.remove_left(tenant)

    async def _own(self, link: AsyncConnection, caller: Caller, name: str) -> StoredConnection:
        """A connection that the caller may change."""
        found = await queries.own_connection(link, caller, name)
        if found is None:
            raise NotAllowed(
                f"The connection '{name}' belongs to the tenant.", hint="Ask the person who set it up to change it."
            )
        if found.configured:
            raise _from_file(name)
        if (workspace := found.connection.workspace) is not None:
            raise NotAllowed(
                f"The connection '{name}' comes from the workspace '{workspace}'.",
                hint=f"It is removed with the workspace: thresher solutions remove {workspace}",
            )
        return found

    async def test(self, caller: Caller, held: StoredConnection) -> Health:
        """Connect and run a harmless statement."""
        try:
            async with asyncio.timeout(_TEST_SECONDS), self._sessions.use(caller.tenant, held) as connector:
                health = await connector.test()
        except TimeoutError:
            return Health(False, problem=f"It did not answer in {_TEST_SECONDS:.0f} seconds.")
        except ThresherError as error:
            return Health(False, problem=str(error))
        if health.ok:
            values = {"writable": list(health.writable)}
            await run_retrying(
                self._database,
                caller.tenant,
                lambda link: queries.set_connection(link, caller.tenant, held.id, held.changes, **values),
            )
        return health

    def address(self, held: StoredConnection) -> str:
        """The address with its password."""
        return self._secrets.open(held.sealed)


def unknown(name: str, known: Sequence[str]) -> NotFound:
    """The error for a connection that the caller does not see."""
    if not known:
        return NotFound("There is no connection to a database.", hint="Add one: thresher db add NAME.")
    listed = f"There are: {', '.join(known[:20])}." if len(known) <= 20 else "sql_connection_list shows them."
    return NotFound(f"There is no connection '{name[:80]}'.", hint=did_you_mean(nearest(name[:80], known)) or listed)


def _from_file(name: str) -> NotAllowed:
    return NotAllowed(f"The connection '{name}' comes from the configuration.", hint="Change it there.")


def _description(text: str) -> str:
    if len(text) > _LONGEST_DESCRIPTION:
        raise InvalidInput("The description is too long.", hint=f"Write up to {_LONGEST_DESCRIPTION:,} characters.")
    return clean(text.strip())


def _functions(names: Sequence[str]) -> tuple[str, ...]:
    if wrong := [name for name in names if not _FUNCTION.fullmatch(name)]:
        raise InvalidInput(
            f"'{wrong[0][:80]}' is not a function's name.", hint="Write it with its schema: schema.name."
        )
    if len(names) > _MOST_FUNCTIONS:
        raise InvalidInput("There are too many functions.", hint=f"Allow up to {_MOST_FUNCTIONS}.")
    return tuple(sorted({clean(name).lower() for name in names}))
