"""What kind of values a type holds, whatever its engine calls it.

Invariant: pure; an unknown type is `other`, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from thresher.connectors.records import Family

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
    """The family of a type as its database writes it.

    MySQL's `tinyint(1)` and `bit(1)` are boolean; Oracle's `NUMBER(p)` and `NUMBER(p,0)` hold integers; a SQLite type
    is read by the words in it, as SQLite does, and a column without one is `other`.
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
    """Most characters or digits, from the first number in parentheses; None without one."""
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
