"""How well relations are found: the declared keys of a schema are hidden, and what is found is held against them.

Invariant: pure; a figure without data is None, never 0. `docs/reference/evaluation.md` defines each.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from thresher.connectors import Profiles, Table
from thresher.evaluation.metrics import mean
from thresher.knowledge.databases import THRESHOLD, PotentialRelation, find_relations

LEAST = 0.02
"""Scores down to here are ranked for the average precision."""

Edge: TypeAlias = tuple[str, str, str, str, frozenset[tuple[str, str]]]
"""Schema and table of child and parent, and the pairs of their columns, in any order."""


@dataclass(frozen=True, slots=True)
class RelationTrial:
    """What was found in one schema.

    Attributes:
        name: Of the database.
        tables: How many it has.
        declared: Its keys.
        ranked: What was found, best first, down to `LEAST`.
    """

    name: str
    tables: int
    declared: frozenset[Edge]
    ranked: tuple[PotentialRelation, ...]

    def returned(self) -> list[PotentialRelation]:
        """What a caller would get."""
        return [one for one in self.ranked if one.score >= THRESHOLD]


@dataclass(frozen=True, slots=True)
class RelationFigures:
    """The figures over one or more schemas; shares are 0 to 1.

    Attributes:
        precision: Of what was found.
        recall: Of the declared keys.
        f1: Their harmonic mean.
        average_precision: Over everything found, best first, whatever its score.
        macro_f1: Mean F1 of the databases that declare keys.
        databases: How many.
        tables: In all of them.
        declared: Keys.
        found: Relations.
        right: Of these.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    average_precision: float | None
    macro_f1: float | None
    databases: int
    tables: int
    declared: int
    found: int
    right: int


def try_relations(name: str, tables: Sequence[Table], profiles: Profiles | None = None) -> RelationTrial:
    """Hide the declared keys of a schema and look for them; primary keys stay."""
    hidden = [replace(table, foreign_keys=()) for table in tables]
    ranked = tuple(find_relations(hidden, profiles, limit=sys.maxsize, threshold=LEAST))
    declared = frozenset(
        (table.schema, table.name, key.schema, key.table, frozenset(zip(key.columns, key.target_columns, strict=False)))
        for table in tables
        for key in table.foreign_keys
    )
    return RelationTrial(name, len(tables), declared, ranked)


@dataclass(frozen=True, slots=True)
class WrongRelation:
    """A relation that was found and is not declared, or is declared and was not found.

    Attributes:
        database: Its name.
        kind: `invented` or `missed`.
        child: `table(columns)`.
        parent: `table(columns)`.
        score: The finder's; of a missed one what it gave it, None when nothing.
        evidence: Why, strongest first.
        instead: For a missed one, what was found for its columns: `table(columns)`; empty when nothing.
    """

    database: str
    kind: Literal["invented", "missed"]
    child: str
    parent: str
    score: float | None
    evidence: tuple[str, ...]
    instead: str = ""


def wrong_relations(trial: RelationTrial) -> list[WrongRelation]:
    """What is wrong in one schema: the surest inventions first, then what was missed."""
    returned = {edge_of(one): one for one in trial.returned()}
    ranked = {edge_of(one): one for one in trial.ranked}
    wrong = [
        WrongRelation(trial.name, "invented", *_ends(edge), round(one.score, 3), _told(one))
        for edge, one in returned.items()
        if edge not in trial.declared
    ]
    for edge in sorted(trial.declared - set(returned), key=lambda edge: (edge[:4], sorted(edge[4]))):
        near = ranked.get(edge)
        score = None if near is None else round(near.score, 3)
        instead = next((_ends(other)[1] for other in returned if _ends(other)[0] == _ends(edge)[0]), "")
        wrong.append(
            WrongRelation(trial.name, "missed", *_ends(edge), score, () if near is None else _told(near), instead)
        )
    return wrong


def _ends(edge: Edge) -> tuple[str, str]:
    pairs = sorted(edge[4])
    child = f"{_named(edge[0], edge[1])}({', '.join(column for column, _ in pairs)})"
    return child, f"{_named(edge[2], edge[3])}({', '.join(column for _, column in pairs)})"


def _named(schema: str, table: str) -> str:
    return f"{schema}.{table}" if schema else table


def _told(relation: PotentialRelation) -> tuple[str, ...]:
    return tuple(f"{one.text} ({one.weight:+.1f})" for one in relation.evidence)


def edge_of(relation: PotentialRelation) -> Edge:
    """A relation as it is compared."""
    pairs = frozenset(zip(relation.columns, relation.target_columns, strict=True))
    return (relation.schema, relation.table, relation.target_schema, relation.target_table, pairs)


def figures_of(trials: Sequence[RelationTrial]) -> RelationFigures:
    """The figures of all schemas together."""
    found = right = declared = 0
    each: list[float] = []
    for trial in trials:
        edges = [edge_of(one) for one in trial.returned()]
        hits = sum(edge in trial.declared for edge in edges)
        found, right, declared = found + len(edges), right + hits, declared + len(trial.declared)
        if trial.declared:
            each.append(2 * hits / (len(edges) + len(trial.declared)))
    return RelationFigures(
        precision=right / found if found else None,
        recall=right / declared if declared else None,
        f1=2 * right / (found + declared) if declared else None,
        average_precision=average_precision(trials),
        macro_f1=mean(each),
        databases=len(trials),
        tables=sum(trial.tables for trial in trials),
        declared=declared,
        found=found,
        right=right,
    )


def average_precision(trials: Sequence[RelationTrial]) -> float | None:
    """Precision at each key that is found, best first over all schemas, summed and divided by all keys."""
    declared = sum(len(trial.declared) for trial in trials)
    if not declared:
        return None
    ranked = sorted(
        ((one.score, edge_of(one) in trial.declared) for trial in trials for one in trial.ranked),
        key=lambda pair: (-pair[0], pair[1]),
    )
    hits, gains = 0, list[float]()
    for place, (_, hit) in enumerate(ranked, 1):
        hits += hit
        if hit:
            gains.append(hits / place)
    return math.fsum(gains) / declared
