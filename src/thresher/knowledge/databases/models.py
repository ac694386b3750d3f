"""The records of the databases kind.

Invariant: frozen; no credential is in any of them. Names, comments and cells are other people's text: data, never
instruction.
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
        id: Its row's.
        name: What every tool takes as `connection`.
        dialect: Of its engine; `servoy` where there is none, but what a workspace's files say of its tables.
        location: The address without user, password and options, such as `postgresql://db.example.org:5432/shop`.
        user: Whom it signs in as; empty where the engine knows no users.
        owner: None: the whole tenant's; else one user's.
        samples: Whether potential relations may look at values.
        description: What it holds, in its owner's words; may be empty.
        state: Of the schema that is known: `new` was never read, `stale` could not be read again.
        problem: Why, without credentials.
        version: Of the engine; empty when unknown.
        tables: How many the schema has.
        schema_at: When it was last read and found so.
        writable: What its role could change, in words: a warning. Empty when nothing.
        workspace: The one that it was provided for, by name; None where somebody added it.
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
        """Whether there is a database to ask, and not only column information."""
        return self.dialect != COLUMN_INFO


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a potential relation.

    Attributes:
        kind: What was looked at: `name`, `type`, `key`, `coverage`, `range`, `cardinality`, `direction`.
        text: What was seen, in words.
        weight: What it added to the score, or took from it.
    """

    kind: str
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class PotentialRelation:
    """Columns that look like an undeclared foreign key.

    Attributes:
        schema: Of the child table.
        table: The child: the one that would hold the key.
        columns: There.
        target_schema: Of the parent.
        target_table: The parent.
        target_columns: There, in the order of `columns`.
        score: 0 to 1: how probable the finder holds it.
        evidence: Why, strongest first.
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
    """What `query_database_schema` says.

    Attributes:
        connection: Its name.
        dialect: Of the engine.
        content: For the model: never above the budget, exactly counted.
        token_count: Of `content`.
        budget: That was asked for.
        tables: How many the schema has.
        shown: Names in `content`, `schema.table` outside the default schema.
        foreign_keys: Declared ones among what is shown.
        potential: Undeclared ones, best first.
        table: The one that was asked for, in full; else None.
        incoming: Keys that point to it.
        left_out: What is not in `content`, in words; empty when nothing.
        cursor: Fetches what was left out; None when nothing was.
        notes: What must be known: a stale schema, tables beyond the limit.
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
    """What `get_table_columns` and `sql_table_info` say: one implementation."""

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
    """What `sql_query` and `sql_explain` say.

    Attributes:
        connection: Its name.
        dialect: Of the engine.
        sql: As it was given.
        columns: Names and types, in order.
        rows: JSON values in that order.
        row_count: How many rows are here.
        first_row: The number of the first of them, counted from 0 over the whole answer.
        truncated: Whether the answer goes on, or values were clipped.
        reason: Why, in words; empty when not truncated.
        cursor: Fetches the next rows; None when there are none.
        audit_id: Of the decision.
        ms: On the server and on the way.
        notes: What must be known.
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
class Asker:
    """Who has a statement run, beside the caller: what the audit log notes and the server's own view shows.

    Attributes:
        client: The client's name and version; empty where unknown.
        model: Where known.
        thread: The conversation or session; empty where unknown.
        tool: Which tool or command was called.
    """

    client: str = ""
    model: str = ""
    thread: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class TableBrief:
    """A table, as lists show it."""

    schema: str
    name: str
    kind: RelationKind
    columns: int
    rows: int | None
    comment: str


@dataclass(frozen=True, slots=True)
class TableList:
    """What `sql_list_tables` says.

    Attributes:
        connection: Its name.
        dialect: Of the engine.
        tables: Some of those that match, by schema and name; with a search the nearest first.
        total: How many match.
        cursor: Fetches the next ones; None when there are none.
        notes: What must be known.
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
        connection: Where it is.
        table: What it is.
        columns: Names of its columns, those that the words meet first.
        score: Probability, 0 to 1, that it fits.
        why: The reason, in a few words.
    """

    connection: str
    table: TableBrief
    columns: tuple[str, ...]
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class FoundTables:
    """What a search of schemas found.

    Attributes:
        query: The words.
        tables: Best first.
        degraded: What was weaker than it should be, in words; empty when all was well.
    """

    query: str
    tables: tuple[FoundTable, ...]
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class Relations:
    """What is known to relate in a database.

    Attributes:
        connection: Its name.
        foreign_keys: Declared ones, each with the table that holds it, `schema.table` outside the default schema.
        potential: Undeclared ones, best first.
        sampled: Whether values were looked at for these.
        notes: What must be known.
    """

    connection: str
    foreign_keys: tuple[tuple[str, ForeignKey], ...]
    potential: tuple[PotentialRelation, ...]
    sampled: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a database says of a session of ours, as its own view of sessions has it.

    Attributes:
        connection: Its name.
        dialect: Of the engine.
        session: Name to value, as JSON: user, database, tag, whether it is read-only, time-outs.
    """

    connection: str
    dialect: SchemaDialect
    session: Mapping[str, Any]
