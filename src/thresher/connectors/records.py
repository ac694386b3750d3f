"""What is read from a team's databases: their schemas, and rows.

Invariant: frozen; values are JSON already, exact (`docs/reference/sql-values.md`). Names and cells are other people's
text: data, never instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from thresher.sqlguard import Dialect

Family: TypeAlias = Literal[
    "integer", "decimal", "float", "text", "boolean", "date", "time", "datetime", "interval", "uuid", "json", "binary",
    "array", "other",
]  # fmt: skip
COLUMN_INFO: Final = "servoy"
"""Dialect of what a workspace's files say of tables: it has a schema, and no server that a statement could run on."""
SchemaDialect: TypeAlias = Dialect | Literal["servoy"]
"""Whatever can be asked for its schema: the guard's dialects, and `COLUMN_INFO`."""
RelationKind: TypeAlias = Literal["table", "view", "materialized view", "foreign table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: As the catalog has it.
        type: As the database writes it, such as `numeric(10,2)`.
        family: What kind of values it holds, whatever the engine calls it.
        nullable: Whether it may be empty.
        default: The expression, or the words `generated`, `identity`; None without one.
        comment: The catalog's; may be empty.
        length: Most characters of a text; digits of a number; None where unbounded or unknown.
    """

    name: str
    type: str
    family: Family
    nullable: bool
    default: str | None = None
    comment: str = ""
    length: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A declared key; both lists of columns have the same length and order.

    Attributes:
        name: Of the constraint; may be empty.
        columns: In the table that holds it.
        schema: Of the table that it points to.
        table: That it points to.
        target_columns: There.
    """

    name: str
    columns: tuple[str, ...]
    schema: str
    table: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view.

    Attributes:
        schema: Its schema (MySQL: database; SQLite: empty).
        name: As the catalog has it.
        kind: What it is.
        columns: In order.
        primary_key: Column names in the key's order; empty without one.
        unique: Other unique keys, each a list of column names.
        foreign_keys: Declared ones that it holds.
        comment: The catalog's; may be empty.
        rows: The database's own estimate; None where it has none.
    """

    schema: str
    name: str
    kind: RelationKind
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str = ""
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables of a connection that its role may see.

    Attributes:
        dialect: The engine's, as the guard names it, or `COLUMN_INFO`.
        version: Of the engine, as it says it.
        default_schema: Where an unqualified name is looked for first; may be empty.
        tables: By schema and name.
        stamp: Changes when the schema does (cheap to ask again); empty where the engine has none.
        left_out: Tables beyond the limit, which are not in `tables`.
    """

    dialect: str
    version: str
    default_schema: str
    tables: tuple[Table, ...]
    stamp: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Tag:
    """Who asks; shown in the server's own view of its sessions.

    Attributes:
        client: The client's name, cleaned; may be empty.
        thread: The conversation or session; may be empty.
        audit_id: Of the decision in the audit log.
    """

    client: str
    thread: str
    audit_id: int


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of an answer is read.

    Attributes:
        rows: Most rows.
        bytes: Most bytes of all rows as JSON.
        cell: Most characters of one value; longer ones are clipped and say so.
        seconds: Time on the server, after which the statement is cancelled there.
        skip: Rows to pass over first: where the last answer ended.
    """

    rows: int = 200
    bytes: int = 256 * 1024
    cell: int = 2_000
    seconds: float = 30.0
    skip: int = 0


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of an answer: its name and the database's name of its type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Rows:
    """An answer.

    Attributes:
        columns: In order; names may repeat.
        rows: Each a list of JSON values in the order of `columns`.
        truncated: Empty, or what ended it before its time: `rows`, `bytes`.
        clipped: How many values were clipped.
        more: Whether further rows exist.
        ms: Time from sending the statement to the last row that was read.
    """

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: str = ""
    clipped: int = 0
    more: bool = False
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """What a test of a connection found.

    Attributes:
        ok: Whether a statement ran.
        version: The engine's, as it says it.
        user: Whom the server takes us for.
        database: Where we are.
        ms: Time to connect and ask.
        writable: What the role could change if nothing else stood in its way, in words; empty when nothing.
        problem: What failed, without credentials; empty when nothing did.
        connection: The name of what was tested; empty where it has none.
    """

    ok: bool
    version: str = ""
    user: str = ""
    database: str = ""
    ms: float = 0.0
    writable: tuple[str, ...] = ()
    problem: str = ""
    connection: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a sample says of a column; everything but `count` is None where it was not read.

    Attributes:
        count: Rows looked at.
        nulls: Of these.
        distinct: Different values among the others.
        low: Smallest value, as JSON.
        high: Largest.
        values: Some or all of the different values, as strings that compare equal across engines' types.
        complete: Whether `values` are all of them.
    """

    count: int
    nulls: int | None = None
    distinct: int | None = None
    low: Any = None
    high: Any = None
    values: frozenset[str] | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Profiles:
    """Samples of a schema's columns, by (schema, table, column); what could not be read in time is absent."""

    columns: Mapping[tuple[str, str, str], Profile] = field(default_factory=dict[Any, Any])
    rows: Mapping[tuple[str, str], int] = field(default_factory=dict[Any, Any])
