"""Evaluates the search for relations: declared keys are hidden, and what is found is compared with them.

Schemas come from a database, or from a file in the form of Spider's `tables.json`: a list of objects with `db_id`,
`table_names_original`, `column_names_original` ([table, name]; the first may be [-1, "*"]), `column_types`,
`primary_keys` (column numbers; several of one table, or a list of them, are one key of several columns) and
`foreign_keys` ([child, parent] pairs of column numbers).

Invariant: samples are read as the product reads them, from a schema whose keys are hidden. A wrong file is refused with
the schema that is wrong. A figure without data is None. `docs/reference/evaluation.md` defines each.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from thresher.connectors import Column, Family, ForeignKey, Profiles, Table, open_connector
from thresher.core import InvalidInput
from thresher.evaluation.files import not_empty, read_text
from thresher.evaluation.metrics import mean
from thresher.knowledge.databases import THRESHOLD, PotentialRelation, columns_to_sample, find_relations

_HINT = (
    'The file is a list of {"db_id", "table_names_original", "column_names_original", "column_types", "primary_keys", '
    '"foreign_keys"}, as Spider\'s tables.json has it.'
)

_FAMILIES: Mapping[str, Family] = {
    "number": "decimal", "integer": "integer", "int": "integer", "bigint": "integer", "smallint": "integer",
    "real": "float", "float": "float", "double": "float", "decimal": "decimal", "numeric": "decimal",
    "text": "text", "varchar": "text", "char": "text", "time": "datetime", "date": "date", "datetime": "datetime",
    "timestamp": "datetime", "boolean": "boolean", "uuid": "uuid", "json": "json", "blob": "binary",
    "others": "other", "other": "other", "": "other",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledSchema:
    """A schema with its declared keys.

    Attributes:
        name: The name of the database.
        tables: All tables, with their declared keys.
    """

    name: str
    tables: tuple[Table, ...]


def read_schemas(path: Path) -> list[LabelledSchema]:
    """Read all schemas of a file.

    Raises:
        InvalidInput: The file cannot be read, has another format, or names a missing column.
    """
    try:
        loaded: Any = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InvalidInput(f"{path} is not JSON.", hint=_HINT) from None
    entries = not_empty(cast("list[Any]", loaded) if isinstance(loaded, list) else [loaded], path, "schemas", _HINT)
    return [_schema(path, number, entry) for number, entry in enumerate(entries, 1)]


def _schema(path: Path, number: int, entry: Any) -> LabelledSchema:
    if not isinstance(entry, Mapping):
        raise InvalidInput(f"{path}, schema {number}: not a JSON object.", hint=_HINT)
    fields = cast("Mapping[str, Any]", entry)
    name = str(fields.get("db_id", number))
    try:
        return LabelledSchema(name, _tables(fields))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(f"{path}, schema {number} ({name}): {what}.", hint=_HINT) from None


def _tables(entry: Mapping[str, Any]) -> tuple[Table, ...]:
    names: list[str] = [str(name) for name in entry["table_names_original"]]
    places: list[tuple[int, str]] = [(int(table), str(name)) for table, name in entry["column_names_original"]]
    types: Sequence[str] = entry.get("column_types") or ["text"] * len(places)
    if len(types) != len(places):
        raise ValueError(f"{len(places)} columns have {len(types)} types")
    if any(table >= len(names) for table, _ in places):
        raise ValueError("a column names a table that does not exist")
    keys = _primary_keys(entry.get("primary_keys") or [], places)
    tables = [
        Table("", name, "table", _columns(number, places, types, set(keys.get(number, ()))), keys.get(number, ()))
        for number, name in enumerate(names)
    ]
    return tuple(_with_keys(tables, entry.get("foreign_keys") or [], places))


def _columns(table: int, places: Sequence[tuple[int, str]], types: Sequence[str], keys: set[str]) -> tuple[Column, ...]:
    return tuple(
        Column(name, type_name, _FAMILIES.get(type_name.lower().partition("(")[0].strip(), "other"), name not in keys)
        for (owner, name), type_name in zip(places, map(str, types), strict=True)
        if owner == table
    )


def _place(places: Sequence[tuple[int, str]], number: Any) -> tuple[int, str]:
    if not isinstance(number, int) or not 0 <= number < len(places) or places[number][0] < 0:
        raise ValueError(f"there is no column {number}")
    return places[number]


def _primary_keys(numbers: Sequence[Any], places: Sequence[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for number in numbers:
        for one in cast("list[Any]", number) if isinstance(number, list) else [number]:
            table, name = _place(places, one)
            found[table] = (*found.get(table, ()), name)
    return found


def _with_keys(tables: list[Table], pairs: Sequence[Any], places: Sequence[tuple[int, str]]) -> list[Table]:
    """Tables with keys made of pairs; pairs between two tables that make up the parent's key are one key."""
    between: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for child, parent in pairs:
        (table, column), (target, target_column) = _place(places, child), _place(places, parent)
        if (column, target_column) not in between[table, target]:
            between[table, target].append((column, target_column))
    for (table, target), columns in between.items():
        keys = tuple(_keys(columns, tables[target]))
        tables[table] = replace(tables[table], foreign_keys=(*tables[table].foreign_keys, *keys))
    return tables


