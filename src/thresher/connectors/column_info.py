"""A connector for a folder of `.dbi` files: the tables of a server as a workspace describes them, without the server.

A foreign key is declared where a column names the table that it points to (`foreignType`). The files do not name the
target column: it is the target's only key column, else the column of the same name; otherwise the key is left out.

Invariant: only files in this folder are read, none through a link, and nothing if the folder itself leads out of its
workspace through a link, even if it did not when it was added. A file that cannot be read is left out and
named in the version and in the connection's test. No statement runs, because there is no server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from thresher.connectors.addresses import DatabaseAddress, require_file
from thresher.connectors.records import (
    COLUMN_INFO,
    Caps,
    Column,
    Family,
    ForeignKey,
    Health,
    Profiles,
    Rows,
    Schema,
    SchemaDialect,
    SessionTag,
    Table,
)
from thresher.core import BrokenFile, DatabaseUnavailable
from thresher.servoy import ColumnFacts, TableFacts, read_document, table_facts
from thresher.sqlguard import Knowledge

ENDING: Final = ".dbi"
VERSION: Final = "column information"
_SHOWN: Final = 3
_DEPTH: Final = 3
"""Folders from a server's up to its workspace."""


class ColumnInfoConnector:
    """See `Connector`.

    Args:
        address: The folder's address.

    Raises:
        NotFound: The folder does not exist.
    """

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._folder = require_file(address)
        above = self._folder.parents  # WORKSPACE/resources/datasources/SERVER
        self._root = above[min(_DEPTH, len(above)) - 1].resolve()

    @property
    def dialect(self) -> SchemaDialect:
        """See `Connector`."""
        return COLUMN_INFO

    @property
    def location(self) -> str:
        """See `Connector`."""
        return self._address.location

    @property
    def user(self) -> str:
        """See `Connector`."""
        return ""

    async def knowledge(self) -> Knowledge:
        """See `Connector`."""
        return Knowledge()

    async def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector`; always `DatabaseUnavailable`."""
        del sql, tag, caps, bind
        self._refuse()

    async def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `Connector`; always `DatabaseUnavailable`."""
        del sql, tag, seconds
        self._refuse()

    async def reflect(self, limit: int = 20_000) -> Schema:
        """See `Connector`."""
        return await asyncio.to_thread(self._read, limit)

    async def stamp(self) -> str:
        """See `Connector`."""
        return await asyncio.to_thread(self._stamp)

    async def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Connector`; there are no values."""
        del schema, wanted, seconds
        return Profiles()

    async def test(self) -> Health:
        """See `Connector`; never succeeds, because no statement can run."""
        started = time.perf_counter()
        try:
            schema = await self.reflect()
        except DatabaseUnavailable as error:
            return Health(False, problem=str(error))
        ms = round((time.perf_counter() - started) * 1000, 3)
        name, count = self._folder.name, len(schema.tables)
        text = f"{schema.version} of {count:,} table{'' if count == 1 else 's'} only: no live server. {no_server(name)}"
        return Health(False, schema.version, "", name, ms, problem=text[:1].upper() + text[1:])

    async def sessions(self, tag: SessionTag) -> Rows:
        """See `Connector`; always `DatabaseUnavailable`."""
        del tag
        self._refuse()

    async def close(self) -> None:
        """See `Connector`; nothing is open."""

    def _refuse(self) -> NoReturn:
        raise DatabaseUnavailable(
            "This connection is column information only: there is no live server.", hint=no_server(self._folder.name)
        )

    def _read(self, limit: int) -> Schema:
        stamp = self._stamp()
        found: list[TableFacts] = []
        broken: list[str] = []
        place = self._place()
        names = [entry.name for entry in self._files(place)]
        for name in names[:limit]:
            try:
                if (facts := self._facts(place / name)) is not None:
                    found.append(facts)
            except BrokenFile as error:
                broken.append(f"{name}, line {error.line}" if error.line else name)
            except FileNotFoundError:
                continue  # removed meanwhile; the stamp shows it at the next check
            except OSError:
                broken.append(name)
        tables = tables_of(found)
        return Schema(COLUMN_INFO, _version(broken), "", tables, stamp, max(len(names) - limit, 0))

    def _facts(self, file: Path) -> TableFacts | None:
        return table_facts(read_document(file.read_bytes()), self._folder.name)

    def _stamp(self) -> str:
        """A digest of names, sizes and times of the files."""
        seen = hashlib.sha256()
        for entry in self._files(self._place()):
            with suppress(FileNotFoundError):  # removed meanwhile: the digest covers the others
                about = entry.stat(follow_symlinks=False)
                line = f"{entry.name}\0{about.st_mtime_ns}\0{about.st_size}\0{about.st_ino}\n"
                seen.update(line.encode(errors="replace"))
        return seen.hexdigest()[:32]

    def _place(self) -> Path:
        """The folder with links resolved; checked at every use, because it may have become a link."""
        try:
            place = self._folder.resolve(strict=True)
        except OSError as error:
            raise self._unreadable(error.strerror) from None
        except RuntimeError:
            raise self._unreadable("its links are circular") from None
        if not place.is_relative_to(self._root):
            raise DatabaseUnavailable(
                f"The folder {self._folder} leads out of its workspace by a symbolic link, which is not followed.",
                hint="Restore the server's own folder, or add the workspace that it leads to.",
            )
        return place

    def _unreadable(self, reason: str | None) -> DatabaseUnavailable:
        return DatabaseUnavailable(
            f"The folder {self._folder} cannot be read: {reason}.", hint="Check that the workspace is there."
        )

    def _files(self, place: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(place) as entries:
                found = [one for one in entries if one.name.endswith(ENDING) and one.is_file(follow_symlinks=False)]
        except OSError as error:
            raise self._unreadable(error.strerror) from None
        yield from sorted(found, key=lambda one: one.name)


def _version(broken: Sequence[str]) -> str:
    """The version text, with the first files that could not be read."""
    if not broken:
        return VERSION
    rest = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
    return f"{VERSION}, unreadable: {'; '.join(broken[:_SHOWN])}{rest}"


_TYPES: Final[Mapping[int, tuple[str, Family]]] = {
    -7: ("bit", "boolean"),
    -6: ("tinyint", "integer"),
    -5: ("bigint", "integer"),
    4: ("integer", "integer"),
    5: ("smallint", "integer"),
    2: ("numeric", "decimal"),
    3: ("decimal", "decimal"),
    6: ("float", "float"),
    7: ("real", "float"),
    8: ("double", "float"),
    100: ("binary_float", "float"),
    101: ("binary_double", "float"),
    1: ("char", "text"),
    12: ("varchar", "text"),
    -1: ("longvarchar", "text"),
    -8: ("rowid", "other"),
    -9: ("nvarchar", "text"),
    -15: ("nchar", "text"),
    -16: ("longnvarchar", "text"),
    2005: ("clob", "text"),
    2011: ("nclob", "text"),
    16: ("boolean", "boolean"),
    91: ("date", "date"),
    92: ("time", "time"),
    93: ("timestamp", "datetime"),
    2013: ("time with time zone", "time"),
    2014: ("timestamp with time zone", "datetime"),
    -101: ("timestamp with time zone", "datetime"),
    -102: ("timestamp with local time zone", "datetime"),
    -155: ("datetimeoffset", "datetime"),
    -2: ("binary", "binary"),
    -3: ("varbinary", "binary"),
    -4: ("longvarbinary", "binary"),
    2004: ("blob", "binary"),
    2003: ("array", "array"),
    1111: ("other", "other"),
    2000: ("object", "other"),
}
"""Constants of `java.sql.Types`, and those of drivers: Oracle's 100, 101, -101, -102, SQL Server's -155."""
_UUID: Final = 4
"""The flag of columns that hold UUIDs; their type is 2000 if the engine has a UUID type, else bytes or text."""
_SIZED: Final = frozenset({1, 12, -9, -15, -2, -3})
_EXACT: Final = frozenset({2, 3})
_MOST_LENGTH: Final = 10_000_000
"""Larger lengths mean unbounded: drivers write 2147483647."""
_VIEW: Final = 1
_SEQUENCE: Final = 2
_Named: TypeAlias = Mapping[str, TableFacts]


def tables_of(facts: Iterable[TableFacts]) -> tuple[Table, ...]:
    """Tables sorted by name; keys to other tables are left out."""
    ordered = sorted(facts, key=lambda table: table.name)
    named = {table.name.casefold(): table for table in ordered}
    return tuple(_table(table, named) for table in ordered)


def type_of(column: ColumnFacts) -> tuple[str, Family]:
    """A column's type with its length, and its family; an unknown type number is `other`."""
    name, family = _TYPES.get(column.data_type, (f"type {column.data_type}", "other"))
    sized = 0 < column.length < _MOST_LENGTH
    if column.flags & _UUID and family in ("other", "binary"):
        return ("uuid" if family == "other" else f"{name} of a uuid"), "uuid"
    if sized and column.data_type in _SIZED:
        name = f"{name}({column.length})"
    elif sized and column.data_type in _EXACT:
        name = f"{name}({column.length},{column.scale})"
    return name, family


