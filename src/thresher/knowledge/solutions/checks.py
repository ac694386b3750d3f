"""Whether data sources, columns and sort orders are there, as far as the workspace knows its tables.

Invariant: pure over what was read; what cannot be known, such as a table that a script makes at run time, is no error
but a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypeVar

from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.servoy import ColumnFacts, DataSource, RelationItem, TableFacts, datasource

_T = TypeVar("_T")
ColumnType: TypeAlias = Literal["text", "integer", "number", "datetime", "binary", "other"]

_TYPES: Final[Mapping[int, ColumnType]] = {
    **dict.fromkeys((-16, -15, -9, -1, 1, 12, 2005, 2009, 2011), "text"),
    **dict.fromkeys((-7, -6, -5, 4, 5, 16), "integer"),
    **dict.fromkeys((2, 3, 6, 7, 8), "number"),
    **dict.fromkeys((91, 92, 93, 2013, 2014), "datetime"),
    **dict.fromkeys((-4, -3, -2, 2004), "binary"),
}
"""Numbers of java.sql.Types."""
_UUID: Final = 4
"""Flag of a column."""
_SORT: Final = re.compile(r"\s*([^\s,]+)(?:\s+(asc|desc))?\s*", re.I)
_NAMED: Final = 30
LITERAL: Final = "LITERAL:"
SCOPES: Final = ("scopes.", "globals.")


@dataclass(frozen=True, slots=True)
class Source:
    """A data source, as the workspace knows it.

    Attributes:
        source: With the names as files have them.
        table: Its columns; None where the workspace holds no information on it.
        note: Why that is so.
        calculations: Names of what is calculated for its records.
    """

    source: DataSource
    table: TableFacts | None = None
    note: str = ""
    calculations: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As files have it."""
        return self.source.text

    @property
    def said(self) -> str:
        """As people call it: `crm/orders`."""
        return self.text.removeprefix("db:/")

    def column(self, name: str, *, calculated: bool = True) -> ColumnFacts | None:
        """The facts of a column; None where nothing is known of it.

        Args:
            name: As somebody wrote it, in any case.
            calculated: Whether a calculation would do, too.

        Raises:
            InvalidInput: The table has no such column; the hint offers near ones.
        """
        if self.table is None or (calculated and name in self.calculations):
            return None
        if (found := _alike(name, {one.name: one for one in self.table.columns})) is not None:
            return found
        names = [one.name for one in self.table.columns]
        known = names + list(self.calculations) if calculated else names
        near = did_you_mean(nearest(name[:80], known))
        raise InvalidInput(f"{self.said} has no column '{name[:80]}'.", hint=f"{near} {self.columns_there}".strip())

    def name_of(self, column: str) -> str:
        """A column's name as the table has it; raises as `column` does."""
        found = self.column(column)
        return column if found is None else found.name

    @property
    def columns_there(self) -> str:
        """The columns, in a sentence; empty where they are not known."""
        if self.table is None or not self.table.columns:
            return ""
        names = [f"{one.name} ({type_of(one)})" for one in self.table.columns]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{self.said} has: {', '.join(names[:_NAMED])}{more}."


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a workspace knows.

    Attributes:
        facts: Of each; in-memory ones have no server.
        servers: Those of which it holds column information.
    """

    facts: Sequence[TableFacts]
    servers: Sequence[str]
    _by_name: dict[tuple[str, str], list[TableFacts]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[tuple[str, str], list[TableFacts]] = {}
        for one in self.facts:
            by_name.setdefault((one.server.casefold(), one.name.casefold()), []).append(one)
        object.__setattr__(self, "_by_name", by_name)

    def source(self, text: str, what: str) -> Source:
        """The data source that somebody means.

        Args:
            text: `server/table`, `db:/server/table`, `mem:name`, `view:name`, `menu:name`.
            what: Is looked for, such as `primary_datasource`.

        Raises:
            InvalidInput: It is none, or its server has no such table; the hint offers near ones.
        """
        parsed = self._parsed(text, what)
        if parsed.kind not in ("db", "mem"):
            return Source(parsed, note=f"The columns of {parsed.text} cannot be checked: it is made at run time.")
        alike = self._by_name.get((parsed.server.casefold(), parsed.table.casefold()), [])
        exact = [one for one in alike if (one.server, one.name) == (parsed.server, parsed.table)] or alike
        if exact:  # where several solutions define it, by the first of them
            return Source(_renamed(parsed, exact[0]), exact[0])
        if parsed.kind == "mem":
            near = did_you_mean(nearest(parsed.table, [one.name for one in self.facts if not one.server]))
            note = f"No solution defines the in-memory table '{parsed.table}', so its columns were not checked."
            return Source(parsed, note=f"{note} {near}".strip())
        return self._without_table(parsed, what)

    def _parsed(self, text: str, what: str) -> DataSource:
        try:
            return datasource(text)
        except InvalidInput as error:
            named = text.strip().casefold()
            near = [f"{one.server}/{one.name}" for one in self.facts if one.server and one.name.casefold() == named]
            hint = did_you_mean(tuple(near[:3])) or error.hint
            raise InvalidInput(f"{what}: {error.message}", hint=hint) from None

    def _without_table(self, parsed: DataSource, what: str) -> Source:
        """A table that the workspace does not know; that is an error where it knows others of the server."""
        server = _alike(parsed.server, {one: one for one in self.servers})
        if server is None:
            known = f"it knows {', '.join(self.servers[:_NAMED])}" if self.servers else "it knows no server"
            near = did_you_mean(nearest(parsed.server, self.servers))
            note = f"The workspace has no column information of the server '{parsed.server}' ({known})"
            return Source(parsed, note=f"{note}, so the columns of {parsed.table} were not checked. {near}".strip())
        names = sorted(one.name for one in self.facts if one.server == server)
        near = did_you_mean(tuple(f"{server}/{one}" for one in nearest(parsed.table, names)))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        hint = near or f"It has: {', '.join(names[:_NAMED])}{more}."
        raise InvalidInput(f"{what}: the server '{server}' has no table '{parsed.table[:80]}'.", hint=hint)

    def named(self, table: str) -> tuple[str, ...]:
        """The data sources, as people call them, whose table has this name."""
        found = [one for (_, name), every in self._by_name.items() if name == table.casefold() for one in every]
        return tuple(f"{one.server}/{one.name}" if one.server else f"mem:{one.name}" for one in found)


def type_of(column: ColumnFacts) -> ColumnType:
    """What kind of values a column holds."""
    return _TYPES.get(column.data_type, "other")


def is_column(primary: str) -> bool:
    """Whether the left side of an item is a column or a calculation, and no literal or variable."""
    return not primary.startswith((LITERAL, *SCOPES))


def types_note(primary: Source, foreign: Source, item: RelationItem) -> str:
    """What to say of a pair of columns whose values are hardly ever equal; empty where nothing is to be said."""
    right = foreign.column(item.foreign) if foreign.table is not None else None
    if right is None:
        return ""
    if item.primary.startswith(LITERAL):
        value = item.primary.removeprefix(LITERAL)
        if type_of(right) in ("integer", "number") and item.operator not in ("in", "not in") and not _number(value):
            return f"The literal {value} is compared with {right.name}, a column of numbers."
        return ""
    left = primary.column(item.primary) if is_column(item.primary) and primary.table is not None else None
    if left is None or _family(left) == _family(right):
        return ""
    if "other" in (_family(left), _family(right)):
        return ""
    return (
        f"{primary.said}.{left.name} ({type_of(left)}) and {foreign.said}.{right.name} ({type_of(right)}) have "
        "different types: they may never be equal."
    )


def sort_order(text: str, source: Source, relations: Sequence[str]) -> str:
    """A sort order as files have it: `name asc, id desc`.

    Args:
        text: Columns with commas between them, each with `asc`, `desc` or neither.
        source: Whose columns they are.
        relations: Names of relations, over which `relation.column` may sort.

    Raises:
        InvalidInput: It is none, or names a column that is not there.
    """
    if not text.strip():
        return ""
    return ", ".join(_sorted_by(part, source, relations) for part in text.split(","))


def _sorted_by(part: str, source: Source, relations: Sequence[str]) -> str:
    match = _SORT.fullmatch(part)
    if match is None:
        raise InvalidInput(
            f"'{part.strip()[:80]}' is no part of a sort order.", hint="Write such as: name asc, id desc."
        )
    column, direction = match[1], (match[2] or "asc").lower()
    first, dot, _ = column.partition(".")
    if not dot:
        return f"{source.name_of(column)} {direction}"
    if first not in relations:
        near = did_you_mean(nearest(first[:80], relations))
        raise InvalidInput(f"The sort order names a relation '{first[:80]}' that is not there.", hint=near)
    return f"{column} {direction}"


def _alike(name: str, known: dict[str, _T]) -> _T | None:
    """What is known under a name; in another case where it then is the only one."""
    if name in known:
        return known[name]
    alike = [value for key, value in known.items() if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _renamed(parsed: DataSource, table: TableFacts) -> DataSource:
    text = f"db:/{table.server}/{table.name}" if parsed.kind == "db" else f"{parsed.kind}:{table.name}"
    return DataSource(parsed.kind, table.server, table.name, text)


def _family(column: ColumnFacts) -> str:
    """Columns of one family can be equal; UUIDs are kept as texts or as bytes."""
    kind = type_of(column)
    if column.flags & _UUID or (kind in ("text", "binary") and column.length in (16, 36)):
        return "text"
    return "number" if kind == "integer" else kind


def _number(value: str) -> bool:
    try:
        float(value.strip("'\""))
    except ValueError:
        return False
    return True
