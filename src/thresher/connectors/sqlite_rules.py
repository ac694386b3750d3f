"""What a SQLite session may do: asked by SQLite itself when it prepares a statement, whoever wrote that.

Invariant: an allow-list. What is not on it is denied, and with it the statement; names of actions and pragmas that
SQLite may get in the future are denied too.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection
from typing import Final

_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})
_SCHEMA_TABLES: Final = frozenset({"sqlite_master", "sqlite_schema"})
_UNREADABLE: Final = frozenset({"sqlite_stmt", "bytecode", "tables_used", "fts3_tokenizer"})
"""Tables that show what other questions ran in the session."""
PRAGMAS: Final = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
"""Those that take the name of a table or an index and tell about it."""
SETTINGS: Final = frozenset(
    {"application_id", "collation_list", "compile_options", "data_version", "encoding", "freelist_count",
     "foreign_keys", "function_list", "page_count", "page_size", "schema_version", "user_version"}
)  # fmt: skip
"""Those that may be read; with a value some would be set."""
FORBIDDEN_FUNCTIONS: Final = frozenset(
    {"edit", "fts3_tokenizer", "fsdir", "load_extension", "lsmode", "optimize", "readfile", "sqlite_log", "writefile",
     "zipfile"}
)  # fmt: skip
LENGTH: Final = 64 * 1024 * 1024
"""The longest text or blob, in bytes."""
_PATTERN: Final = 500
"""Characters of a pattern of LIKE or GLOB."""
_QUADRATIC: Final = (
    (re.compile(r"[lr]?trim\(2\)", re.IGNORECASE), 32 * 1024),
    (re.compile(r"(instr|replace|json_patch)\(", re.IGNORECASE), 256 * 1024),
    (re.compile(r"(like|glob)\(", re.IGNORECASE), 8 * 1024 * 1024),
)
"""The longest value in a statement whose program calls a function that takes the product of two lengths and cannot be
interrupted: up to four seconds with these lengths. `trim` with one argument takes linear time."""
LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, LENGTH),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _PATTERN),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
"""The longest value; the longest statement; the steps of its program; and what no read needs."""


def longest(calls: Collection[str]) -> int:
    """The longest text or blob, in bytes, that a statement may make or read.

    Args:
        calls: The functions that its program calls, each with its number of arguments: `instr(2)`.
    """
    return next((length for called, length in _QUADRATIC if any(map(called.match, calls))), LENGTH)


class Rules:
    """The authorizer of a session.

    Attributes:
        functions: Names that may be called, lower case.
        open: Whether our own statements run, which begin and end transactions and set the session up.
    """

    def __init__(self, functions: frozenset[str]) -> None:
        self.functions = functions
        self.open = False

    def judge(self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
        """Called by SQLite for each thing that a statement would do."""
        del inner
        return sqlite3.SQLITE_OK if self.open or self._may(action, first, second, database) else sqlite3.SQLITE_DENY

    def _may(self, action: int, first: str | None, second: str | None, database: str | None) -> bool:
        name = (first or "").lower()
        if action in _READS:
            return True
        if action == sqlite3.SQLITE_READ:
            return database != "temp" and name not in _UNREADABLE
        if action == sqlite3.SQLITE_FUNCTION:
            return (second or "").lower() in self.functions
        if action == sqlite3.SQLITE_PRAGMA:
            return name in PRAGMAS or (name in SETTINGS and second is None)
        # A virtual table declares its columns by what looks like an update of the catalog, and is none: a real one
        # is refused by SQLite itself, which opens the catalog to nobody.
        return action == sqlite3.SQLITE_UPDATE and name in _SCHEMA_TABLES and database == "main"