def no_server(name: str) -> str:
    """The hint that explains how to add a live server."""
    return f"Add the live server under the same name: thresher db add {name} --url URL"


def _table(table: TableFacts, named: _Named) -> Table:
    return Table(
        schema="",
        name=table.name,
        kind="view" if table.kind == _VIEW else "table",
        columns=tuple(_column(column) for column in table.columns),
        primary_key=tuple(column.name for column in table.columns if column.identifies),
        foreign_keys=tuple(_keys(table, named)),
    )


def _column(column: ColumnFacts) -> Column:
    name, family = type_of(column)
    default = column.default or ("identity" if column.auto_enter == _SEQUENCE else None)
    comment = " - ".join(dict.fromkeys(text for text in (column.title, column.description) if text))
    length = column.length if 0 < column.length < _MOST_LENGTH else None
    return Column(column.name, name, family, column.nullable and not column.identifies, default, comment, length)


def _keys(table: TableFacts, named: _Named) -> Iterator[ForeignKey]:
    for name in dict.fromkeys(column.foreign_type.casefold() for column in table.columns if column.foreign_type):
        if (target := named.get(name)) is not None:
            yield from keys_between(table, target)


def keys_between(table: TableFacts, target: TableFacts) -> Iterator[ForeignKey]:
    """The keys from one table to another: one for each column, or a single composite key if all key columns match."""
    named = target.name.casefold()
    columns = [column.name for column in table.columns if column.foreign_type.casefold() == named]
    key = [column.name for column in target.columns if column.identifies]
    meant = {column: _meant(column, key, target) for column in columns}
    pairs = [(column, found) for column, found in meant.items() if found]
    pairs = [(column, found) for column, found in pairs if (table.name, column) != (target.name, found)]
    if len(key) > 1 and {found for _, found in pairs} == set(key) and len(pairs) == len(key):
        in_order = sorted(pairs, key=lambda pair: key.index(pair[1]))
        sources, targets = zip(*in_order, strict=True)
        yield ForeignKey("", sources, "", target.name, targets)
        return
    for column, found in pairs:
        yield ForeignKey("", (column,), "", target.name, (found,))


def _meant(column: str, key: Sequence[str], target: TableFacts) -> str:
    """The target column that a column points to; empty if it cannot be determined."""
    if len(key) == 1:
        return key[0]
    same = [one.name for one in target.columns if one.name.casefold() == column.casefold()]
    return same[0] if same else ""
