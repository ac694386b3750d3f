"""The bodies of requests and answers of databases.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent. No answer holds a credential.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from thresher.api.request_body import RequestBody

Budget = Annotated[int, Field(strict=True, description="Tokens (o200k) of the answer at most, 200 to 100,000.")]
Connected = Annotated[str, Field(description="Name of the connection.")]
Named = Annotated[str, Field(description="`table` or `schema.table`.")]


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class ConnectionRequest(RequestBody):
    """A connection to keep."""

    name: str = Field(description="What it is called: letters, digits, hyphens, dots, underscores.")
    url: SecretStr = Field(description="A SQLAlchemy URL, password included; it is stored encrypted.")
    description: str = Field("", description="What the database holds.")
    samples: bool = Field(True, description="Whether potential relations may look at values.")
    allow_functions: list[str] = Field([], description="Functions of that database that may be called: `schema.name`.")
    replace: bool = Field(False, description="Whether a connection of this name takes this address.")


class SchemaRequest(RequestBody):
    """What `query_database_schema` takes."""

    connection: Connected
    table: str | None = Field(None, description="`table` or `schema.table`: this one in full.")
    question: str | None = Field(None, description="What shall be found out: only what it needs.")
    budget: Budget = 4000
    cursor: str | None = Field(None, description="Of the last answer to the same: what it left out.")


class TableRequest(RequestBody):
    """What `get_table_columns` and `sql_table_info` take."""

    connection: Connected
    table: Named


class TablesRequest(RequestBody):
    """What `sql_list_tables` takes."""

    connection: Connected
    search: str | None = Field(None, description="Words of names or comments; all of them must be there.")
    schema_: str | None = Field(None, alias="schema", description="Only of this schema.")
    limit: int = Field(100, ge=1, le=1000, description="Tables at most.")
    cursor: str | None = Field(None, description="Of the last answer to the same: the next ones.")


class FindTablesRequest(RequestBody):
    """What `search_schema` takes."""

    query: str = Field(description="Any words, such as `which table holds invoices`.")
    connection: str | None = Field(None, description="Only this connection; all that you see unless given.")
    limit: int = Field(10, ge=1, le=50, description="Tables at most.")


class QueryRequest(RequestBody):
    """What `sql_query` takes."""

    connection: Connected
    sql: str = Field(description="One statement that reads, in the dialect of the connection's engine.")
    max_rows: int = Field(200, ge=1, le=10_000, description="Rows at most.")
    cursor: str | None = Field(None, description="Of the last answer to the same statement: the next rows.")


class ExplainRequest(RequestBody):
    """What `sql_explain` takes."""

    connection: Connected
    sql: str = Field(description="The statement, without EXPLAIN.")


class ConnectionNameRequest(RequestBody):
    """What `sql_session_info` and `find_relations` take."""

    connection: Connected


class ConnectionResponse(_Record):
    """A connection."""

    name: str
    dialect: str = Field(description="Of its engine.")
    location: str = Field(description="The address without user, password and options.")
    user: str = Field(description="Whom it signs in as; empty where the engine knows no users.")
    owner: str | None = Field(description="The user whose it is; null: everybody's in the tenant.")
    samples: bool
    description: str
    state: str = Field(description="Of its schema: `new`, `ready`, `stale` or `failed`.")
    problem: str = Field(description="Why it could not be read.")
    version: str = Field(description="Of the engine; empty when unknown.")
    tables: int
    schema_at: dt.datetime | None = Field(description="When the schema was last read and found so.")
    writable: list[str] = Field(description="What its role could change; a warning where there is anything.")


class ConnectionsResponse(BaseModel):
    """The connections that you see, by name."""

    connections: list[ConnectionResponse]


class HealthResponse(_Record):
    """What a test of a connection found."""

    ok: bool
    version: str
    user: str
    database: str
    ms: float
    writable: list[str] = Field(description="What the role could change if nothing else stood in its way.")
    problem: str


class SessionResponse(_Record):
    """What the database's server says of a session of ours."""

    connection: str
    dialect: str
    session: dict[str, Any]


class ColumnResponse(_Record):
    """A column."""

    name: str
    type: str = Field(description="As the database writes it.")
    family: str = Field(description="What kind of values it holds, whatever the engine calls it.")
    nullable: bool
    default: str | None
    comment: str
    length: int | None


