"""Verdicts of the guard, and what it knows about the database that would run a statement.

Invariant: frozen; a verdict names the rule and the location, so that it can be understood without reading the guard.
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
"""Stable names of the rules that a statement can break. `statement` is a kind of statement that is never allowed,
`clause` a part that is not on the list of those that only read, `cost` a size that no answer needs.
"""


@dataclass(frozen=True, slots=True)
class SqlLocation:
    """A location in the SQL.

    Attributes:
        offset: Characters before it.
        line: From 1.
        column: From 1, in characters.
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
        rule: The rule that it breaks; None if it is allowed.
        reason: The same in one sentence, without the hint; empty if it is allowed.
        hint: What to write instead; may be empty.
        place: Where; None if it is allowed or the whole statement is meant.
        kind: `select`, `explain`, `show`, `values` ... of an allowed statement; what was recognized of a refused one.
        tables: Relations that it reads, as written but unquoted (`schema.table` or `table`), without CTE names.
        functions: Functions that it calls, lower case, as written but unquoted.
        limited: Whether its outermost query limits its rows.
    """

    allowed: bool
    rule: Rule | None = None
    reason: str = ""
    hint: str = ""
    place: SqlLocation | None = None
    kind: str = ""
    tables: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions of a database that only compute or read, by its catalog.

    Attributes:
        allowed: The engine's own functions that may be called: names in lower case, unqualified.
        shadowed: Names among them that a user-defined object also has: refused unless qualified with the engine's own
            schema.
        own: User functions that the owner of the connection allows, as `schema.name`, lower case.
        operators: User-defined operators, which call functions and are refused; empty if the engine has none.
        types: User-defined types that only hold values and may be cast to: `name` and `schema.name`.
        fields: User functions that can be called as a field of a value, `value.name`, or without parentheses as in
            Oracle; refused in that form.
    """

    allowed: frozenset[str]
    shadowed: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    row_fields: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Bounds of a statement.

    Attributes:
        characters: Length of its text.
        depth: Depth of its nesting.
        literal_count: The largest number given to a function that generates that many characters or rows (`repeat`,
            `lpad`, `generate_series`, `randomblob`, ...).
    """

    characters: int = 100_000
    depth: int = 200
    literal_count: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the guard knows about a database besides its dialect.

    Attributes:
        functions: From its catalog; None for the list that ships for the dialect.
        version: Of the engine, as numbers; empty if unknown, when the strictest reading applies.
        options: Session settings that affect how text is read, such as MySQL's `sql_mode`.
        sequences: Sequences that the engine would read like tables: `schema.name`, and `name` for those in the
            session's own schema.
    """

    functions: Functions | None = None
    version: tuple[int, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    sequences: frozenset[str] = frozenset()
