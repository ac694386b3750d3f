"""Records of what is read from a team's databases: schemas, rows and samples.

Invariant: frozen; values are already JSON, and exact (`docs/reference/sql-values.md`). Names and cells come from other
people: they are data, never instructions.
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
"""The dialect of tables that a workspace's files describe: there is a schema, but no server to run statements."""
SchemaDialect: TypeAlias = Dialect | Literal["servoy"]
"""The dialects that have a schema: those of the guard, and `COLUMN_INFO`."""
RelationKind: TypeAlias = Literal["table", "view", "materialized view", "foreign table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: The name in the catalog.
        type: The type in the database's notation, such as `numeric(10,2)`.
        family: The kind of values, independent of the engine's type names.
        nullable: Whether it allows NULL.
        default: The default expression, or the words `generated` or `identity`; None without one.
        comment: The catalog's comment; may be empty.
        length: Maximum characters of a text or digits of a number; None if unbounded or unknown.
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
    """A declared foreign key; both lists of columns have the same length and order.

    Attributes:
        name: The constraint's name; may be empty.
        columns: Columns of the table that holds the key.
        schema: Schema of the referenced table.
        table: The referenced table.
        target_columns: Columns of the referenced table.
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
        schema: Its schema (MySQL: the database; SQLite: empty).
        name: The name in the catalog.
        kind: Table, or which kind of view.
        columns: Columns in the table's order.
        primary_key: Column names in the key's order; empty without one.
        unique: Other unique keys, each a list of column names.
        foreign_keys: Foreign keys that the table declares.
        comment: The catalog's comment; may be empty.
        rows: The database's own estimate; None if it has none.
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
        dialect: The engine's dialect in the guard's terms, or `COLUMN_INFO`.
        version: The version that the engine reports.
        default_schema: The schema in which an unqualified name is looked up first; may be empty.
        tables: Tables sorted by schema and name.
        stamp: A text that changes with the schema and is cheap to read; empty if the engine has none.
        left_out: Number of tables beyond the limit, which are not in `tables`.
    """

    dialect: str
    version: str
    default_schema: str
    tables: tuple[Table, ...]
    stamp: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class SessionTag:
    """Identifies the requester in the server's own list of sessions.

    Attributes:
        client: The client's name, cleaned; may be empty.
        thread: The conversation or session; may be empty.
        audit_id: Id of the decision in the audit log.
    """

    client: str
    thread: str
    audit_id: int


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a result is read.

    Attributes:
        rows: Maximum rows.
        bytes: Maximum bytes of all rows as JSON.
        cell: Maximum characters of one value; a longer one is clipped and marked.
        seconds: Time after which the server cancels the statement.
        skip: Rows to skip first: those that earlier pages returned.
    """

    rows: int = 200
    bytes: int = 256 * 1024
    cell: int = 2_000
    seconds: float = 30.0
    skip: int = 0


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result: its name and the database's name of its type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a statement.

    Attributes:
        columns: Columns in order; names may repeat.
        rows: Rows of JSON values in the order of `columns`.
        truncated: The cap that ended reading early, `rows` or `bytes`; empty if none did.
        clipped: Number of clipped values.
        more: Whether further rows exist.
        ms: Time from sending the statement to reading the last row.
    """

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: str = ""
    clipped: int = 0
    more: bool = False
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """The result of testing a connection.

    Attributes:
        ok: Whether a statement ran.
        version: The version that the engine reports.
        user: The user in the server's view.
        database: The database in use.
        ms: Time to connect and run a statement.
        writable: What the role itself is allowed to change, in words; empty if nothing.
        problem: What failed, without credentials; empty if nothing did.
        connection: Name of the tested connection; empty if it has none.
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
    """Statistics of a sample of a column; fields other than `count` are None if they were not read.

    Attributes:
        count: Rows in the sample.
        nulls: NULLs among them.
        distinct: Distinct values among the others.
        low: Smallest value, as JSON.
        high: Largest value, as JSON.
        values: Some or all of the distinct values, as strings that compare equal across engines' types.
        complete: Whether `values` holds all of them.
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
    """Samples of a schema's columns, by (schema, table, column); columns not read in time are absent."""

    columns: Mapping[tuple[str, str, str], Profile] = field(default_factory=dict[Any, Any])
    rows: Mapping[tuple[str, str], int] = field(default_factory=dict[Any, Any])