class ForeignKeyResponse(_Record):
    """A declared key; both lists of columns have the same order."""

    name: str
    columns: list[str]
    schema_: str = Field(alias="schema")
    table: str
    target_columns: list[str]


HeldKey = tuple[str, ForeignKeyResponse]
"""The table that holds a key, and the key."""


class TableResponse(_Record):
    """A table in full."""

    schema_: str = Field(alias="schema")
    name: str
    kind: str
    columns: list[ColumnResponse]
    primary_key: list[str]
    unique: list[list[str]]
    foreign_keys: list[ForeignKeyResponse]
    comment: str
    rows: int | None = Field(description="The database's own estimate.")


class ColumnsResponse(_Record):
    """The answer of `get_table_columns` and `sql_table_info`."""

    connection: str
    schema_: str = Field(alias="schema")
    table: str
    columns: list[ColumnResponse]
    primary_key: list[str]
    foreign_keys: list[ForeignKeyResponse]
    comment: str
    rows: int | None = Field(description="The database's own estimate.")


class EvidenceResponse(_Record):
    """A reason for a potential relation."""

    kind: str
    text: str
    weight: float


class RelationResponse(_Record):
    """Columns that look like an undeclared foreign key."""

    schema_: str = Field(alias="schema")
    table: str
    columns: list[str]
    target_schema: str
    target_table: str
    target_columns: list[str]
    score: float = Field(description="0 to 1: how probable it is held.")
    evidence: list[EvidenceResponse]


class IncomingKeyResponse(_Record):
    """A declared key of another table that points to the one that was asked for."""

    schema_: str = Field(alias="schema")
    table: str
    columns: list[str]
    target_columns: list[str]


class SchemaResponse(_Record):
    """The answer of `query_database_schema`."""

    connection: str
    dialect: str
    content: str = Field(description="What to put before a model.")
    token_count: int = Field(description="Of `content`, exactly; never above the budget.")
    budget: int
    tables: int = Field(description="How many the schema has.")
    shown: list[str] = Field(description="Names in `content`; `schema.table` outside the default schema.")
    foreign_keys: list[HeldKey]
    potential: list[RelationResponse]
    table: TableResponse | None = Field(description="The one that was asked for, in full.")
    incoming: list[IncomingKeyResponse]
    left_out: str = Field(description="What is not in `content`; empty when nothing.")
    cursor: str | None = Field(description="Fetches what was left out.")
    notes: list[str]
    fitting: dict[str, float] = Field(description="The tables that fit the question, each with its probability.")


class TableBriefResponse(_Record):
    """A table."""

    schema_: str = Field(alias="schema")
    name: str
    kind: str
    columns: int
    rows: int | None = Field(description="The database's own estimate.")
    comment: str


class TablesResponse(_Record):
    """The answer of `sql_list_tables`."""

    connection: str
    dialect: str
    tables: list[TableBriefResponse]
    total: int
    cursor: str | None
    notes: list[str]


class FoundTableResponse(_Record):
    """A table that fits some words."""

    connection: str
    table: TableBriefResponse
    columns: list[str]
    score: float
    why: str


class FoundTablesResponse(_Record):
    """The answer of `search_schema`, best table first."""

    query: str
    tables: list[FoundTableResponse]
    degraded: str


class ResultColumnResponse(_Record):
    """A column of an answer; names may repeat."""

    name: str
    type: str


class QueryResponse(_Record):
    """The answer of `sql_query` and `sql_explain`."""

    connection: str
    dialect: str
    sql: str
    columns: list[ResultColumnResponse]
    rows: list[list[Any]] = Field(description="JSON values in the order of `columns`; `docs/reference/sql-values.md`.")
    row_count: int
    first_row: int = Field(description="The number of the first of them, from 0 over the whole answer.")
    truncated: bool
    reason: str
    cursor: str | None = Field(description="Fetches the next rows.")
    audit_id: int
    ms: float
    notes: list[str]


class RelationsResponse(_Record):
    """The answer of `find_relations`."""

    connection: str
    foreign_keys: list[HeldKey]
    potential: list[RelationResponse]
    sampled: bool
    notes: list[str]
