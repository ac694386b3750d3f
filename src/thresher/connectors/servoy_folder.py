"""A connector for a folder of `.dbi` files: what a workspace says of a server's tables, without the server.

Invariant: only files of this very folder are read, none through a link, and nothing of a folder that leads out of its
workspace by one, whatever was there when it was added; a file that cannot be read is left out, and
the version and the test of the connection say so. No statement is run, for there is nothing that could run it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from thresher.connectors.addresses import Address, require_file
from thresher.connectors.column_info import no_server, tables_of
from thresher.connectors.records import COLUMN_INFO, Caps, Health, Profiles, Rows, Schema, SchemaDialect, Tag
from thresher.core import BrokenFile, DatabaseUnavailable
from thresher.servoy import TableFacts, read_document, table_facts
from thresher.sqlguard import Knowledge

ENDING: Final = ".dbi"
VERSION: Final = "column information"
_SHOWN: Final = 3
_DEPTH: Final = 3
"""Folders from a server's up to its workspace."""


class ColumnInfoConnector:
    """See `Connector`.

    Args:
        address: Of the folder.

    Raises:
        NotFound: There is no such folder.
    """

    def __init__(self, address: Address) -> None:
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

    async def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector`; always `DatabaseUnavailable`."""
        del sql, tag, caps, bind
        self._refuse()

    async def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
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
        """See `Connector`; it never works, for that is what a test asks: whether statements run."""
        started = time.perf_counter()
        try:
            schema = await self.reflect()
        except DatabaseUnavailable as error:
            return Health(False, problem=str(error))
        ms = round((time.perf_counter() - started) * 1000, 3)
        name, count = self._folder.name, len(schema.tables)
        told = f"{schema.version} of {count:,} table{'' if count == 1 else 's'} only: no live server. {no_server(name)}"
        return Health(False, schema.version, "", name, ms, problem=told[:1].upper() + told[1:])

    async def sessions(self, tag: Tag) -> Rows:
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
                continue  # it went while the others were read; the stamp tells at the next look
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
            with suppress(FileNotFoundError):  # it went in this moment: the digest is that of the others
                about = entry.stat(follow_symlinks=False)
                told = f"{entry.name}\0{about.st_mtime_ns}\0{about.st_size}\0{about.st_ino}\n"
                seen.update(told.encode(errors="replace"))
        return seen.hexdigest()[:32]

    def _place(self) -> Path:
        """The folder without links, judged anew at every look: it may have become one that leads elsewhere."""
        try:
            place = self._folder.resolve(strict=True)
        except OSError as error:
            raise self._unreadable(error.strerror) from None
        except RuntimeError:
            raise self._unreadable("its links go round") from None
        if not place.is_relative_to(self._root):
            raise DatabaseUnavailable(
                f"The folder {self._folder} leads out of its workspace by a symbolic link, which is not followed.",
                hint="Put the server's own folder there again, or add the workspace that it leads to.",
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


def open_folder(address: Address) -> ColumnInfoConnector:
    """A connector for a folder; see there."""
    return ColumnInfoConnector(address)


def _version(broken: Sequence[str]) -> str:
    """What is known, and which files could not be read: the first ones by name."""
    if not broken:
        return VERSION
    rest = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
    return f"{VERSION}, unreadable: {'; '.join(broken[:_SHOWN])}{rest}"
