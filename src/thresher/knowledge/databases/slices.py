"""The part of a schema that fits a question: the tables it needs, those between them, and how they are joined.

Invariant: pure; the tables that were found come in their order, and none is shown twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.connectors import Table
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.paging import Filling
from thresher.knowledge.databases.rendering import Overview
from thresher.knowledge.databases.wording import NOTES, Writer, inline, must_quote, quoted

_CORE: Final = 5
"""Tables that are joined to each other, whatever lies between them."""
_MOST_SEEDS: Final = 12
_COLUMNS: Final = 60
_JOINS_SHARE: Final = 0.3
_NAMES: Final = 150


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
        line = writer.full(table, _COLUMNS)
        if filling.room < floor or not filling.add(line):
            break
        shown.append(table)
    left = _add_joins(filling, catalog, writer, [one for one in found[:_CORE] if one in shown])
    others = _add_names(filling, catalog, writer, shown)
    parts = [f"{others:,} of {len(catalog.schema.tables):,} tables" if others else "", left]
    return Overview(filling.text(), tuple(shown), "; ".join(part for part in parts if part))


def dialect_note(catalog: Catalog) -> str:
    """What most often goes wrong in this dialect, with a name of this schema that has to be quoted."""
    dialect = catalog.schema.dialect
    note = next((text for name, text in NOTES.items() if name == dialect), "")
    names = (column.name for table in catalog.schema.tables[:50] for column in table.columns)
    example = next((name for name in names if must_quote(dialect, name)), "")
    return f"dialect {dialect}: {note}" + (f"; write {quoted(dialect, inline(example))}" if example else "")


def _ordered(catalog: Catalog, found: Sequence[Table]) -> list[Table]:
    """The best tables, those on the ways between them, further ones, and what the best point to."""
    core = [(one.schema, one.name) for one in found[:_CORE]]
    further = [(one.schema, one.name) for one in found[_CORE:_MOST_SEEDS]]
    targets = [(key.schema, key.table) for one in found[:_CORE] for key in one.foreign_keys]
    keys = dict.fromkeys([*core, *catalog.joins.connect(core).tables, *further, *targets])
    return [catalog.by_key[key] for key in keys if key in catalog.by_key]


def _add_joins(filling: Filling, catalog: Catalog, writer: Writer, core: Sequence[Table]) -> str:
    """How the best tables are joined, ready to be written; the other keys stand at their columns."""
    steps = catalog.joins.connect([(one.schema, one.name) for one in core]).steps
    if not steps:
        return ""
    if not filling.add("joins (with a score: undeclared, guessed):"):
        return f"{len(steps)} joins"
    for number, step in enumerate(steps):
        condition = writer.condition(*step.child, step.columns, *step.parent, step.target_columns)
        if not filling.add(f"- {condition}" + ("" if step.declared else f" {step.score:.2f}")):
            return f"{len(steps) - number} joins"
    return ""


def _add_names(filling: Filling, catalog: Catalog, writer: Writer, shown: Sequence[Table]) -> int:
    """Name the other tables, where these are few; how many are not shown."""
    keys = {(table.schema, table.name) for table in shown}
    others = [one for one in catalog.schema.tables if (one.schema, one.name) not in keys]
    if others and len(others) <= _NAMES:
        filling.add(f"other tables: {', '.join(writer.name(one.schema, one.name) for one in others)}")
    return len(others)
