"""The verbs of the databases kind; every face calls these with the same names and arguments.

Invariant: a statement reaches a database only after the guard has read it and the audit log has recorded it; a caller
sees only its tenant's connections and its own; no answer or error contains a credential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thresher.audit import AuditLog
from thresher.connectors import Health, Rows, SessionTag
from thresher.core import Caller, NotAllowed, Settings, check_limit
from thresher.jobs import Jobs
from thresher.knowledge.databases.cache import SchemaCache
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.descriptions import Describer
from thresher.knowledge.databases.indexing import TableIndexer
from thresher.knowledge.databases.models import (
    Connection,
    FoundTables,
    QueryAnswer,
    Relations,
    Requester,
    SchemaAnswer,
    SessionInfo,
    TableColumns,
    TableList,
)
from thresher.knowledge.databases.provisioning import (
    ConfiguredConnection,
    WorkspaceConnections,
    server_connection,
    settle,
)
from thresher.knowledge.databases.refresh import Refresher, SchemaLookup
from thresher.knowledge.databases.sessions import ConnectorPool
from thresher.knowledge.databases.statements import StatementRequest, StatementRunner, no_server_error
from thresher.knowledge.databases.table_search import MOST_FOUND, TableSearcher, columns_of, listed, relations_of
from thresher.search import SearchIndex
from thresher.store import Database, SecretBox, clean


class DatabaseService:
    """Connections to databases, and answers from them. One per process.

    Args:
        database: Stores connections.
        index: Finds tables.
        jobs: Embeds large schemas.
        secrets: Seals addresses.
        audit: Records every statement.
        settings: Who may connect to what, and for how long a statement runs.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        jobs: Jobs,
        secrets: SecretBox,
        audit: AuditLog,
        settings: Settings,
    ) -> None:
        cache = self._cache = SchemaCache(database)
        self._sessions = ConnectorPool(secrets, settings)
        indexing = self._indexing = TableIndexer(database, index, jobs)
        self._refresher = Refresher(database, self._sessions, indexing)
        self._connections = Connections(database, indexing, jobs, self._sessions, secrets, settings)
        self._schemas = SchemaLookup(self._connections, cache, self._refresher)
        self._searcher = TableSearcher(index)
        self._describer = Describer(self._searcher)
        self._runner = StatementRunner(self._sessions, cache, audit, settings)
        self._provider = WorkspaceConnections(database, self._connections, self._refresher, cache, secrets)

    async def add_connection(
        self,
        caller: Caller,
        name: str,
        url: str,
        *,
        samples: bool = True,
        description: str = "",
        allow_functions: Sequence[str] = (),
        replace: bool = False,
    ) -> Connection:
        """Add a connection; its schema is read in the background.

        Args:
            caller: The owner; the tenant if the caller has no user.
            name: Letters, digits, hyphens, dots, underscores.
            url: A SQLAlchemy URL, such as `postgresql://user:password@host:5432/shop` or `sqlite:////data/shop.db`.
            samples: Whether potential relations may sample values.
            description: What it holds, in words.
            allow_functions: User-defined functions that statements may call, as `schema.name`.
            replace: Whether to replace an existing connection of this name.

        Raises:
            InvalidInput: The name or the URL is not valid, or its driver is not installed.
            Conflict: The name is taken.
            NotAllowed: The caller may not connect to this address.
        """
        held = await self._connections.add(
            caller,
            name,
            url,
            samples=samples,
            description=description,
            allow_functions=allow_functions,
            replace=replace,
        )
        self._refresher.begin(caller.tenant, held)
        return held.connection

    async def provide(self, caller: Caller, workspace: str, folders: Mapping[str, Path]) -> Mapping[str, str]:
        """Provide column information for exactly these servers of a workspace, unless they have a live connection.

        A connection that a user added under a server's name, or as `WORKSPACE.SERVER`, takes precedence and is not
        changed. Otherwise the connection has the server's name or, if another workspace uses that, `WORKSPACE.SERVER`;
        adding a live connection of that name replaces it. Whether the caller may add a workspace is not checked here.

        Args:
            caller: The owner of the workspace.
            workspace: Its name.
            folders: Folders with `.dbi` files by server; empty if the workspace was removed.

        Returns:
            Names of connections by server.

        Raises:
            InvalidInput: The path of a folder cannot be stored.
            Conflict: Concurrent requests keep taking these names.
        """
        return await self._provider.provide(caller, workspace, folders)

    async def server_connection(self, caller: Caller, workspace: str, server: str) -> Connection | None:
        """The connection for a server of a workspace: a live one, else what `provide` added; None without either."""
        return server_connection(await self._connections.listed(caller), workspace, server)

    async def list_connections(self, caller: Caller) -> tuple[Connection, ...]:
        """The connections that the caller sees, sorted by name; a user's own hides the tenant's of the same name."""
        return await self._connections.listed(caller)

    async def connection(self, caller: Caller, name: str) -> Connection:
        """A connection that the caller sees, by name.

        Raises:
            NotFound: There is no such connection; the hint suggests similar names.
        """
        return (await self._connections.held(caller, name)).connection

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees a connection whose schema has been read; at most one round trip."""
        return any(one.schema_at is not None for one in await self._connections.listed(caller))

    async def remove_connection(self, caller: Caller, name: str) -> None:
        """Remove a connection with its address and stored schema; the database itself is not changed.

        Raises:
            NotFound: There is no such connection.
            NotAllowed: It belongs to the tenant and the caller is a user, or it comes from the configuration.
        """
        held = await self._connections.removable(caller, name)
        await self._refresher.forget(caller.tenant, held.id)
        await self._connections.remove(caller.tenant, held)
        self._cache.forget(caller.tenant, held.id)

    async def test_connection(self, caller: Caller, name: str) -> Health:
        """Connect and run a harmless statement; a failure is reported in the result, not raised.

        If the database answers, a schema that could not be read is read again in the background.

        Raises:
            NotFound: There is no such connection.
        """
        held = await self._connections.held(caller, name)
        health = replace(await self._connections.test(caller, held), connection=name)
        if health.ok and held.connection.state in ("failed", "stale"):
            self._refresher.begin(caller.tenant, held)
        return health

    async def refresh_schema(self, caller: Caller, name: str) -> Connection:
        """Read a connection's schema again now, and wait for it.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: It cannot be reached; the stored schema is kept.
            QueryFailed: Its catalog cannot be read.
        """
        held = await self._connections.held(caller, name)
        await self._refresher.read(caller.tenant, held, deeply=True)
        return await self.connection(caller, name)

    async def query_database_schema(
        self,
        caller: Caller,
        connection: str,
        table: str | None = None,
        *,
        question: str | None = None,
        budget: int = 4000,
        cursor: str | None = None,
    ) -> SchemaAnswer:
        """Describe a database's tables and relations within a token budget.

        Args:
            caller: The tenant and user.
            connection: Name of the connection.
            table: `table` or `schema.table`: shown in full, with the keys that point to it.
            question: A question; the answer shows the tables that it needs, and those between them.
            budget: Maximum tokens, 160 to 100,000.
            cursor: The cursor of an earlier answer with the same arguments; continues with what it left out.

        Raises:
            InvalidInput: An argument is out of bounds.
            InvalidCursor: The cursor belongs to another question.
            NotFound: There is no such connection or table; the hint suggests similar names.
            DatabaseUnavailable: The schema was never read, and the database cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return await self._describer.describe(
            caller, held, catalog, table, question=question, budget=budget, cursor=cursor, notes=notes
        )

    async def get_table_columns(self, caller: Caller, connection: str, table: str) -> TableColumns:
        """The columns of a table: name, type, nullable, default, comment; and the keys that it holds.

        Args:
            caller: The tenant and user.
            connection: Name of the connection.
            table: `table` or `schema.table`.

        Raises:
            NotFound: There is no such connection or table; the hint suggests similar names.
            DatabaseUnavailable: The schema was never read, and the database cannot be reached.
        """
        held, catalog, _ = await self._schemas.of(caller, connection)
        return columns_of(held, catalog.table(table))

    async def list_tables(
        self,
        caller: Caller,
        connection: str,
        search: str | None = None,
        schema: str | None = None,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TableList:
        """List tables and views.

        Args:
            caller: The tenant and user.
            connection: Name of the connection.
            search: Words that must all occur in the name, the comment or the columns.
            schema: Only tables in this schema.
            limit: Maximum tables, 1 to 1,000.
            cursor: The cursor of an earlier answer with the same arguments.

        Raises:
            InvalidInput: An argument is out of bounds.
            InvalidCursor: The cursor belongs to another list.
            NotFound: There is no such connection or schema.
            DatabaseUnavailable: The schema was never read, and the database cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return listed(held, catalog, search=search, schema=schema, limit=limit, cursor=cursor, notes=notes)

    async def search_schema(
        self, caller: Caller, query: str, connection: str | None = None, *, limit: int = 10
    ) -> FoundTables:
        """Find tables by any words.

        Args:
            caller: The tenant and user.
            query: Any words, such as `which table holds invoices`.
            connection: Search only this connection; None for all that the caller sees.
            limit: Maximum tables, 1 to 50.

        Raises:
            InvalidInput: There are no words, or the limit is out of bounds.
            NotFound: There is no such connection.
        """
        check_limit(limit, MOST_FOUND)
        sources = await self._schemas.several(caller, connection)
        return await self._searcher.search(caller, clean(query), sources, limit)

    async def query(
        self,
        caller: Caller,
        connection: str,
        sql: str,
        *,
        max_rows: int = 200,
        cursor: str | None = None,
        client: str = "",
        model: str = "",
        thread: str = "",
        tool: str = "",
    ) -> QueryAnswer:
        """Run one read-only statement.

        Args:
            caller: The tenant and user.
            connection: Name of the connection.
            sql: A statement in the dialect of the engine.
            max_rows: Maximum rows, 1 to 10,000.
            cursor: The cursor of an earlier answer to the same statement, for the next rows; the statement runs again.
            client: Name and version of the client, for the audit log and the server's list of sessions.
            model: The chat model that wrote the statement, likewise.
            thread: The conversation or session, likewise.
            tool: The tool or command that was called, likewise.

        Raises:
            InvalidInput: An argument is out of bounds.
            InvalidCursor: The cursor belongs to another statement.
            NotFound: There is no such connection.
            StatementRefused: The guard refuses it.
            QueryFailed: The database answered with an error, or not in time (`QueryTimeout`).
            DatabaseUnavailable: It cannot be reached.
        """
        held = await self._connections.held(caller, connection)
        asker = Requester(client, model, thread, tool)
        return await self._runner.query(StatementRequest(caller, held, sql, asker), max_rows, cursor)

    async def explain(
        self, caller: Caller, connection: str, sql: str, *, client: str = "", thread: str = "", tool: str = ""
    ) -> QueryAnswer:
        """The database's plan for a statement, which is not run.

        Args:
            caller: The tenant and user.
            connection: Name of the connection.
            sql: The statement, without EXPLAIN.
            client: As for `query`.
            thread: As for `query`.
            tool: As for `query`.

        Raises:
            As `query` does.
        """
        held = await self._connections.held(caller, connection)
        return await self._runner.explain(StatementRequest(caller, held, sql, Requester(client, "", thread, tool)))

    async def session_info(self, caller: Caller, connection: str) -> SessionInfo:
        """Show one of our sessions in the database's own list of sessions.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: It cannot be reached.
        """
        held = await self._connections.held(caller, connection)
        if not held.connection.live:
            raise no_server_error(held.connection)
        async with self._sessions.use(caller.tenant, held) as connector:
            rows = await connector.sessions(SessionTag("thresher", "", 0))
        return SessionInfo(connection, held.connection.dialect, _named(rows))

    async def find_relations(self, caller: Caller, connection: str) -> Relations:
        """Declared keys, and columns that look like undeclared ones.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: The schema was never read, and the database cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return relations_of(held, catalog, notes)

    async def connector_url(self, caller: Caller, name: str) -> str:
        """The full address of a connection, with its password, for an upstream server.

        Must not appear in an answer or a log.

        Args:
            caller: The owner of the server: a user's server gets only that user's connections, the tenant's server only
                those of the tenant.
            name: Name of the connection.

        Raises:
            NotFound: There is no such connection.
            NotAllowed: It belongs to the tenant, and the server to a user.
            DatabaseUnavailable: It is column information only.
        """
        held = await self._connections.held(caller, name)
        if held.connection.owner != caller.user:
            raise NotAllowed(
                f"The connection '{name}' belongs to the whole tenant, and is not handed to a server of one user.",
                hint="Add the server with a key that names no user, or a connection of your own.",
            )
        if not held.connection.live:
            raise no_server_error(held.connection)
        return self._connections.address(held)

    async def close(self) -> None:
        """End background work and close all sessions."""
        await self._refresher.close()
        await self._sessions.close()

    async def settle(self) -> None:
        """Wait until no schema is being read; for measurements and tests."""
        await self._refresher.settle()

    async def embedded_tables(self, caller: Caller, name: str) -> int:
        """The number of tables of a connection that are found by meaning; the others are found by words.

        Raises:
            NotFound: There is no such connection.
        """
        held = await self._connections.held(caller, name)
        return await self._indexing.embedded(caller.tenant, held.id)

    async def configure(self, caller: Caller, wanted: Sequence[ConfiguredConnection]) -> Mapping[str, str]:
        """Make the configured connections exactly these.

        Args:
            caller: The owner.
            wanted: The connections in the configuration.

        Returns:
            Reasons by name for those that cannot be used, without credentials.
        """
        return await settle(self._connections, self._refresher, caller, wanted)


def _named(rows: Rows) -> Mapping[str, Any]:
    """Convert rows of names and values, or else a single row, to a mapping."""
    if [column.name for column in rows.columns] == ["name", "value"]:
        return {str(name): value for name, value in rows.rows}
    values = rows.rows[0] if rows.rows else ()
    return {column.name: value for column, value in zip(rows.columns, values, strict=False)}
