"""The notation of tables, keys and types for a model: few tokens, one line each.

Invariant: pure; a name or comment never breaks out of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from thresher.connectors import COLUMN_INFO, Column, ForeignKey, SchemaDialect, Table
from thresher.core import one_line
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.models import PotentialRelation

NAME_CHARACTERS: Final = 128
_TYPE_CHARACTERS: Final = 48
_BRIEF_COMMENT: Final = 80
_WHOLE_COMMENT: Final = 400
_DEFAULT_CHARACTERS: Final = 60
_SHORT_TYPES: Final = (
    ("character varying", "varchar"),
    ("timestamp without time zone", "timestamp"),
    ("timestamp with time zone", "timestamptz"),
    ("time without time zone", "time"),
    ("time with time zone", "timetz"),
    ("double precision", "double"),
    ("character", "char"),
)
_PLAIN: Final[Mapping[str, re.Pattern[str]]] = {
    "postgresql": re.compile(r"[a-z_][a-z0-9_$]*"),
    "oracle": re.compile(r"[A-Z][A-Z0-9_$#]*"),
}
_PLAIN_ELSEWHERE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTES: Final[Mapping[str, str]] = {"mysql": "`", "mariadb": "`", "mssql": "[]"}

NOTES: Final[Mapping[SchemaDialect, str]] = {
    "postgresql": "names with capitals or blanks need double quotes; text is compared with its case, by ilike "
    "without; limit n offset m; date_trunc, interval '1 day'; a / b of integers is an integer",
    "mysql": "names in backticks; limit n offset m; date_format, date_add(d, interval 1 day); text is compared "
    "without its case mostly; concat() and no ||",
    "mariadb": "names in backticks; limit n offset m; date_format, date_add(d, interval 1 day); text is compared "
    "without its case mostly; concat() and no ||",
    "sqlite": "limit n offset m; strftime('%Y', d); dates are texts or numbers; a / b of integers is an integer; "
    "no right type is enforced, so cast when in doubt",
    "duckdb": "limit n offset m; date_trunc, interval 1 day; a / b gives a fraction, a // b does not; qualify and "
    "group by all exist; names are compared without their case",
    "oracle": "names are upper case unless quoted; fetch first n rows only (no limit); to_char(d, 'YYYY-MM'); "
    "from dual; no = true; '' is null",
    "mssql": "names in brackets; top (n), or offset m rows fetch next n rows only after order by (no limit); "
    "datepart, dateadd(day, 1, d); + joins text",
    COLUMN_INFO: "a workspace's column information: no live server, so no statements; columns and keys for relations "
    "and value lists",
}
"""Common mistakes in each dialect, in one line."""


def inline(text: str, most: int = NAME_CHARACTERS) -> str:
    """Foreign text as one line without control characters."""
    return one_line(text, most)


def brief_type(name: str) -> str:
    """A type's name in short form."""
    short = inline(name, _TYPE_CHARACTERS)
    for long, brief in _SHORT_TYPES:
        if short.lower().startswith(long):
            return brief + short[len(long) :]
    return short


def must_quote(dialect: str, name: str) -> bool:
    """Whether a name must be quoted to keep its spelling; reserved words are not checked."""
    return not _PLAIN.get(dialect, _PLAIN_ELSEWHERE).fullmatch(name)


def quoted(dialect: str, name: str) -> str:
    """A name in the quotes of its dialect."""
    opening, closing = (_QUOTES.get(dialect, '"') * 2)[:2]
    return f"{opening}{name.replace(closing, closing * 2)}{closing}"


def written(dialect: str, name: str) -> str:
    """A name in the form that statements need."""
    return quoted(dialect, name) if must_quote(dialect, name) else name


