"""What the guard says of a statement, and what it knows of the database that would run it.

Invariant: frozen; a verdict names the rule and the place, so that a reader can see why without reading the guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["postgresql", "mysql", "mariadb", "sqlite", "duckdb", "oracle", "mssql"]
DIALECTS: Final[tuple[Dialect, ...]] = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb", "oracle", "mssql")

Rule: TypeAlias = Literal[
    "empty",
    "too_long",
    "too_deep",
    "syntax",
    "several_statements",
    "statement",
    "writes",
    "locks",
    "function",
    "shadowed_function",
    "operator",
    "type",
    "relation",
    "file",
    "comment",
    "parameter",
    "clause",
    "cost",
]
"""Stable names: what a refused statement broke. `statement` is a kind of statement that may not run at all, `clause` a
part that is not on the list of those that only read, `cost` a size that no answer needs."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the SQL.

    Attributes:
        offset: Characters before it.
        line: Counted from 1.
        column: Counted from 1, in characters.
        text: The word or the beginning of the part, at most 80 characters.
    """

    offset: int
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a statement may run.

    Attributes:
        allowed: Whether it only reads.
        rule: What it broke; None where it is allowed.
        reason: The same in one sentence, without the hint; empty where it is allowed.
        hint: What to write instead; may be empty.
        place: Where; None where it is allowed, or where the whole statement is meant.
        kind: `select`, `explain`, `show`, `values` ... of an allowed statement; what was recognised of a refused one.
        tables: The relations that it reads, as written but unquoted (`schema.table` or `table`), without CTE names.
        functions: The functions that it calls, lower case, as written but unquoted.
        limited: Whether its outermost query limits its rows itself.
    """

    allowed: bool
    rule: Rule | None = None
    reason: str = ""
    hint: str = ""
    place: Place | None = None
    kind: str = ""
    tables: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Functions:
    """Which functions a database has that only compute or read, by its own catalog.

    Attributes:
        allowed: Names that may be called, lower case, unqualified: the engine's own.
        shadowed: Names among them that an object of a user of that database also bears: refused unless qualified with
            the engine's own schema.
        own: Functions of users that the connection's owner allows, as `schema.name`, lower case.
        operators: Operators of users, which call functions: refused. Empty where the engine has none.
        types: Types of users that only hold values, and may be cast to: `name` and `schema.name`.
        fields: Functions of users that can be called as a field of a value, `value.name`, or without brackets as in
            Oracle: refused as such.
    """

    allowed: frozenset[str]
    shadowed: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    row_fields: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a statement may be at most.

    Attributes:
        characters: Of its text.
        depth: Of its nesting.
        literal_count: The largest number given to a function that makes so many characters or rows (`repeat`, `lpad`,
            `generate_series`, `randomblob`, ...).
    """

    characters: int = 100_000
    depth: int = 200
    literal_count: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the guard knows of a database beside its dialect.

    Attributes:
        functions: From the catalog; None: the list that ships for the dialect.
        version: Of the engine, as numbers; empty: unknown, and the strictest reading counts.
        options: What the session will be set to that changes how text is read, such as MySQL's `sql_mode`.
        sequences: Sequences that the engine would read like tables: `schema.name`, and `name` of those in the session's
            own schema.
    """

    functions: Functions | None = None
    version: tuple[int, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    sequences: frozenset[str] = frozenset()
