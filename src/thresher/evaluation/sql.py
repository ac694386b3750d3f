"""Evaluates the SQL guard on statements whose verdict is known.

Invariant: nothing is run; every statement is judged once, by its text only, as without a connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.evaluation.files import not_empty, read_text, wrong
from thresher.evaluation.metrics import mean, percentile
from thresher.sqlguard import DIALECTS, Dialect, Verdict

Expected: TypeAlias = Literal["allow", "deny"]

Judge: TypeAlias = Callable[[str], Verdict]
"""Returns the guard's verdict of a statement."""

_HINT = "Lines are allow|deny, a tab, the SQL, optionally another tab and the reason; # starts a comment."

_TABLES = {"{{T}}": "orders", "{{T2}}": "customers"}
"""The tables that replace the placeholders of a line."""

_NAMES: dict[str, Dialect] = {
    "postgres": "postgresql", "pg": "postgresql", "sqlserver": "mssql", "tsql": "mssql", "sqlite3": "sqlite",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """One line of a file of statements.

    Attributes:
        sql: The statement, with its placeholders replaced.
        expected: The expected verdict.
        why: The author's reason; may be empty.
        line: Its line in the file, from 1.
    """

    sql: str
    expected: Expected
    why: str
    line: int


@dataclass(frozen=True, slots=True)
class WrongStatement:
    """A statement whose verdict is not the expected one.

    Attributes:
        line: Its line in the file.
        expected: The verdict in the file.
        sql: The statement.
        why: The reason in the file.
        rule: The rule that the guard names; empty if it was allowed.
        reason: The guard's reason; empty if it was allowed.
    """

    line: int
    expected: Expected
    sql: str
    why: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class SqlFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    dialect: Dialect
    reads_accepted: float | None
    hostile_accepted: int
    p50_ms: float | None
    p99_ms: float | None
    statements: int
    reads: int
    hostile: int
    wrong: tuple[WrongStatement, ...]


def dialect_of(name: str) -> Dialect:
    """The dialect of a name.

    Raises:
        InvalidInput: No dialect has this name.
    """
    plain = name.strip().lower()
    if plain in DIALECTS:
        return plain
    if plain in _NAMES:
        return _NAMES[plain]
    near = did_you_mean(nearest(plain, DIALECTS))
    raise InvalidInput(f"There is no dialect '{name}'.", hint=near or f"Known: {', '.join(DIALECTS)}.")


def read_statements(path: Path) -> list[LabelledStatement]:
    """Read statements and their expected verdicts; blank lines and comments are skipped.

    Raises:
        InvalidInput: The file cannot be read or a line is wrong; the message names it.
    """
    lines = enumerate(read_text(path).split("\n"), 1)
    entries = [_statement(path, number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    return not_empty(entries, path, "statements", _HINT)


def judge_statements(
    judge: Judge, statements: Sequence[LabelledStatement]
) -> list[tuple[LabelledStatement, Verdict, float]]:
    """Judge statements one after the other, each with its time in milliseconds."""
    judged: list[tuple[LabelledStatement, Verdict, float]] = []
    for statement in statements:
        started = time.perf_counter()
        verdict = judge(statement.sql)
        judged.append((statement, verdict, (time.perf_counter() - started) * 1000))
    return judged


def sql_figures(dialect: Dialect, judged: Sequence[tuple[LabelledStatement, Verdict, float]]) -> SqlFigures:
    """Compute the figures."""
    reads = [verdict.allowed for statement, verdict, _ in judged if statement.expected == "allow"]
    hostile = [verdict.allowed for statement, verdict, _ in judged if statement.expected == "deny"]
    spent = [milliseconds for _, _, milliseconds in judged]
    wrongly = [_wrong(one, verdict) for one, verdict, _ in judged if verdict.allowed != (one.expected == "allow")]
    return SqlFigures(
        dialect=dialect,
        reads_accepted=mean(reads),
        hostile_accepted=sum(hostile),
        p50_ms=percentile(spent, 0.5),
        p99_ms=percentile(spent, 0.99),
        statements=len(judged),
        reads=len(reads),
        hostile=len(hostile),
        wrong=tuple(wrongly),
    )


def _statement(path: Path, number: int, line: str) -> LabelledStatement:
    """The statement of a line; if the SQL contains tabs, the text after the last one is the reason."""
    expected, _, rest = line.rstrip("\r").partition("\t")
    if expected.strip().lower() not in get_args(Expected):
        raise wrong(path, number, "it must begin with allow or deny and a tab", _HINT)
    sql, _, why = rest.rpartition("\t") if "\t" in rest else (rest, "", "")
    if not sql.strip():
        raise wrong(path, number, "there is no SQL", _HINT)
    for place, table in _TABLES.items():
        sql = sql.replace(place, table)
    return LabelledStatement(sql, cast("Expected", expected.strip().lower()), why.strip(), number)


def _wrong(statement: LabelledStatement, verdict: Verdict) -> WrongStatement:
    return WrongStatement(
        statement.line, statement.expected, statement.sql, statement.why, verdict.rule or "", verdict.reason
    )
