"""Checks data sources, columns and sort orders against the tables that a workspace knows.

Invariant: pure over what was read. What cannot be known, such as a table that a script creates at run time, gives a
note and not an error.
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
"""Type numbers of java.sql.Types."""
_UUID: Final = 4
"""Flag of a column."""
_SORT: Final = re.compile(r"\s*([^\s,]+)(?:\s+(asc|desc))?\s*", re.I)
_NAMED: Final = 30
LITERAL: Final = "LITERAL:"
SCOPES: Final = ("scopes.", "globals.")


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A data source as the workspace knows it.

    Attributes:
        source: With the names as in files.
        table: Its columns; None if the workspace has no information on it.
        note: Why it has none.
        calculations: Names of its calculations.
    """

    source: DataSource
    table: TableFacts | None = None
    note: str = ""
    calculations: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The data source as files write it."""
        return self.source.text

    @property
    def label(self) -> str:
        """The data source as people write it: `crm/orders`."""
        return self.text.removeprefix("db:/")

    def column(self, name: str, *, calculated: bool = True) -> ColumnFacts | None:
        """Return a column; None if nothing is known about it.

        Args:
            name: The name as given, in any case.
            calculated: Whether a calculation counts as a column.

        Raises:
            InvalidInput: The table has no such column; the hint suggests similar ones.
        """
        if self.table is None or (calculated and name in self.calculations):
            return None
        if (found := _alike(name, {one.name: one for one in self.table.columns})) is not None:
            return found
        names = [one.name for one in self.table.columns]
        known = names + list(self.calculations) if calculated else names
        near = did_you_mean(nearest(name[:80], known))
        raise InvalidInput(f"{self.label} has no column '{name[:80]}'.", hint=f"{near} {self.columns_there}".strip())

    def name_of(self, column: str) -> str:
        """Return the name of a column as the table writes it; errors as of `column`."""
        found = self.column(column)
        return column if found is None else found.name

    @property
    def columns_there(self) -> str:
        """The columns in a sentence; empty if they are unknown."""
        if self.table is None or not self.table.columns:
            return ""
        names = [f"{one.name} ({type_of(one)})" for one in self.table.columns]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{self.label} has: {', '.join(names[:_NAMED])}{more}."


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a workspace knows.

    Attributes:
        facts: The tables; in-memory tables have no server.
        servers: Servers with column information.
    """

    facts: Sequence[TableFacts]
    servers: Sequence[str]
    _by_name: dict[tuple[str, str], list[TableFacts]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[tuple[str, str], list[TableFacts]] = {}
        for one in self.facts:
            by_name.setdefault((one.server.casefold(), one.name.casefold()), []).append(one)
        object.__setattr__(self, "_by_name", by_name)

    def source(self, text: str, what: str) -> KnownSource:
        """Return the data source that a text means.

        Args:
            text: `server/table`, `db:/server/table`, `mem:name`, `view:name`, `menu:name`.
            what: Name of the property, such as `primary_datasource`.

        Raises:
            InvalidInput: It is not valid, or its server has no such table; the hint suggests similar ones.
        """
        parsed = self._parsed(text, what)
        if parsed.kind not in ("db", "mem"):
            return KnownSource(parsed, note=f"The columns of {parsed.text} cannot be checked: created at run time.")
        alike = self._by_name.get((parsed.server.casefold(), parsed.table.casefold()), [])
        exact = [one for one in alike if (one.server, one.name) == (parsed.server, parsed.table)] or alike
        if exact:  # the first definition, if several solutions define it
            table = exact[0]
            text = f"db:/{table.server}/{table.name}" if parsed.kind == "db" else f"{parsed.kind}:{table.name}"
            return KnownSource(DataSource(parsed.kind, table.server, table.name, text), table)
        if parsed.kind == "mem":
            near = did_you_mean(nearest(parsed.table, [one.name for one in self.facts if not one.server]))
            note = f"No solution defines the in-memory table '{parsed.table}', so its columns were not checked."
            return KnownSource(parsed, note=f"{note} {near}".strip())
        return self._without_table(parsed, what)

    def _parsed(self, text: str, what: str) -> DataSource:
        try:
            return datasource(text)
        except InvalidInput as error:
            named = text.strip().casefold()
            near = [f"{one.server}/{one.name}" for one in self.facts if one.server and one.name.casefold() == named]
            hint = did_you_mean(tuple(near[:3])) or error.hint
            raise InvalidInput(f"{what}: {error.message}", hint=hint) from None

    def _without_table(self, parsed: DataSource, what: str) -> KnownSource:
        """Return a source without a known table; an error if the workspace knows other tables of its server."""
        server = _alike(parsed.server, {one: one for one in self.servers})
        if server is None:
            known = f"it knows {', '.join(self.servers[:_NAMED])}" if self.servers else "it knows no server"
            near = did_you_mean(nearest(parsed.server, self.servers))
            note = f"The workspace has no column information of the server '{parsed.server}' ({known})"
            note = f"{note}, so the columns of {parsed.table} were not checked. {near}"
            return KnownSource(parsed, note=note.strip())
        names = sorted(one.name for one in self.facts if one.server == server)
        near = did_you_mean(tuple(f"{server}/{one}" for one in nearest(parsed.table, names)))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        hint = near or f"It has: {', '.join(names[:_NAMED])}{more}."
        raise InvalidInput(f"{what}: the server '{server}' has no table '{parsed.table[:80]}'.", hint=hint)

    def named(self, table: str) -> tuple[str, ...]:
        """Return the data sources whose table has this name, as people write them."""
        found = [one for (_, name), every in self._by_name.items() if name == table.casefold() for one in every]
        return tuple(f"{one.server}/{one.name}" if one.server else f"mem:{one.name}" for one in found)


def type_of(column: ColumnFacts) -> ColumnType:
    """Return what kind of values a column holds."""
    return _TYPES.get(column.data_type, "other")


def is_column(primary: str) -> bool:
    """Return whether the left side of an item is a column or calculation, and not a literal or variable."""
    return not primary.startswith((LITERAL, *SCOPES))


def types_note(primary: KnownSource, foreign: KnownSource, item: RelationItem) -> str:
    """Return a note on a pair of columns whose values are rarely equal; otherwise empty."""
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
        f"{primary.label}.{left.name} ({type_of(left)}) and {foreign.label}.{right.name} ({type_of(right)}) have "
        "different types: they may never be equal."
    )


