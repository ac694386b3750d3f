"""The verbs of the databases kind; every face calls these, with the same names and arguments.

Invariant: nothing reaches a database that the guard has not read and the audit log has not noted; a caller sees the
connections of its tenant and its own, and no others; no answer or error holds a credential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thresher.audit import AuditLog
from thresher.connectors import Health, Rows, Tag
from thresher.core import Caller, NotAllowed, Settings, check_limit
from thresher.jobs import Jobs
from thresher.knowledge.databases import listing
from thresher.knowledge.databases.configured import Configured, settle
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.describing import Describer
from thresher.knowledge.databases.indexing import Indexing
from thresher.knowledge.databases.models import (
    Asker,
    Connection,
    FoundTables,
    QueryAnswer,
    Relations,
    SchemaAnswer,
    SessionInfo,
    TableColumns,
    TableList,
)
from thresher.knowledge.databases.provided import Provider, standing_for
from thresher.knowledge.databases.refreshing import Refresher
from thresher.knowledge.databases.running import Runner, Statement, without_server
from thresher.knowledge.databases.schemas import Schemas
from thresher.knowledge.databases.searching import MOST_FOUND, Searcher
from thresher.knowledge.databases.sessions import Sessions
from thresher.knowledge.databases.shelf import Shelf
from thresher.search import SearchIndex
from thresher.store import Database, SecretBox, clean


class DatabaseService:
    """Connections to databases, and answers out of them. One per process.

    Args:
        database: Where connections are kept.
        index: Where tables are found.
        jobs: Embeds large schemas.
        secrets: Seals addresses.
        audit: Notes every statement.
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
        shelf = self._shelf = Shelf(database)
        self._sessions = Sessions(secrets, settings)
        indexing = self._indexing = Indexing(database, index, jobs)
        self._refresher = Refresher(database, self._sessions, indexing)
        self._connections = Connections(database, indexing, jobs, self._sessions, secrets, settings)
        self._schemas = Schemas(self._connections, shelf, self._refresher)
        self._searcher = Searcher(index)
        self._describer = Describer(self._searcher)
        self._runner = Runner(self._sessions, shelf, audit, settings)
        self._provider = Provider(database, self._connections, self._refresher, shelf, secrets)

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
        """Keep a connection under a name; its schema is read in the background.

        Args:
            caller: Whose connection it will be: the tenant's where it has no user.
            name: Letters, digits, hyphens, dots, underscores.
            url: A SQLAlchemy URL, such as `postgresql://user:password@host:5432/shop` or `sqlite:////data/shop.db`.
            samples: Whether potential relations may look at values.
            description: What it holds, in words.
            allow_functions: Functions of that database's users that statements may call, as `schema.name`.
            replace: Whether one of this name takes this address.

        Raises:
            InvalidInput: The name or the URL is none, or its driver is not installed.
            Conflict: The name is taken.
            NotAllowed: The caller may not connect to this place.
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
        """Have exactly these servers of a workspace be known by its column information, where no live one is.

        A connection that somebody added under a server's name, or under `WORKSPACE.SERVER`, comes first and is left
        alone. Else there is one of the server's name, or, where that is another workspace's, `WORKSPACE.SERVER`; adding
        a live one of that name replaces it. Who may add a workspace is not checked here.

        Args:
            caller: Whose workspace it is.
            workspace: Its name.
            folders: Server to the folder with its `.dbi` files; empty where the workspace is gone.

        Returns:
            Server to the name of the connection that stands for it.

        Raises:
            InvalidInput: The path of a folder cannot be kept.
            Conflict: Others take these names again and again in this moment.
        """
        return await self._provider.provide(caller, workspace, folders)

    async def standing_for(self, caller: Caller, workspace: str, server: str) -> Connection | None:
        """The connection that stands for a server of a workspace: the live one before what `provide` keeps."""
        return standing_for(await self._connections.listed(caller), workspace, server)

    async def list_connections(self, caller: Caller) -> tuple[Connection, ...]:
        """The connections that the caller sees, by name; a user's own hides the tenant's of the same name."""
        return await self._connections.listed(caller)

    async def connection(self, caller: Caller, name: str) -> Connection:
        """One of them.

        Raises:
            NotFound: There is none of this name; the hint offers near ones.
        """
        return (await self._connections.held(caller, name)).connection

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees a connection whose schema was read at least once; one round trip at most."""
        return any(one.schema_at is not None for one in await self._connections.listed(caller))

    async def remove_connection(self, caller: Caller, name: str) -> None:
        """Forget a connection, its address and what was read of its schema; the database is left alone.

        Raises:
            NotFound: There is no such connection.
            NotAllowed: It is the tenant's and the caller a user, or it comes from the configuration.
        """
        held = await self._connections.removable(caller, name)
        await self._refresher.forget(caller.tenant, held.id)
        await self._connections.remove(caller.tenant, held)
        self._shelf.forget(caller.tenant, held.id)

    async def test_connection(self, caller: Caller, name: str) -> Health:
        """Connect and ask something harmless; what fails is in the answer, and no error.

        A schema that could not be read is read again in the background once the database answers.

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
            DatabaseUnavailable: It cannot be reached; what was known before is kept.
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
        """What is in a database and what relates to what, inside a token budget.

        Args:
            caller: Who asks.
            connection: Name of the connection.
            table: `table` or `schema.table`: this one in full, with the keys that point to it.
            question: What shall be found out: the tables that it needs, and those between them.
            budget: Tokens at most, 160 to 100,000.
            cursor: Of an answer to the same: what it left out.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another question.
            NotFound: There is no such connection or table; the hint offers near ones.
            DatabaseUnavailable: Its schema was never read, and it cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return await self._describer.describe(
            caller, held, catalog, table, question=question, budget=budget, cursor=cursor, notes=notes
        )

    async def get_table_columns(self, caller: Caller, connection: str, table: str) -> TableColumns:
        """The columns of a table: name, type, nullable, default, comment, and the keys that it holds.

        Args:
            caller: Who asks.
            connection: Name of the connection.
            table: `table` or `schema.table`.

        Raises:
            NotFound: There is no such connection or table; the hint offers near ones.
            DatabaseUnavailable: Its schema was never read, and it cannot be reached.
        """
        held, catalog, _ = await self._schemas.of(caller, connection)
        return listing.columns_of(held, catalog.table(table))

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
        """Tables and views by name.

        Args:
            caller: Who asks.
            connection: Name of the connection.
            search: Words of names or comments; all of them must be there.
            schema: Only of this one.
            limit: Tables at most, 1 to 1,000.
            cursor: Of an answer to the same: the next ones.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another list.
            NotFound: There is no such connection or schema.
            DatabaseUnavailable: Its schema was never read, and it cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return listing.listed(held, catalog, search=search, schema=schema, limit=limit, cursor=cursor, notes=notes)

    async def search_schema(
        self, caller: Caller, query: str, connection: str | None = None, *, limit: int = 10
    ) -> FoundTables:
        """Tables that hold what is asked for, in any words.

        Args:
            caller: Who asks.
            query: Such as `which table holds invoices`.
            connection: The only one that is asked; None: all that the caller sees.
            limit: Tables at most, 1 to 50.

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
        """Run one statement that only reads.

        Args:
            caller: Who asks.
            connection: Name of the connection.
            sql: In the dialect of its engine.
            max_rows: Rows at most, 1 to 10,000.
            cursor: Of an answer to the same statement: the next rows. The statement runs again.
            client: Name and version of the caller's client, for the audit log and the server's own view of sessions.
            model: The chat model that wrote the statement, likewise.
            thread: The conversation or session, likewise.
            tool: The tool or command that was called, likewise.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another statement.
            NotFound: There is no such connection.
            StatementRefused: The guard does not let it run.
            QueryFailed: The database answered with an error, or not in time (`QueryTimeout`).
            DatabaseUnavailable: It cannot be reached.
        """
        held = await self._connections.held(caller, connection)
        asker = Asker(client, model, thread, tool)
        return await self._runner.query(Statement(caller, held, sql, asker), max_rows, cursor)

    async def explain(
        self, caller: Caller, connection: str, sql: str, *, client: str = "", thread: str = "", tool: str = ""
    ) -> QueryAnswer:
        """How the database would run a statement; it is not run.

        Args:
            caller: Who asks.
            connection: Name of the connection.
            sql: The statement, without EXPLAIN.
            client: As for `query`.
            thread: As for `query`.
            tool: As for `query`.

        Raises:
            As `query` does.
        """
        held = await self._connections.held(caller, connection)
        return await self._runner.explain(Statement(caller, held, sql, Asker(client, "", thread, tool)))

    async def session_info(self, caller: Caller, connection: str) -> SessionInfo:
        """What the database itself says of a session of ours.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: It cannot be reached.
        """
        held = await self._connections.held(caller, connection)
        if not held.connection.live:
            raise without_server(held.connection)
        async with self._sessions.use(caller.tenant, held) as connector:
            rows = await connector.sessions(Tag("thresher", "", 0))
        return SessionInfo(connection, held.connection.dialect, _named(rows))

    async def find_relations(self, caller: Caller, connection: str) -> Relations:
        """Declared keys, and columns that look like undeclared ones.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: Its schema was never read, and it cannot be reached.
        """
        held, catalog, notes = await self._schemas.of(caller, connection)
        return listing.relations_of(held, catalog, notes)

    async def connector_url(self, caller: Caller, name: str) -> str:
        """The whole address of a connection, with its password, to hand over to an upstream server.

        It goes neither into an answer nor into a log.

        Args:
            caller: Whose server it is: a user's gets that user's own connections, the tenant's those of the tenant.
            name: Of the connection.

        Raises:
            NotFound: There is no such connection.
            NotAllowed: It is the tenant's, and the server one user's.
            DatabaseUnavailable: It is column information only.
        """
        held = await self._connections.held(caller, name)
        if held.connection.owner != caller.user:
            raise NotAllowed(
                f"The connection '{name}' belongs to the whole tenant, and is not handed to a server of one user.",
                hint="Add the server with a key that names no user, or a connection of your own.",
            )
        if not held.connection.live:
            raise without_server(held.connection)
        return self._connections.address(held)

    async def close(self) -> None:
        """End background work and close all sessions."""
        await self._refresher.close()
        await self._sessions.close()

    async def settle(self) -> None:
        """Wait until no schema is being read; for measurements and tests."""
        await self._refresher.settle()

    async def embedded_tables(self, caller: Caller, name: str) -> int:
        """How many tables of a connection are found by meaning; the others by their words.

        Raises:
            NotFound: There is no such connection.
        """
        held = await self._connections.held(caller, name)
        return await self._indexing.embedded(caller.tenant, held.id)

    async def configure(self, caller: Caller, wanted: Sequence[Configured]) -> Mapping[str, str]:
        """Have exactly these connections come from the configuration.

        Args:
            caller: Whose they are.
            wanted: As the configuration names them now.

        Returns:
            Those that cannot be used: name to reason, without credentials.
        """
        return await settle(self._connections, self._refresher, caller, wanted)


def _named(rows: Rows) -> Mapping[str, Any]:
    """An answer as name to value: of rows of names and values these, else of its one row the columns."""
    if [column.name for column in rows.columns] == ["name", "value"]:
        return {str(name): value for name, value in rows.rows}
    values = rows.rows[0] if rows.rows else ()
    return {column.name: value for column, value in zip(rows.columns, values, strict=False)}