class SchemaWriter:
    """Writes the tables of one schema in the notation for models.

    Args:
        catalog: The schema.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def name(self, schema: str, table: str) -> str:
        """A table's name."""
        return inline(self._catalog.shown(schema, table), 2 * NAME_CHARACTERS)

    def full(self, table: Table, most: int = 200) -> str:
        """A table with its columns, types and keys, on one line."""
        pointing = self._pointing(table)
        columns = [self._brief_column(table, column, pointing) for column in table.columns[:most]]
        if len(table.columns) > most:
            columns.append(f"and {len(table.columns) - most} more columns")
        return self._line(table, columns)

    def keyed(self, table: Table) -> str:
        """A table with its key columns, and the number of other columns."""
        pointing = self._pointing(table)
        keys = [one for one in table.columns if one.name in pointing or one.name in table.primary_key]
        columns = [inline(one.name) + self._marks(table, one, pointing) for one in keys]
        if others := len(table.columns) - len(keys):
            columns.append(f"+{others}")
        return self._line(table, columns, comments=False)

    def _line(self, table: Table, columns: Iterable[str], *, comments: bool = True) -> str:
        parts = [f"{self.name(table.schema, table.name)}({', '.join(columns)})"]
        if table.kind != "table":
            parts.insert(0, table.kind)
        parts += [self.key(key) for key in table.foreign_keys if len(key.columns) > 1]
        if comments and table.comment.strip():
            parts.append(f"-- {inline(table.comment, _BRIEF_COMMENT)}")
        return " ".join(parts)

    def _brief_column(self, table: Table, column: Column, pointing: Mapping[str, str]) -> str:
        text = f"{inline(column.name)} {brief_type(column.type)}".rstrip()
        return text + self._marks(table, column, pointing)

    def _marks(self, table: Table, column: Column, pointing: Mapping[str, str]) -> str:
        return (" PK" if column.name in table.primary_key else "") + pointing.get(column.name, "")

    def _pointing(self, table: Table) -> dict[str, str]:
        """The targets of declared keys by column; empty for composite keys, which are shown as a whole."""
        return {
            key.columns[0]: f" -> {self._target(key.schema, key.table, key.target_columns)}"
            for key in reversed(table.foreign_keys)
            if len(key.columns) == 1
        } | {name: "" for key in table.foreign_keys if len(key.columns) > 1 for name in key.columns}

    def _target(self, schema: str, name: str, columns: tuple[str, ...]) -> str:
        """The target of a key; columns are left out if they are the primary key."""
        known = self._catalog.by_key.get((schema, name))
        shown = self.name(schema, name)
        return shown if known is not None and known.primary_key == columns else f"{shown}{_listed(columns)}"

    def key(self, key: ForeignKey) -> str:
        """A key with all its columns."""
        return f"key {_listed(key.columns)} -> {self.name(key.schema, key.table)}{_listed(key.target_columns)}"

    def potential(self, one: PotentialRelation, *, evidence: bool = False) -> str:
        """An undeclared relation."""
        held = f"{self.name(one.schema, one.table)}{_listed(one.columns)}"
        target = f"{self.name(one.target_schema, one.target_table)}{_listed(one.target_columns)}"
        why = "; ".join(inline(reason.text, 100) for reason in one.evidence[:4])
        return f"{held} ~> {target} {one.score:.2f}" + (f" ({why})" if evidence and why else "")

    def joined(self, key: ForeignKey, table: Table) -> str:
        """The join condition of a declared key."""
        return self.condition(table.schema, table.name, key.columns, key.schema, key.table, key.target_columns)

    def condition(
        self,
        schema: str,
        table: str,
        columns: tuple[str, ...],
        target_schema: str,
        target: str,
        target_columns: tuple[str, ...],
    ) -> str:
        """A join condition in the form that statements need."""
        dialect = self._catalog.schema.dialect
        left, right = self._qualified(schema, table), self._qualified(target_schema, target)
        return " and ".join(
            f"{left}.{written(dialect, inline(one))} = {right}.{written(dialect, inline(other))}"
            for one, other in zip(columns, target_columns, strict=False)
        )

    def _qualified(self, schema: str, table: str) -> str:
        """A table's name in the form that statements need."""
        known = self._catalog.schema
        parts = [table] if not schema or schema == known.default_schema else [schema, table]
        return ".".join(written(known.dialect, inline(part)) for part in parts)

    def whole(self, table: Table) -> list[str]:
        """A table in full, with a line for each column and key."""
        rows = "" if table.rows is None else f", about {table.rows:,} rows"
        lines = [f"{table.kind} {self.name(table.schema, table.name)}: {len(table.columns)} columns{rows}"]
        if table.comment.strip():
            lines.append(f"comment: {inline(table.comment, _WHOLE_COMMENT)}")
        lines.append(f"primary key: {_listed(table.primary_key) if table.primary_key else 'none'}")
        lines += [f"unique: {_listed(key)}" for key in table.unique]
        lines.append("columns:")
        lines += [f"- {self._whole_column(table, column)}" for column in table.columns]
        return lines + self._whole_keys(table)

    def _whole_column(self, table: Table, column: Column) -> str:
        parts = [inline(column.name), brief_type(column.type)]
        parts += [] if column.nullable else ["not null"]
        parts += ["PK"] if column.name in table.primary_key else []
        parts += [f"default {inline(column.default, _DEFAULT_CHARACTERS)}"] if column.default else []
        parts += [f"-- {inline(column.comment, _WHOLE_COMMENT)}"] if column.comment.strip() else []
        return " ".join(part for part in parts if part)

    def _whole_keys(self, table: Table) -> list[str]:
        own = (table.schema, table.name)
        outgoing = [
            f"- {_listed(key.columns)} -> {self.name(key.schema, key.table)}{_listed(key.target_columns)}"
            for key in table.foreign_keys
        ]
        incoming = [
            f"- {self.name(other.schema, other.name)}{_listed(key.columns)} -> {_listed(key.target_columns)}"
            for other, key in self._catalog.incoming.get(own, ())
        ]
        guessed = [
            f"- {self.potential(one, evidence=True)}"
            for one in self._catalog.known.potential
            if own in ((one.schema, one.table), (one.target_schema, one.target_table))
        ]
        titles = ("foreign keys:", "keys that point here:", "potential relations (undeclared, guessed, score 0 to 1):")
        return [
            line
            for title, lines in zip(titles, (outgoing, incoming, guessed), strict=True)
            for line in ([title, *lines] if lines else [])
        ]


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(inline(name) for name in names)})"