def sort_order(text: str, source: KnownSource, relations: Sequence[str]) -> str:
    """Return a sort order as files write it: `name asc, id desc`.

    Args:
        text: Comma-separated columns, each with `asc`, `desc` or neither.
        source: The data source of the columns.
        relations: Names of the relations that `relation.column` may sort over.

    Raises:
        InvalidInput: It is not valid, or names an unknown column.
    """
    if not text.strip():
        return ""
    return ", ".join(_sorted_by(part, source, relations) for part in text.split(","))


def _sorted_by(part: str, source: KnownSource, relations: Sequence[str]) -> str:
    match = _SORT.fullmatch(part)
    if match is None:
        raise InvalidInput(
            f"'{part.strip()[:80]}' is not a valid part of a sort order.", hint="Write for example: name asc, id desc."
        )
    column, direction = match[1], (match[2] or "asc").lower()
    first, dot, _ = column.partition(".")
    if not dot:
        return f"{source.name_of(column)} {direction}"
    if first not in relations:
        near = did_you_mean(nearest(first[:80], relations))
        raise InvalidInput(f"The sort order names a relation '{first[:80]}' that does not exist.", hint=near)
    return f"{column} {direction}"


def _alike(name: str, known: dict[str, _T]) -> _T | None:
    """Return the value of a name, or of the only name that differs in case."""
    if name in known:
        return known[name]
    alike = [value for key, value in known.items() if key.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _family(column: ColumnFacts) -> str:
    """Return the family of a column; values of one family can be equal. UUIDs are stored as text or bytes."""
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
