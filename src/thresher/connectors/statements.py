"""What engines share when they run a statement: its first word, session names, functions, cost limits, reading rows.

A planner's estimates are guesses, so the limits are generous: they stop what would run for hours, and time-outs stop
the rest.

Invariant: client text in a session's name is reduced to characters without a meaning: no quote, comment or control
character gets into a server's setting or a log. Rows are read one after another, and nothing beyond a cap is held.
`first_word` chooses how to run a statement that the guard has allowed, never whether to run it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.records import Caps, ResultColumn, Rows, SessionTag
from thresher.connectors.values import to_json
from thresher.core import StatementRefused
from thresher.sqlguard import CATALOG_SQL, Dialect, Functions, functions_of

PROGRAM: Final = "thresher"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._:@+-]+")
_DASHES: Final = re.compile(r"-{2,}")


def cleaned(text: str, limit: int) -> str:
    """Replace runs of unsafe characters by `_` and `--`, which begins a comment, by `-`; at most `limit` characters."""
    return _DASHES.sub("-", _UNSAFE.sub("_", text)).strip("_")[:limit]


def session_name(tag: SessionTag, limit: int) -> str:
    """`thresher <client> <thread> #<audit id>` in at most `limit` ASCII characters; the id is never cut."""
    end = f" #{tag.audit_id}"
    room = limit - len(PROGRAM) - len(end) - 2
    client = cleaned(tag.client, room // 2)
    thread = cleaned(tag.thread, room - len(client))
    return " ".join(part for part in (PROGRAM, client, thread) if part) + end


_SKIPPED: Final = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))+")
_BORDER: Final = re.compile(r"/\*|\*/")
_WORD: Final = re.compile(r"[A-Za-z]+")


def first_word(sql: str) -> str:
    """The first word in lower case, after blanks, comments and opening parentheses; empty if there is none."""
    place = 0
    while True:
        if skipped := _SKIPPED.match(sql, place):
            place = skipped.end()
        if not sql.startswith("/*", place):
            word = _WORD.match(sql, place)
            return word[0].lower() if word else ""
        place = _after_comment(sql, place)


def _after_comment(sql: str, place: int) -> int:
    """The end of a comment; comments may be nested (PostgreSQL)."""
    depth = 0
    for border in _BORDER.finditer(sql, place):
        depth += 1 if border[0] == "/*" else -1
        if depth == 0:
            return border.end()
    return len(sql)


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version such as `10.11.6-MariaDB`, up to the first dash."""
    return tuple(int(part) for part in version.split("-", 1)[0].split(".") if part.isdigit())


def known_functions(
    dialect: Dialect, ask: Callable[[str], Sequence[Sequence[Any]]], options: ConnectorOptions
) -> Functions | None:
    """Ask a database which functions statements may call; None if only the list that ships with the guard applies.

    Args:
        dialect: The engine's dialect.
        ask: Runs a statement in a read-only session.
        options: Names the user-defined functions that are allowed.
    """
    statement = CATALOG_SQL.get(dialect)
    if statement is None and not options.allow_functions:
        return None
    rows = [tuple(row) for row in ask(statement)] if statement else []
    return functions_of(dialect, rows, own=options.allow_functions)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A planner's estimate.

    Attributes:
        cost: Total cost in the planner's own unit; 0 if it reports none.
        rows: The most rows that any one step reads or produces; 0 if it reports none.
        broken: Whether the statement could not be planned at all.
    """

    cost: float = 0.0
    rows: float = 0.0
    broken: bool = False


def check_estimate(estimate: Estimate, options: ConnectorOptions) -> None:
    """Check an estimate against the limits.

    Raises:
        StatementRefused: It exceeds a limit (rule `cost`).
    """
    if options.most_rows is not None and estimate.rows > options.most_rows:
        raise too_expensive(f"about {estimate.rows:,.0f} rows in one step, and allowed are {options.most_rows:,.0f}")
    if options.most_cost is not None and estimate.cost > options.most_cost:
        raise too_expensive(f"a cost of about {estimate.cost:,.0f}, and allowed is {options.most_cost:,.0f}")


def too_expensive(expected: str) -> StatementRefused:
    """The error for a statement whose estimate exceeds a limit."""
    return StatementRefused(
        f"The statement costs too much: the database expects {expected}.",
        hint="Join on keys, filter or aggregate first; sql_explain shows the plan.",
        rule="cost",
    )


def postgresql_estimate(plan: Any) -> Estimate:
    """Read the estimate from the result of `explain (format json)`; commands that are not planned have none."""
    document = json.loads(plan) if isinstance(plan, str | bytes) else plan
    if not isinstance(document[0], dict):
        return Estimate()
    top: Mapping[str, Any] = document[0]["Plan"]
    return Estimate(float(top.get("Total Cost", 0)), max(_rows_of(top)))


def _rows_of(node: Mapping[str, Any]) -> Iterable[float]:
    nodes = [node]
    while nodes:
        one = nodes.pop()
        yield float(one.get("Plan Rows", 0))
        nodes.extend(one.get("Plans", ()))


_SMALLEST_CELL: Final = 8
_SEPARATOR: Final = 2


def fill(columns: Sequence[ResultColumn], source: Iterable[Sequence[Any]], caps: Caps) -> Rows:
    """Read rows from a streaming source up to the caps; the caller fills in the time.

    At least one row is returned if there is one, so that the next page makes progress. One row more than `caps.rows` is
    read to learn whether there are more. Exceptions of the source pass through.
    """
    rows: list[tuple[Any, ...]] = []
    used = clipped = 0
    truncated = ""
    for raw in islice(source, caps.skip, None):
        if len(rows) >= caps.rows:
            truncated = "rows"
            break
        row, cut, size = _row(raw, caps.cell)
        if used + size > caps.bytes:
            if rows:
                truncated = "bytes"
                break
            row, cut, size = _squeezed(raw, caps)
        rows.append(row)
        used += size
        clipped += cut
    return Rows(tuple(columns), tuple(rows), truncated, clipped, more=bool(truncated))


def _row(raw: Sequence[Any], cell: int) -> tuple[tuple[Any, ...], int, int]:
    """Return a row as JSON values, the number of clipped values, and its size in bytes."""
    values = [to_json(value, cell) for value in raw]
    row = tuple(value for value, _ in values)
    size = len(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")) + _SEPARATOR
    return row, sum(clipped for _, clipped in values), size


def _squeezed(raw: Sequence[Any], caps: Caps) -> tuple[tuple[Any, ...], int, int]:
    """Clip the cells of a first row that does not fit, until it fits or nothing is left to clip."""
    cell = caps.cell
    while True:
        cell //= 2
        row, cut, size = _row(raw, cell)
        if size <= caps.bytes or cell <= _SMALLEST_CELL:
            return row, cut, size
