"""Schemas for tests, in the short notation, and what was found in them as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.schema_notation import parse_notation
from thresher.connectors import Profile, Profiles, Table
from thresher.knowledge.databases import PotentialRelation, find_relations


def tables_of(text: str) -> tuple[Table, ...]:
    """The tables of a schema without its headline."""
    (schema,) = parse_notation(f"== test: one schema\n{text}")
    return schema.tables


def told(relations: Sequence[PotentialRelation]) -> set[str]:
    """Relations as `child.column > parent.column`."""
    return {
        f"{one.table}.{'+'.join(one.columns)} > {one.target_table}.{'+'.join(one.target_columns)}" for one in relations
    }


def found(text: str, profiles: Profiles | None = None) -> set[str]:
    """What is found in a schema."""
    return told(find_relations(tables_of(text), profiles))


def sample(*values: Any, rows: int | None = None) -> Profile:
    """A sample that holds all values of its column."""
    texts = frozenset(str(value) for value in values)
    low, high = min(values, default=None), max(values, default=None)
    return Profile(rows or len(values), 0, len(texts), low, high, texts, complete=True)


def samples(**columns: Profile) -> Profiles:
    """Samples by `table__column`."""
    places = {name: name.partition("__") for name in columns}
    return Profiles({("", places[name][0], places[name][2]): profile for name, profile in columns.items()}, {})
