"""Builds a schema from the rows of an engine's catalog, and maps type names to families of values.

Each engine's statements return the same four kinds of rows, so that only their SQL differs.

Invariant: pure; an unknown type is `other`, never an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from thresher.connectors.records import Column, Family, ForeignKey, RelationKind, Schema, Table

_NAMES: Final[Mapping[Family, str]] = {
    "integer": "int integer bigint smallint tinyint mediumint hugeint uhugeint ubigint uinteger usmallint utinyint "
    "int2 int4 int8 int1 int16 int32 int64 int128 long short signed serial bigserial smallserial serial2 serial4 "
    "serial8 bignum varint oid year rowid uint8 uint16 uint32 uint64 uint128",
    "decimal": "decimal numeric number dec fixed money smallmoney",
    "float": "real float float4 float8 double binary_float binary_double double_precision",
    "text": "text char character varchar varchar2 nvarchar nvarchar2 nchar bpchar clob nclob tinytext mediumtext "
    "longtext citext name string ntext enum set sysname",
    "boolean": "bool boolean logical",
    "date": "date",
    "time": "time timetz",
    "datetime": "datetime datetime2 smalldatetime datetimeoffset timestamp timestamptz timestamp_s timestamp_ms "
    "timestamp_ns timestamp_us",
    "interval": "interval",
    "uuid": "uuid uniqueidentifier guid",
    "json": "json jsonb variant struct map",
    "binary": "blob bytea binary varbinary tinyblob mediumblob longblob raw long_raw image rowversion bytes bfile",
    "array": "array list int2vector oidvector",
}
_COMMON: Final[Mapping[str, Family]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_OF_DIALECT: Final[Mapping[str, Mapping[str, Family]]] = {
    "oracle": {"date": "datetime", "long": "text", "float": "float", "rowid": "other"},
    "mssql": {"timestamp": "binary", "bit": "boolean"},
    "postgresql": {"bit": "other", "varbit": "other", "char": "text"},
    "duckdb": {"bit": "other", "union": "other"},
}
_ARGUMENTS: Final = re.compile(r"\(([^()]*)\)")
_NUMBER: Final = re.compile(r"-?\d{1,18}")
_WORDS: Final = re.compile(r"[a-z_][a-z0-9_]*")
_QUALIFIERS: Final = frozenset({"unsigned", "zerofill", "signed", "auto_increment", "varying", "precision", "national"})
_SQLITE: Final[tuple[tuple[str, Family], ...]] = (
    ("int", "integer"), ("char", "text"), ("clob", "text"), ("text", "text"), ("blob", "binary"), ("real", "float"),
    ("floa", "float"), ("doub", "float"), ("bool", "boolean"), ("guid", "uuid"), ("uuid", "uuid"),
    ("timestamp", "datetime"), ("datetime", "datetime"), ("date", "date"), ("time", "time"), ("json", "json"),
    ("dec", "decimal"), ("num", "decimal"), ("money", "decimal"), ("binary", "binary"), ("string", "text"),
)  # fmt: skip


def family(dialect: str, type_name: str) -> Family:
    """The family of a type in its database's notation.

    MySQL's `tinyint(1)` and `bit(1)` are boolean; Oracle's `NUMBER(p)` and `NUMBER(p,0)` hold integers; a SQLite type
    is classified by the words in it, as SQLite does, and a column without a type is `other`.
    """
    text = " ".join(type_name.lower().replace('"', "").split())
    if text.endswith(("]", " array")) or text.startswith(("array(", "array<", "list(")):
        return "array"
    if dialect == "sqlite":
        return _of_sqlite(text)
    words = _words(text)
    if special := _special(dialect, words, _numbers(text)):
        return special
    known: dict[str, Family] = {**_COMMON, **_OF_DIALECT.get(dialect, {})}
    for count in range(len(words), 0, -1):
        if found := known.get("_".join(words[:count])):
            return found
    bare = [word for word in words if word not in _QUALIFIERS]
    return known.get(bare[0], "other") if bare else "other"


def length_of(type_name: str) -> int | None:
    """Maximum characters or digits: the first number in parentheses; None without one."""
    numbers = _numbers(type_name)
    return numbers[0] if numbers else None


def _words(text: str) -> list[str]:
    return _WORDS.findall(_ARGUMENTS.sub(" ", text.split("(", 1)[0] if text.startswith(("enum", "set(")) else text))


def _numbers(text: str) -> tuple[int, ...]:
    found = _ARGUMENTS.search(text)
    parts = [part.strip().split(" ")[0] for part in found.group(1).split(",")] if found else []
    return tuple(int(part) for part in parts) if all(_NUMBER.fullmatch(part) for part in parts) else ()


def _special(dialect: str, words: list[str], numbers: tuple[int, ...]) -> Family | None:
    first = words[0] if words else ""
    if dialect in ("mysql", "mariadb") and first == "tinyint" and numbers == (1,):
        return "boolean"
    if dialect in ("mysql", "mariadb") and first == "bit":
        return "boolean" if numbers in ((), (1,)) else "binary"
    if dialect == "oracle" and first == "number" and numbers and (len(numbers) == 1 or numbers[1] <= 0):
        return "integer"
    return None


def _of_sqlite(text: str) -> Family:
    for part, found in _SQLITE:
        if part in text:
            return found
    return "other"


Row: TypeAlias = Sequence[Any]
_Name: TypeAlias = tuple[str, str]
_MOST_TEXT: Final = 2_000
"""Maximum characters of a comment or a default."""


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """Rows of a catalog; each begins with schema and table.

    Attributes:
        tables: schema, table, kind, comment, estimated rows (negative or None: unknown).
        columns: schema, table, column, displayed type, type that determines the family, nullable, default, comment; in
            the order of the columns.
        keys: schema, table, constraint, whether it is the primary key, column; in the order of the key's columns.
        foreign_keys: schema, table, constraint, column, target schema, target table, target column; in that order.
    """

    tables: Iterable[Row]
    columns: Iterable[Row]
    keys: Iterable[Row]
    foreign_keys: Iterable[Row]


def assemble(dialect: str, version: str, default_schema: str, catalog: CatalogRows, limit: int) -> Schema:
    """Build the schema with at most `limit` tables, sorted by schema and name; the caller fills in `stamp`."""
    described = sorted(catalog.tables, key=lambda row: (str(row[0]), str(row[1])))
    kept = {(str(row[0]), str(row[1])) for row in described[:limit]}
    columns = _columns(dialect, catalog.columns, kept)
    primary, unique = _keys(catalog.keys, kept)
    foreign = _foreign_keys(catalog.foreign_keys, kept)
    tables = [_table(row, columns, primary, unique, foreign) for row in described[:limit]]
    return Schema(dialect, version, default_schema, tuple(tables), left_out=max(0, len(described) - limit))


def _table(
    row: Row,
    columns: dict[_Name, list[Column]],
    primary: dict[_Name, tuple[str, ...]],
    unique: dict[_Name, list[tuple[str, ...]]],
    foreign: dict[_Name, list[ForeignKey]],
) -> Table:
    schema, name, kind, comment, rows = row[:5]
    place = (str(schema), str(name))
    first = primary.get(place, ())
    return Table(
        *place,
        kind=cast("RelationKind", kind),
        columns=tuple(columns.get(place, ())),
        primary_key=first,
        unique=tuple(dict.fromkeys(key for key in unique.get(place, ()) if key != first)),
        foreign_keys=tuple(foreign.get(place, ())),
        comment=_text(comment),
        rows=None if rows is None or rows < 0 else int(rows),
    )


def _columns(dialect: str, rows: Iterable[Row], kept: set[_Name]) -> dict[_Name, list[Column]]:
    found: dict[_Name, list[Column]] = defaultdict(list)
    for row in rows:
        place = (str(row[0]), str(row[1]))
        if place not in kept:
            continue
        name, written, base, nullable, default, comment = row[2:8]
        found[place].append(
            Column(
                str(name),
                str(written),
                family(dialect, str(base or written)),
                bool(nullable),
                None if default is None else _text(default),
                _text(comment),
                length_of(str(written)),
            )
        )
    return found


def _keys(
    rows: Iterable[Row], kept: set[_Name]
) -> tuple[dict[_Name, tuple[str, ...]], dict[_Name, list[tuple[str, ...]]]]:
    named: dict[tuple[_Name, bool, str], list[str]] = defaultdict(list)
    for schema, table, constraint, is_primary, column, *_ in rows:
        place = (str(schema), str(table))
        if place in kept:
            named[place, bool(is_primary), str(constraint)].append(str(column))
    primary: dict[_Name, tuple[str, ...]] = {}
    unique: dict[_Name, list[tuple[str, ...]]] = defaultdict(list)
    for (place, is_primary, _), columns in named.items():
        if is_primary:
            primary[place] = tuple(columns)
        else:
            unique[place].append(tuple(columns))
    return primary, unique


def _foreign_keys(rows: Iterable[Row], kept: set[_Name]) -> dict[_Name, list[ForeignKey]]:
    named: dict[tuple[_Name, str, _Name], list[tuple[str, str]]] = defaultdict(list)
    for schema, table, constraint, column, target_schema, target_table, target_column, *_ in rows:
        place = (str(schema), str(table))
        if place in kept:
            target = (str(target_schema), str(target_table))
            named[place, str(constraint), target].append((str(column), str(target_column)))
    found: dict[_Name, list[ForeignKey]] = defaultdict(list)
    for (place, constraint, target), pairs in named.items():
        sources, targets = zip(*pairs, strict=True)
        found[place].append(ForeignKey(constraint, sources, *target, targets))
    return found


def _text(value: Any) -> str:
    return str(value or "").strip()[:_MOST_TEXT]
