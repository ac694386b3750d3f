"""A whole schema inside a budget: every table with its columns, or else with its keys, or else in groups.

Invariant: pure; a schema of any size costs a bounded time beyond one look at each table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.connectors import Table
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.paging import Filling
from thresher.knowledge.databases.wording import Writer, inline

POTENTIAL: Final = "potential relations (undeclared, guessed; score 0 to 1):"
_HUBS: Final = 40
_HUBS_SHARE: Final = 0.45
_GROUP_EXAMPLES: Final = 4
_MOST_EXAMPLES: Final = 40
_EXAMPLE_TOKENS: Final = 4
_LEAST_NAME: Final = 2
"""Tokens that a name costs at least."""
_TOO_MANY: Final = (
    "(too many tables to show: ask again with the argument question or table, or search with sql_list_tables)"
)
_LEAST_GROUP: Final = 3
_FIRST_WORD: Final = re.compile(r"[A-Za-z]+?(?=_|\d|[A-Z][a-z]|$)|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Overview:
    """A schema, as far as it fits.

    Attributes:
        content: For the model.
        shown: The tables that are named with their keys at least.
        left_out: What is not in it, in words; empty when nothing.
    """

    content: str
    shown: tuple[Table, ...]
    left_out: str


def overview(catalog: Catalog, head: Sequence[str], budget: int) -> Overview:
    """The whole schema in the fullest form that fits.

    Args:
        catalog: The schema.
        head: Lines that stand above in any case.
        budget: Tokens at most.
    """
    tables, writer = catalog.schema.tables, Writer(catalog)
    filling = Filling(budget)
    filling.add(*head)
    if _adds(filling, writer.full, tables):
        left = _add_potential(filling, writer, catalog)
        return Overview(filling.text(), tables, left)
    said = "only key columns are shown; get_table_columns or the argument table gives the others"
    filling = _begun(head, f"({said})", budget)
    if _adds(filling, writer.keyed, tables):
        left = _add_potential(filling, writer, catalog)
        return Overview(filling.text(), tables, "; ".join(part for part in ("columns that are no keys", left) if part))
    return _summary(catalog, writer, head, budget)


def _begun(head: Sequence[str], note: str, budget: int) -> Filling:
    filling = Filling(budget)
    filling.add(*head)
    filling.add(note)
    return filling


def _adds(filling: Filling, line: Callable[[Table], str], tables: Sequence[Table]) -> bool:
    """Whether all tables found room; ends at the first that does not."""
    return all(filling.add(line(table)) for table in tables)


def _add_potential(filling: Filling, writer: Writer, catalog: Catalog) -> str:
    """Add potential relations, best first; what was left out of them, in words."""
    relations = catalog.known.potential
    if not relations:
        return ""
    if not filling.add(POTENTIAL):
        return f"{len(relations)} potential relations"
    for number, one in enumerate(relations):
        if not filling.add(writer.potential(one)):
            return f"{len(relations) - number} potential relations"
    return ""


def _summary(catalog: Catalog, writer: Writer, head: Sequence[str], budget: int) -> Overview:
    """The tables that most others point to, and the rest by name, or in groups."""
    tables = catalog.schema.tables
    filling = _begun(head, _TOO_MANY, budget)
    shown = _add_hubs(filling, catalog, writer, int(filling.room * _HUBS_SHARE))
    if not _add_all_names(filling, catalog):
        _add_groups(filling, catalog)
    return Overview(filling.text(), tuple(shown), f"{len(tables) - len(shown):,} of {len(tables):,} tables")


def _add_hubs(filling: Filling, catalog: Catalog, writer: Writer, share: int) -> list[Table]:
    hubs = sorted(catalog.schema.tables, key=lambda table: (-catalog.weight(table), table.schema, table.name))
    shown: list[Table] = []
    floor = filling.room - share
    for table in hubs[:_HUBS]:
        weight = catalog.weight(table)
        line = f"{writer.keyed(table)} <- {weight} keys"
        if not weight or (not shown and not filling.add("most referenced tables:")):
            break
        if filling.room <= floor or not filling.add(line):
            break
        shown.append(table)
    return shown


def _by_schema(catalog: Catalog) -> list[tuple[str, list[Table]]]:
    """Tables by schema, the largest first."""
    found: dict[str, list[Table]] = defaultdict(list)
    for table in catalog.schema.tables:
        found[table.schema].append(table)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _title(schema: str, tables: Sequence[Table]) -> str:
    return f"schema {inline(schema)}: {len(tables):,} tables" if schema else f"{len(tables):,} tables"


def _add_all_names(filling: Filling, catalog: Catalog) -> bool:
    """Name every table, where all names find room; whether they did."""
    if len(catalog.schema.tables) * _LEAST_NAME > filling.room:
        return False
    lines = [
        f"{_title(schema, tables)}: {', '.join(inline(table.name) for table in tables)}"
        for schema, tables in _by_schema(catalog)
    ]
    return filling.add(*lines)


def _add_groups(filling: Filling, catalog: Catalog) -> None:
    """Schemas, and in each the beginnings that names share, the largest groups first."""
    ordered = _by_schema(catalog)
    for number, (schema, tables) in enumerate(ordered):
        if not filling.add(f"{_title(schema, tables)}, by the beginnings of their names:"):
            filling.add(f"and {len(ordered) - number} more schemas")
            return
        # A large schema must leave room for the others.
        floor = filling.room - filling.room // (len(ordered) - number)
        _add_prefixes(filling, tables, floor)


def _add_prefixes(filling: Filling, tables: Sequence[Table], floor: int) -> None:
    groups = groups_of([table.name for table in tables])
    most = max(_GROUP_EXAMPLES, min(_MOST_EXAMPLES, (filling.room - floor) // (len(groups) * _EXAMPLE_TOKENS)))
    for number, (prefix, names) in enumerate(groups):
        examples = _examples(prefix, names, most)
        line = f"- {inline(prefix)}: {len(names)} ({examples})" if prefix else f"- others: {examples}"
        if filling.room <= floor or not filling.add(line):
            rest = sum(len(names) for _, names in groups[number:])
            filling.add(f"- and {rest:,} more tables in {len(groups) - number} groups")
            return


def _examples(prefix: str, names: Sequence[str], most: int) -> str:
    """What is in a group: names; of a large one the beginnings that these share in turn, and how many have each."""
    if len(names) <= most or not prefix:
        shown = [inline(name) for name in names[:most]]
        rest = len(names) - len(shown)
    else:
        inner = groups_of([name[len(prefix) :].lstrip("_") for name in names])
        named = [(beginning, len(some)) for beginning, some in inner if beginning] or [(one, 1) for one in names]
        shown = [f"{inline(one)} {count}" if count > 1 else inline(one) for one, count in named[:most]]
        rest = len(named) - len(shown) + (1 if inner and not inner[-1][0] else 0)
    return ", ".join(shown) + (", …" if rest > 0 else "")


def groups_of(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Names by the word that they begin with, the largest groups first; small ones together, last, under no name."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        match = _FIRST_WORD.search(name)
        found[match.group().lower() if match else ""].append(name)
    large = {prefix: some for prefix, some in found.items() if prefix and len(some) >= _LEAST_GROUP}
    rest = sorted(name for prefix, some in found.items() if prefix not in large for name in some)
    ordered = sorted(large.items(), key=lambda item: (-len(item[1]), item[0]))
    return [*ordered, ("", rest)] if rest else ordered
