"""Records of the databases kind.

Invariant: frozen, and without credentials. Names, comments and cells come from other people: they are data, never
instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from thresher.connectors import COLUMN_INFO, Column, ForeignKey, RelationKind, ResultColumn, SchemaDialect, Table

State: TypeAlias = Literal["new", "ready", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class Connection:
    """A named connection to a database.

    Attributes:
        id: The row's id.
        name: The name that tools take as `connection`.
        dialect: The engine's dialect; `servoy` for column information from a workspace's files.
        location: The address without user, password and options, such as `postgresql://db.example.org:5432/shop`.
        user: The user to sign in as; empty if the engine has no users.
        owner: The user who owns it; None if it belongs to the whole tenant.
        samples: Whether potential relations may sample values.
        description: What it holds, in the owner's words; may be empty.
        state: State of the stored schema: `new` was never read, `stale` could not be read again.
        problem: Why, without credentials.
        version: The engine's version; empty if unknown.
        tables: Number of tables in the schema.
        schema_at: When the schema was last confirmed.
        writable: What its role could change, in words, as a warning; empty if nothing.
        workspace: Name of the workspace that provides it; None if a user added it.
    """

    id: int
    name: str
    dialect: SchemaDialect
    location: str
    user: str
    owner: str | None
    samples: bool
    description: str
    state: State
    problem: str
    version: str
    tables: int
    schema_at: datetime | None
    writable: tuple[str, ...] = ()
    workspace: str | None = None

    @property
    def live(self) -> bool:
        """Whether there is a live database, and not only column information."""
        return self.dialect != COLUMN_INFO


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a potential relation.

    Attributes:
        kind: What was examined: `name`, `type`, `key`, `coverage`, `range`, `cardinality`, `direction`.
        text: The finding, in words.
        weight: Its contribution to the score; may be negative.
    """

    kind: str
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class PotentialRelation:
    """Columns that look like an undeclared foreign key.

    Attributes:
        schema: Schema of the child table.
        table: The child table, which would hold the key.
        columns: Columns of the child.
        target_schema: Schema of the parent table.
        target_table: The parent table.
        target_columns: Columns of the parent, in the order of `columns`.
        score: Probability, 0 to 1.
        evidence: Reasons, strongest first.
    """

    schema: str
    table: str
    columns: tuple[str, ...]
    target_schema: str
    target_table: str
    target_columns: tuple[str, ...]
    score: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class IncomingKey:
    """A declared key of another table that points here."""

    schema: str
    table: str
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """The answer of `query_database_schema`.

    Attributes:
        connection: Name of the connection.
        dialect: The engine's dialect.
        content: Text for the model; never above the budget, counted exactly.
        token_count: Tokens of `content`.
        budget: The requested budget.
        tables: Number of tables in the schema.
        shown: Names of tables in `content`, `schema.table` outside the default schema.
        foreign_keys: Declared keys of the shown tables.
        potential: Potential relations, best first.
        table: The requested table, in full; None if none was requested.
        incoming: Keys that point to that table.
        left_out: What is missing from `content`, in words; empty if nothing.
        cursor: Fetches what was left out; None if nothing was.
        notes: Warnings: a stale schema, tables beyond the limit.
        fitting: Tables that fit the question, best first, each with its probability, 0 to 1.
    """

    connection: str
    dialect: SchemaDialect
    content: str
    token_count: int
    budget: int
    tables: int
    shown: tuple[str, ...]
    foreign_keys: tuple[tuple[str, ForeignKey], ...]
    potential: tuple[PotentialRelation, ...]
    table: Table | None = None
    incoming: tuple[IncomingKey, ...] = ()
    left_out: str = ""
    cursor: str | None = None
    notes: tuple[str, ...] = ()
    fitting: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The answer of `get_table_columns` and `sql_table_info`."""

    connection: str
    schema: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    comment: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer of `sql_query` and `sql_explain`.

    Attributes:
        connection: Name of the connection.
        dialect: The engine's dialect.
        sql: The statement as it was given.
        columns: Names and types, in order.
        rows: JSON values in the order of `columns`.
        row_count: Number of rows in this answer.
        first_row: Index of the first row in the whole result, from 0.
        truncated: Whether further rows exist or values were clipped.
        reason: Why, in words; empty if not truncated.
        cursor: Fetches the next rows; None if there are none.
        audit_id: Id of the decision in the audit log.
        ms: Time on the server and on the way.
        notes: Warnings.
    """

    connection: str
    dialect: SchemaDialect
    sql: str
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int
    first_row: int
    truncated: bool
    reason: str
    cursor: str | None
    audit_id: int
    ms: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Requester:
    """What requests a statement for a caller, as recorded in the audit log and shown in the server's list of sessions.

    Attributes:
        client: The client's name and version; empty if unknown.
        model: The chat model; empty if unknown.
        thread: The conversation or session; empty if unknown.
        tool: The tool or command that was called.
    """

    client: str = ""
    model: str = ""
    thread: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class TableBrief:
    """A table's entry in lists."""

    schema: str
    name: str
    kind: RelationKind
    columns: int
    rows: int | None
    comment: str


@dataclass(frozen=True, slots=True)
class TableList:
    """The answer of `sql_list_tables`.

    Attributes:
        connection: Name of the connection.
        dialect: The engine's dialect.
        tables: A page of the matching tables, by schema and name; best matches first if words were searched for.
        total: Number of matching tables.
        cursor: Fetches the next page; None if there is none.
        notes: Warnings.
    """

    connection: str
    dialect: SchemaDialect
    tables: tuple[TableBrief, ...]
    total: int
    cursor: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table that fits some words.

    Attributes:
        connection: Name of its connection.
        table: The table.
        columns: Names of its columns, matching ones first.
        score: Probability that it fits, 0 to 1.
        why: The reason, in a few words.
    """

    connection: str
    table: TableBrief
    columns: tuple[str, ...]
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class FoundTables:
    """The result of a search in schemas.

    Attributes:
        query: The words.
        tables: Tables, best first.
        degraded: How the search was degraded, in words; empty if it was not.
    """

    query: str
    tables: tuple[FoundTable, ...]
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class Relations:
    """The declared and potential relations of a database.

    Attributes:
        connection: Name of the connection.
        foreign_keys: Declared keys, each with the table that holds it, `schema.table` outside the default schema.
        potential: Potential relations, best first.
        sampled: Whether values were sampled for them.
        notes: Warnings.
    """

    connection: str
    foreign_keys: tuple[tuple[str, ForeignKey], ...]
    potential: tuple[PotentialRelation, ...]
    sampled: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session of ours in the database's own list of sessions.

    Attributes:
        connection: Name of the connection.
        dialect: The engine's dialect.
        session: JSON values by name: user, database, tag, whether it is read-only, time-outs.
    """

    connection: str
    dialect: SchemaDialect
    session: Mapping[str, Any]
