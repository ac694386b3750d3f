"""The part of a schema that fits a question: the tables it needs, those between them, and how they are joined.

Invariant: pure; the tables that were found come in their order, and none is shown twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.connectors import Table
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.paging import Filling
from thresher.knowledge.databases.rendering import Overview
from thresher.knowledge.databases.snapshots import Key
from thresher.knowledge.databases.wording import NOTES, Writer, must_quote, quoted

_MOST_SEEDS: Final = 12
_JOINS_SHARE: Final = 0.3
_NAMES: Final = 150


@dataclass(frozen=True, slots=True)
class Join:
    """How two tables are joined.

    Attributes:
        condition: As a statement writes it.
        ends: The tables.
        score: 1 for a declared key, else how probable it is.
    """

    condition: str
    ends: tuple[Key, Key]
    score: float


def sliced(catalog: Catalog, found: Sequence[Table], head: Sequence[str], budget: int) -> Overview:
    """What of a schema fits a question.

    Args:
        catalog: The schema.
        found: Tables that fit the question, best first.
        head: Lines that stand above in any case.
        budget: Tokens at most.
    """
    writer = Writer(catalog)
    filling = Filling(budget)
    filling.add(*head)
    filling.add(dialect_note(catalog))
    floor = int(filling.room * _JOINS_SHARE)
    shown: list[Table] = []
    for table in _ordered(catalog, found):
        line = writer.full(table, 60)
        if filling.room - floor < 0 or not filling.add(line):
            break
        shown.append(table)
    left = _add_joins(filling, catalog, writer, shown)
    others = _add_names(filling, catalog, writer, shown)
    parts = [f"{others:,} of {len(catalog.schema.tables):,} tables" if others else "", left]
    return Overview(filling.text(), tuple(shown), "; ".join(part for part in parts if part))


def dialect_note(catalog: Catalog) -> str:
    """What most often goes wrong in this dialect, with a name of this schema that has to be quoted."""
    dialect = catalog.schema.dialect
    note = next((text for name, text in NOTES.items() if name == dialect), "")
    names = (column.name for table in catalog.schema.tables[:50] for column in table.columns)
    example = next((name for name in names if must_quote(dialect, name)), "")
    return f"dialect {dialect}: {note}" + (f"; write {quoted(dialect, example)}" if example else "")


def _ordered(catalog: Catalog, found: Sequence[Table]) -> list[Table]:
    """The best tables, those between them, then what they point to."""
    seeds = list(found[:_MOST_SEEDS])
    chosen = {(one.schema, one.name): one for one in seeds}
    for table in seeds:
        for key in table.foreign_keys:
            if (target := catalog.by_key.get((key.schema, key.table))) is not None:
                chosen.setdefault((target.schema, target.name), target)
    return list(chosen.values())


def _add_joins(filling: Filling, catalog: Catalog, writer: Writer, shown: Sequence[Table]) -> str:
    joins = joins_among(catalog, writer, shown)
    if not joins:
        return ""
    if not filling.add("joins (score below 1: undeclared, guessed):"):
        return f"{len(joins)} joins"
    for number, one in enumerate(joins):
        if not filling.add(f"- {one.condition}" + (f" {one.score:.2f}" if one.score < 1 else "")):
            return f"{len(joins) - number} joins"
    return ""


def joins_among(catalog: Catalog, writer: Writer, shown: Sequence[Table]) -> list[Join]:
    """How some tables are joined: declared keys first, then the most probable of the others."""
    keys = {(table.schema, table.name) for table in shown}
    declared = [
        Join(writer.joined(key, table), ((table.schema, table.name), (key.schema, key.table)), 1.0)
        for table in shown
        for key in table.foreign_keys
        if (key.schema, key.table) in keys
    ]
    guessed = [
        Join(
            writer.condition(
                one.schema, one.table, one.columns, one.target_schema, one.target_table, one.target_columns
            ),
            ((one.schema, one.table), (one.target_schema, one.target_table)),
            one.score,
        )
        for table in shown
        for one in catalog.potential.get((table.schema, table.name), ())
        if (one.target_schema, one.target_table) in keys
    ]
    return declared + sorted(guessed, key=lambda one: -one.score)


def _add_names(filling: Filling, catalog: Catalog, writer: Writer, shown: Sequence[Table]) -> int:
    """Name the other tables, where these are few; how many are not shown."""
    keys = {(table.schema, table.name) for table in shown}
    others = [one for one in catalog.schema.tables if (one.schema, one.name) not in keys]
    if others and len(others) <= _NAMES:
        filling.add(f"other tables: {', '.join(writer.name(one.schema, one.name) for one in others)}")
    return len(others)