def _keys(pairs: Sequence[tuple[str, str]], target: Table) -> list[ForeignKey]:
    key = target.primary_key
    if len(key) > 1 and sorted(parent for _, parent in pairs) == sorted(key):
        there = {parent: child for child, parent in pairs}
        return [ForeignKey("", tuple(there[name] for name in key), "", target.name, key)]
    return [ForeignKey("", (child,), "", target.name, (parent,)) for child, parent in pairs]


SECONDS = 60.0
"""The time limit for all samples of a database."""


@dataclass(frozen=True, slots=True)
class EvaluatedSchema:
    """The schema of a database, with samples.

    Attributes:
        name: The name, or the address without credentials.
        tables: The tables, with their declared keys.
        profiles: Samples of columns; None without them.
    """

    name: str
    tables: tuple[Table, ...]
    profiles: Profiles | None


async def read_database(url: str, *, samples: bool = True, seconds: float = SECONDS) -> EvaluatedSchema:
    """Read the schema of a database, and samples.

    Args:
        url: The address, in the form of a connection's.
        samples: Whether to read values.
        seconds: The limit for all samples together; those not read in time are missing.

    Raises:
        InvalidInput: The address is wrong, or there are no tables.
        NotFound: The file does not exist.
        DatabaseUnavailable: The database cannot be reached.
        QueryFailed: The database does not answer.
    """
    connector = open_connector(url)
    try:
        schema = await connector.reflect()
        if not schema.tables:
            raise InvalidInput(
                f"{connector.location} has no tables that this user can see.", hint="Check the address and the user."
            )
        hidden = [replace(table, foreign_keys=()) for table in schema.tables]
        wanted = columns_to_sample(hidden) if samples else frozenset[tuple[str, str, str]]()
        profiles = await connector.profiles(schema, wanted, seconds) if samples else None
        return EvaluatedSchema(connector.location, schema.tables, profiles)
    finally:
        await connector.close()


LEAST = 0.02
"""The lowest score that counts for the average precision."""

Edge: TypeAlias = tuple[str, str, str, str, frozenset[tuple[str, str]]]
"""Schema and table of the child, then of the parent, then the pairs of their columns."""


@dataclass(frozen=True, slots=True)
class RelationTrial:
    """The relations found in one schema.

    Attributes:
        name: The name of the database.
        tables: The number of tables.
        declared: The declared keys.
        ranked: The relations that were found, best first, down to `LEAST`.
    """

    name: str
    tables: int
    declared: frozenset[Edge]
    ranked: tuple[PotentialRelation, ...]

    def returned(self) -> list[PotentialRelation]:
        """The relations that a caller gets."""
        return [one for one in self.ranked if one.score >= THRESHOLD]


@dataclass(frozen=True, slots=True)
class RelationFigures:
    """The figures over one or more schemas; shares are 0 to 1.

    Attributes:
        precision: Share of the found relations that are declared.
        recall: Share of the declared keys that were found.
        f1: The harmonic mean of both.
        average_precision: Over all found relations by score, down to `LEAST`.
        macro_f1: Mean F1 of the databases that declare keys.
        databases: Number of databases.
        tables: Number of tables.
        declared: Number of declared keys.
        found: Number of found relations.
        right: Number of found relations that are declared.
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
    """Hide the declared foreign keys of a schema and search for them; primary keys stay."""
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
    """A relation that was found but is not declared, or the other way round.

    Attributes:
        database: The name of the database.
        kind: `invented` or `missed`.
        child: `table(columns)`.
        parent: `table(columns)`.
        score: The score; None if a missed relation had none.
        evidence: The reasons, strongest first.
        instead: For a missed relation, the parent that was found for its columns: `table(columns)`; may be empty.
    """

    database: str
    kind: Literal["invented", "missed"]
    child: str
    parent: str
    score: float | None
    evidence: tuple[str, ...]
    instead: str = ""


def wrong_relations(trial: RelationTrial) -> list[WrongRelation]:
    """The wrong relations of a schema: the invented ones by score, then the missed ones."""
    returned = {edge_of(one): one for one in trial.returned()}
    ranked = {edge_of(one): one for one in trial.ranked}
    wrong = [
        WrongRelation(trial.name, "invented", *_ends(edge), round(one.score, 3), _reasons(one))
        for edge, one in returned.items()
        if edge not in trial.declared
    ]
    for edge in sorted(trial.declared - set(returned), key=lambda edge: (edge[:4], sorted(edge[4]))):
        near = ranked.get(edge)
        score = None if near is None else round(near.score, 3)
        instead = next((_ends(other)[1] for other in returned if _ends(other)[0] == _ends(edge)[0]), "")
        wrong.append(
            WrongRelation(trial.name, "missed", *_ends(edge), score, () if near is None else _reasons(near), instead)
        )
    return wrong


def _ends(edge: Edge) -> tuple[str, str]:
    pairs = sorted(edge[4])
    child = f"{_table_name(edge[0], edge[1])}({', '.join(column for column, _ in pairs)})"
    return child, f"{_table_name(edge[2], edge[3])}({', '.join(column for _, column in pairs)})"


def _table_name(schema: str, table: str) -> str:
    return f"{schema}.{table}" if schema else table


def _reasons(relation: PotentialRelation) -> tuple[str, ...]:
    return tuple(f"{one.text} ({one.weight:+.1f})" for one in relation.evidence)


def edge_of(relation: PotentialRelation) -> Edge:
    """The key of a relation, for comparison."""
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
    """The sum of the precision at each declared key in the ranking over all schemas, divided by the number of keys."""
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
