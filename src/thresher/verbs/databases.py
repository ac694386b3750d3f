"""The verbs of databases: connections, their schemas, and statements that only read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.databases import (
        Connection,
        FoundTables,
        Health,
        QueryAnswer,
        Relations,
        SchemaAnswer,
        SessionInfo,
        TableColumns,
        TableList,
    )
    from thresher.verbs.request import Request

DATABASES = Kind("databases", "thresher.knowledge.databases")

TableName: TypeAlias = Annotated[str, Doc("table or schema.table")]
Sql: TypeAlias = Annotated[str, Doc("One statement that reads, in the connection's dialect")]
Cursor: TypeAlias = Annotated[str, Doc("Of the last answer: what it left out")]


@DATABASES.verb("read", key="connections")
async def sql_connection_list(request: Request) -> tuple[Connection, ...]:
    """The database connections, each with its engine, state and description."""
    return await request.services.databases.list_connections(request.caller)


@DATABASES.verb("read")
async def sql_connection_show(request: Request, connection: str) -> Connection:
    """One connection.

    Raises:
        NotFound: There is no such connection.
    """
    return await request.services.databases.connection(request.caller, connection)


@DATABASES.verb("admin")
async def add_connection(
    request: Request,
    name: Annotated[str, Doc("Letters, digits, hyphens, dots, underscores")],
    url: Annotated[str, Doc("Such as postgresql://user:password@host:5432/db or sqlite:////data/x.db")],
    description: Annotated[str, Doc("What it holds")] = "",
    samples: Annotated[bool, Doc("Potential relations may look at values")] = True,
    allow_functions: Annotated[tuple[str, ...], Doc("Functions that may be called: schema.name")] = (),
    replace: Annotated[bool, Doc("Give an existing name this address")] = False,
) -> Connection:
    """Keep a connection to a database under a name; its address is stored encrypted.

    Raises:
        InvalidInput: The name or the address is not valid, or its driver is not installed.
        Conflict: The name is taken.
        NotAllowed: The caller may not connect to this host.
    """
    added = await request.services.databases.add_connection(
        request.caller,
        name,
        url,
        samples=samples,
        description=description,
        allow_functions=allow_functions,
        replace=replace,
    )
    request.services.context.readiness.look_again()
    return added


@DATABASES.verb("admin", key="removed", destroys=True)
async def remove_connection(request: Request, connection: str) -> str:
    """Forget a connection and what is known of its schema; the database is left alone.

    Raises:
        NotFound: There is no such connection.
        NotAllowed: It belongs to the tenant and the caller is a user, or it comes from the configuration.
    """
    await request.services.databases.remove_connection(request.caller, connection)
    # A workspace's own description of the server takes the connection's place again.
    await request.services.solutions.provide_schemas(request.caller)
    request.services.context.readiness.look_again()
    return connection


@DATABASES.verb("read")
async def sql_connection_test(request: Request, connection: str) -> Health:
    """Whether a database answers, as whom we are there, and what that role could change.

    Raises:
        NotFound: There is no such connection.
    """
    return await request.services.databases.test_connection(request.caller, connection)


@DATABASES.verb("write")
async def refresh_schema(request: Request, connection: str) -> Connection:
    """Read a connection's schema again now, and wait for it.

    Raises:
        NotFound: There is no such connection.
        DatabaseUnavailable: It cannot be reached; what was known before is kept.
        QueryFailed: Its catalog cannot be read.
    """
    return await request.services.databases.refresh_schema(request.caller, connection)


@DATABASES.verb("read")
async def sql_session_info(request: Request, connection: str) -> SessionInfo:
    """What the database's server says of a session of ours: user, tag, read-only, time-outs.

    Raises:
        NotFound: There is no such connection.
        DatabaseUnavailable: It cannot be reached.
    """
    return await request.services.databases.session_info(request.caller, connection)


@DATABASES.verb("read")
async def query_database_schema(
    request: Request,
    connection: str,
    table: Annotated[str, Doc("table or schema.table: this one in full")] = "",
    question: Annotated[str, Doc("What shall be found out: only what it needs")] = "",
    budget: Annotated[int, Ge(200), Le(100_000), Doc("Most tokens of the answer")] = 4000,
    cursor: Cursor = "",
) -> SchemaAnswer:
    """A database's tables, columns, foreign keys and potential relations in one call, within a token budget.

    Raises:
        InvalidCursor: The cursor belongs to another question.
        NotFound: There is no such connection or table.
        DatabaseUnavailable: Its schema was never read, and it cannot be reached.
    """
    return await request.services.databases.query_database_schema(
        request.caller, connection, table or None, question=question or None, budget=budget, cursor=cursor or None
    )


@DATABASES.verb("read")
async def get_table_columns(request: Request, connection: str, table: TableName) -> TableColumns:
    """Columns of a table: name, type, nullable, default, primary key, comment; and its foreign keys.

    Raises:
        NotFound: There is no such connection or table.
        DatabaseUnavailable: Its schema was never read, and it cannot be reached.
    """
    return await request.services.databases.get_table_columns(request.caller, connection, table)


@DATABASES.verb("read")
async def sql_list_tables(
    request: Request,
    connection: str,
    search: Annotated[str, Doc("Words of names or comments")] = "",
    schema: Annotated[str, Doc("Only of this schema")] = "",
    limit: Annotated[int, Ge(1), Le(1_000), Doc("Most tables")] = 100,
    cursor: Cursor = "",
) -> TableList:
    """Tables and views of a database by name.

    Raises:
        InvalidCursor: The cursor belongs to another list.
        NotFound: There is no such connection or schema.
        DatabaseUnavailable: Its schema was never read, and it cannot be reached.
    """
    return await request.services.databases.list_tables(
        request.caller, connection, search or None, schema or None, limit=limit, cursor=cursor or None
    )


@DATABASES.verb("read")
async def search_schema(
    request: Request,
    query: Annotated[str, Doc("Any words, such as: which table holds invoices")],
    connection: Annotated[str, Doc("Only this connection; all by default")] = "",
    limit: Annotated[int, Ge(1), Le(50), Doc("Most tables")] = 10,
) -> FoundTables:
    """Tables that hold what is asked for, in any words.

    Raises:
        NotFound: There is no such connection.
    """
    return await request.services.databases.search_schema(request.caller, query, connection or None, limit=limit)


@DATABASES.verb("read")
async def find_relations(request: Request, connection: str) -> Relations:
    """Declared keys of a database, and columns that look like undeclared ones.

    Raises:
        NotFound: There is no such connection.
        DatabaseUnavailable: Its schema was never read, and it cannot be reached.
    """
    return await request.services.databases.find_relations(request.caller, connection)


@DATABASES.verb("read")
async def sql_query(
    request: Request,
    connection: str,
    sql: Sql,
    max_rows: Annotated[int, Ge(1), Le(10_000), Doc("Most rows")] = 200,
    cursor: Annotated[str, Doc("Of the last answer to the same SQL: the next rows")] = "",
) -> QueryAnswer:
    """Rows of one SELECT; anything that could change the database is refused.

    Raises:
        InvalidCursor: The cursor belongs to another statement.
        NotFound: There is no such connection.
        StatementRefused: The guard does not let the statement run.
        QueryFailed: The database answered with an error.
        QueryTimeout: It did not answer in time.
        DatabaseUnavailable: It cannot be reached.
    """
    return await request.services.databases.query(
        request.caller,
        connection,
        sql,
        max_rows=max_rows,
        cursor=cursor or None,
        client=request.client,
        thread=request.thread,
        tool="sql_query",
    )


@DATABASES.verb("read")
async def sql_explain(request: Request, connection: str, sql: Annotated[str, Doc("Without EXPLAIN")]) -> QueryAnswer:
    """How the database would run a statement; it is not run.

    Raises:
        NotFound: There is no such connection.
        StatementRefused: The guard does not let the statement run.
        QueryFailed: The database answered with an error.
        QueryTimeout: It did not answer in time.
        DatabaseUnavailable: It cannot be reached.
    """
    return await request.services.databases.explain(
        request.caller, connection, sql, client=request.client, thread=request.thread, tool="sql_explain"
    )
