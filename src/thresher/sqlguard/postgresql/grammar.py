"""PostgreSQL's own grammar (libpg_query): from text to a tree of plain values.

Invariant: the tree is what the server reads, built by its lexer and parser, compiled as a library. It comes as JSON
rather than protobuf: protobuf parsers stop at a hundred levels, which fifty `||` reach, and a walk over plain values
takes a fifth of the time.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias, cast

from postgast import scan
from postgast.native import lib

from thresher.sqlguard.verdicts import Refusal

Body: TypeAlias = dict[str, Any]
"""Fields of a node by their C names; zero, false and absent values are omitted."""

DEEP: Final = "Use less nesting: fewer subqueries and shorter chains of operators."

SHORT: Final = 2_000
"""Length in bytes of a text whose tree fits any thread's stack, however it nests."""
_ROOM_PER_BYTE: Final = 512
"""Bytes of stack per byte of text: three times what chains of additions, with two bytes per level, were measured to
need.
"""
_LEAST_ROOM: Final = 1 << 20
_starting: Final = threading.Lock()


class Offsets:
    """Converts the grammar's places, in bytes of UTF-8, to places in characters.

    Args:
        sql: The text.
    """

    def __init__(self, sql: str) -> None:
        self._encoded = None if sql.isascii() else sql.encode()

    def characters(self, offset: int) -> int:
        """Return the number of characters before a byte."""
        return offset if self._encoded is None else len(self._encoded[:offset].decode(errors="ignore"))


def parse(sql: str) -> list[Body]:
    """Parse the statements of a text.

    Args:
        sql: Text without NUL and lone surrogates.

    Returns:
        `RawStmt` bodies: `stmt`, `stmt_location` and `stmt_len` in bytes.

    Raises:
        Refusal: It is not PostgreSQL's syntax, or nested too deeply.
    """
    encoded = sql.encode()
    written = _parse(encoded) if len(encoded) <= SHORT else _with_room(encoded)
    try:
        return json.loads(written).get("stmts", [])
    except RecursionError:
        raise Refusal("too_deep", "The statement is nested too deeply.", hint=DEEP) from None


def hint_of(sql: str) -> int | None:
    """Return the offset of the first comment that extensions read as planner hints, in characters, or None."""
    if "/*+" not in sql:
        return None
    encoded = sql.encode()
    starts = (token.start for token in scan(sql).tokens if encoded.startswith(b"/*+", token.start))
    first = next(starts, None)
    return None if first is None else Offsets(sql).characters(first)


def split(node: Body) -> tuple[str, Body]:
    """Return kind and fields of a node; an empty kind if there is none."""
    for kind, body in node.items():
        return kind, body
    return "", {}


def nodes_of(value: object) -> list[Body]:
    """Return the objects in a field: of a list, or a single one; none for a name, number or flag."""
    below = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("Body", node) for node in below if isinstance(node, dict)]


def text_of(constant: Body) -> str:
    """Return the text of a constant node; else empty."""
    return constant.get("A_Const", {}).get("sval", {}).get("sval", "")


def _parse(encoded: bytes) -> bytes:
    """Return the tree as JSON."""
    result = lib.pg_query_parse(encoded)
    try:
        if result.error:
            raise _syntax(result.error.contents)
        return result.parse_tree
    finally:
        lib.pg_query_free_parse_result(result)


def _with_room(encoded: bytes) -> bytes:
    """Parse a long text in a thread with a stack for the deepest possible tree of its length.

    The library recurses without checking the stack: 50,000 additions need more than the 4 MiB that some threads have,
    and the process would crash.
    """
    with ThreadPoolExecutor(1, "sql-grammar") as room:
        with _starting:
            usual = threading.stack_size(_LEAST_ROOM + _ROOM_PER_BYTE * len(encoded) // 4096 * 4096)
            try:
                waiting = room.submit(_parse, encoded)
            finally:
                threading.stack_size(usual)
        return waiting.result()


def _syntax(error: Any) -> Refusal:
    message = error.message.decode(errors="replace")
    offset = error.cursorpos - 1 if error.cursorpos > 0 else None
    if message.startswith("memory exhausted"):
        return Refusal("too_deep", "The statement is nested too deeply.", hint=DEEP, offset=offset)
    hint = "Write it in PostgreSQL's dialect, without placeholders or templates."
    return Refusal("syntax", f"It is not PostgreSQL's syntax: {message[:200]}.", hint=hint, offset=offset)
