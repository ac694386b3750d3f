"""`/v1/connections` and the verbs of databases, with the names and arguments that they have on every face."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Response

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.database_models import (
    ColumnsResponse,
    ConnectionNameRequest,
    ConnectionRequest,
    ConnectionResponse,
    ConnectionsResponse,
    ExplainRequest,
    FindTablesRequest,
    FoundTablesResponse,
    HealthResponse,
    QueryRequest,
    QueryResponse,
    RelationsResponse,
    SchemaRequest,
    SchemaResponse,
    SessionResponse,
    TableRequest,
    TablesRequest,
    TablesResponse,
)
from thresher.knowledge.databases import Asker, DatabaseService
from thresher.services import Services

_Name = Annotated[str, Path(description="The connection's name.")]
_Agent = Annotated[str, Header(alias="User-Agent", include_in_schema=False)]


def connections_router(services: Services) -> APIRouter:
    """The routes of connections.

    Args:
        services: Whose databases keep them, and whose packs may be of use with one more, or of none with one less.
    """
    databases, readiness = services.databases, services.context.readiness
    router = APIRouter(prefix="/v1/connections", tags=["databases"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_connections(caller: Asking) -> ConnectionsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The connections that you see."""
        found = await databases.list_connections(caller)
        return ConnectionsResponse(connections=[ConnectionResponse.model_validate(one) for one in found])

    @router.post("", status_code=HTTPStatus.CREATED)
    async def add_connection(body: ConnectionRequest, caller: Asking) -> ConnectionResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Keep a connection under a name; its schema is read in the background."""
        given = body.model_dump(exclude={"url"})
        kept = await databases.add_connection(caller, url=body.url.get_secret_value(), **given)
        readiness.look_again()
        return ConnectionResponse.model_validate(kept)

    @router.get("/{name}")
    async def show_connection(name: _Name, caller: Asking) -> ConnectionResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One connection."""
        return ConnectionResponse.model_validate(await databases.connection(caller, name))

    @router.post("/{name}/test")
    async def try_connection(name: _Name, caller: Asking) -> HealthResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Connect and ask something harmless; what fails is in the answer."""
        return HealthResponse.model_validate(await databases.test_connection(caller, name))

    @router.post("/{name}/refresh")
    async def refresh_schema(name: _Name, caller: Asking) -> ConnectionResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Read its schema again now."""
        return ConnectionResponse.model_validate(await databases.refresh_schema(caller, name))

    @router.get("/{name}/schema")
    async def show_schema(name: _Name, caller: Asking, budget: int = 4000) -> SchemaResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What is in the database and what relates to what; `query_database_schema` takes more arguments."""
        return SchemaResponse.model_validate(await databases.query_database_schema(caller, name, budget=budget))

    @router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove_connection(name: _Name, caller: Asking) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Forget it and what is known of its schema; the database is left alone."""
        await databases.remove_connection(caller, name)
        await services.solutions.provide_schemas(caller)  # what a workspace knows of it stands in for it again
        readiness.look_again()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def schemas_router(databases: DatabaseService) -> APIRouter:
    """The routes of schemas.

    Args:
        databases: Answers them.
    """
    router = APIRouter(prefix="/v1", tags=["databases"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/query_database_schema")
    async def query_database_schema(body: SchemaRequest, caller: Asking) -> SchemaResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Tables, keys and potential relations in one call, inside a token budget."""
        return SchemaResponse.model_validate(await databases.query_database_schema(caller, **body.model_dump()))

    @router.post("/get_table_columns")
    @router.post("/sql_table_info")
    async def get_table_columns(body: TableRequest, caller: Asking) -> ColumnsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The columns of a table and the keys that it holds; both names are one verb."""
        return ColumnsResponse.model_validate(await databases.get_table_columns(caller, **body.model_dump()))

    @router.post("/sql_list_tables")
    async def sql_list_tables(body: TablesRequest, caller: Asking) -> TablesResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Tables and views by name."""
        return TablesResponse.model_validate(await databases.list_tables(caller, **body.model_dump(by_alias=True)))

    @router.post("/search_schema")
    async def search_schema(body: FindTablesRequest, caller: Asking) -> FoundTablesResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Tables that hold what is asked for, in any words."""
        return FoundTablesResponse.model_validate(await databases.search_schema(caller, **body.model_dump()))

    @router.post("/find_relations")
    async def find_relations(body: ConnectionNameRequest, caller: Asking) -> RelationsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Declared keys, and columns that look like undeclared ones."""
        return RelationsResponse.model_validate(await databases.find_relations(caller, body.connection))

    return router


def statements_router(databases: DatabaseService) -> APIRouter:
    """The routes of statements.

    Args:
        databases: Runs them.
    """
    router = APIRouter(prefix="/v1", tags=["databases"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/sql_query")
    async def sql_query(body: QueryRequest, caller: Asking, agent: _Agent = "") -> QueryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Run one statement that only reads."""
        asker = Asker(client=agent, tool="sql_query")
        return QueryResponse.model_validate(await databases.query(caller, **body.model_dump(), who=asker))

    @router.post("/sql_explain")
    async def sql_explain(body: ExplainRequest, caller: Asking, agent: _Agent = "") -> QueryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """How the database would run a statement; it is not run."""
        asker = Asker(client=agent, tool="sql_explain")
        return QueryResponse.model_validate(await databases.explain(caller, **body.model_dump(), who=asker))

    @router.post("/sql_session_info")
    async def sql_session_info(body: ConnectionNameRequest, caller: Asking) -> SessionResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What the database's server says of a session of ours."""
        return SessionResponse.model_validate(await databases.session_info(caller, body.connection))

    return router
