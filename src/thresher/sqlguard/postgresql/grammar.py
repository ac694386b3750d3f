"""PostgreSQL's own grammar (libpg_query): text to a tree of plain values.

Invariant: what is read is what the server reads: the tree is built by the server's lexer and parser, compiled as a
library. The tree comes as JSON, not as protobuf: the readers of protobuf stop at a hundred levels, which fifty `||`
reach, and a walk over plain values takes a fifth of the time.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias, cast

from postgast import scan
from postgast.native import lib

from thresher.sqlguard.verdicts import Refused

Body: TypeAlias = dict[str, Any]
"""The fields of a node by their names in C; what is zero, false or absent is left out."""

DEEP: Final = "Write it flatter: fewer queries inside queries, shorter chains of operators."

SHORT: Final = 2_000
"""Bytes of a text whose tree fits any thread's stack, however it nests."""
_ROOM_PER_BYTE: Final = 512
"""Bytes of stack for each byte of text: three times what chains of additions, two bytes for each level, were seen to
need."""
_LEAST_ROOM: Final = 1 << 20
_starting: Final = threading.Lock()


class Offsets:
    """Places of the grammar, in bytes of UTF-8, as places of the text, in characters.

    Args:
        sql: The text.
    """

    def __init__(self, sql: str) -> None:
        self._encoded = None if sql.isascii() else sql.encode()

    def characters(self, offset: int) -> int:
        """Characters before the byte."""
        return offset if self._encoded is None else len(self._encoded[:offset].decode(errors="ignore"))


def parse(sql: str) -> list[Body]:
    """The statements of a text.

    Args:
        sql: Text without NUL and without lone surrogates.

    Returns:
        `RawStmt` bodies: `stmt`, `stmt_location` and `stmt_len` in bytes.

    Raises:
        Refused: It is not PostgreSQL's syntax, or nested more deeply than can be read.
    """
    encoded = sql.encode()
    written = _parse(encoded) if len(encoded) <= SHORT else _with_room(encoded)
    try:
        return json.loads(written).get("stmts", [])
    except RecursionError:
        raise Refused("too_deep", "The statement is nested too deeply.", hint=DEEP) from None


def hint_of(sql: str) -> int | None:
    """Characters before the first comment that extensions read as orders to the planner; None: there is none."""
    if "/*+" not in sql:
        return None
    encoded = sql.encode()
    starts = (token.start for token in scan(sql).tokens if encoded.startswith(b"/*+", token.start))
    first = next(starts, None)
    return None if first is None else Offsets(sql).characters(first)


def split(node: Body) -> tuple[str, Body]:
    """Kind and fields of a node; an empty kind where there is none."""
    for kind, body in node.items():
        return kind, body
    return "", {}


def nodes_of(value: object) -> list[Body]:
    """The objects of a field: of a list, or the one that it is; none of a name, a number or a flag."""
    below = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("Body", node) for node in below if isinstance(node, dict)]


def text_of(constant: Body) -> str:
    """The text that a node is as a constant; empty: it is none."""
    return constant.get("A_Const", {}).get("sval", {}).get("sval", "")


def _parse(encoded: bytes) -> bytes:
    """The tree as JSON."""
    result = lib.pg_query_parse(encoded)
    try:
        if result.error:
            raise _syntax(result.error.contents)
        return result.parse_tree
    finally:
        lib.pg_query_free_parse_result(result)


def _with_room(encoded: bytes) -> bytes:
    """The tree of a long text, from a thread whose stack is large enough for the deepest tree of so many characters.

    The library descends the tree without asking how much of the stack is left: 50,000 additions need more than the
    4 MiB that some threads have, and the process would die.
    """
    with ThreadPoolExecutor(1, "sql-grammar") as room:
        with _starting:
            usual = threading.stack_size(_LEAST_ROOM + _ROOM_PER_BYTE * len(encoded) // 4096 * 4096)
            try:
                waiting = room.submit(_parse, encoded)
            finally:
                threading.stack_size(usual)
        return waiting.result()


def _syntax(error: Any) -> Refused:
    message = error.message.decode(errors="replace")
    offset = error.cursorpos - 1 if error.cursorpos > 0 else None
    if message.startswith("memory exhausted"):
        return Refused("too_deep", "The statement is nested too deeply.", hint=DEEP, offset=offset)
    hint = "Write it in PostgreSQL's dialect, without placeholders or templates."
    return Refused("syntax", f"It is not PostgreSQL's syntax: {message[:200]}.", hint=hint, offset=offset)
