"""`judge`, the entry to all dialects, and how a reader of a dialect refuses a statement.

Invariant: every text gets a verdict: one that cannot be read is refused, never passed on. A refusal becomes a verdict
in one place, so that all dialects answer in the same form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

from thresher.sqlguard.records import Dialect, Knowledge, Rule, SqlLocation, StatementLimits, Verdict

_WORD: Final = re.compile(r'[\w."$]+|[-+*/<>=~!@#%^&|`?:]+')
SHOWN: Final = 80
"""Characters of the refused part that a location quotes."""


class Refusal(Exception):
    """The statement must not run.

    Args:
        rule: The rule that it breaks.
        reason: The same in one sentence.
        hint: What to write instead.
        offset: Characters before the refused part; None for the whole statement.
        text: The part; empty for the word at the offset.
        kind: The recognized kind of statement.
    """

    def __init__(
        self, rule: Rule, reason: str, *, hint: str = "", offset: int | None = None, text: str = "", kind: str = ""
    ) -> None:
        super().__init__(reason)
        self.rule: Rule = rule
        self.reason = reason
        self.hint = hint
        self.offset = offset
        self.text = text
        self.kind = kind

    def verdict(self, sql: str) -> Verdict:
        """Return the verdict for this text."""
        place = None if self.offset is None else place_at(sql, self.offset, self.text)
        return Verdict(False, self.rule, self.reason, self.hint, place, self.kind)


def place_at(sql: str, offset: int, text: str = "") -> SqlLocation:
    """Return the location of a part of the text.

    Args:
        sql: The whole text.
        offset: Characters before the part; clamped to the text.
        text: The part; empty for the word at the offset.
    """
    offset = max(0, min(offset, len(sql)))
    before = sql[:offset]
    shown = text or _word(sql[offset : offset + SHOWN])
    return SqlLocation(offset, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, shown[:SHOWN])


def _word(text: str) -> str:
    """Return the word or operator that the text begins with, or else its first line."""
    line = text.split("\n", 1)[0].rstrip()
    found = _WORD.match(line)
    return found[0] if found else line


Reader: TypeAlias = Callable[[str, Dialect, Knowledge, StatementLimits], Verdict]
"""Reads one text of a dialect: returns the verdict for an allowed statement, raises `Refusal` for any other."""

READERS: Final[Mapping[Dialect, str]] = {
    "postgresql": "postgresql.statements",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "oracle": "oracle",
    "mssql": "mssql",
}
"""Modules with a `read` function. They are loaded with the first statement of their dialect: grammars take a tenth of a
second each, and most processes never judge a statement, or only those of one dialect.
"""

_NOTHING: Final = Knowledge()
_DEFAULT: Final = StatementLimits()


def judge(
    sql: str, dialect: Dialect, knowledge: Knowledge | None = None, limits: StatementLimits = _DEFAULT
) -> Verdict:
    """Decide whether a statement may run: it is a single statement and only reads.

    Args:
        sql: Untrusted text.
        dialect: The engine that would run it.
        knowledge: What is known about the database; None for the shipped list of functions.
        limits: Bounds on length, depth and sizes.

    Returns:
        The verdict; a refused text has a rule, a reason and, if known, a location. Never raises.
    """
    try:
        _refuse_unreadable(sql, limits)
        if dialect not in READERS:
            raise Refusal("statement", f"No statement of {dialect} can be judged.")
        return reader(dialect)(sql, dialect, knowledge or _NOTHING, limits)
    except Refusal as refused:
        return refused.verdict(sql)
    except RecursionError:
        return Refusal("too_deep", "The statement is nested too deeply.", hint="Use less nesting.").verdict(sql)
    except Exception as error:  # noqa: BLE001 - any failure of a grammar means that the text was not understood
        return Refusal("syntax", f"The statement cannot be read ({type(error).__name__}).").verdict(sql)


@cache
def reader(dialect: Dialect) -> Reader:
    """Return the reader of a dialect."""
    found: Reader = import_module(f"thresher.sqlguard.{READERS[dialect]}").read
    return found


def _refuse_unreadable(sql: str, limits: StatementLimits) -> None:
    """Refuse texts that no grammar is given.

    Raises:
        Refusal: The text is empty, too long, or has characters that an engine may read differently from the guard.
    """
    if len(sql) > limits.characters:
        reason = f"The statement has {len(sql):,} characters; the limit is {limits.characters:,}."
        raise Refusal("too_long", reason, hint="Split it into smaller statements.")
    if not sql.strip():
        raise Refusal("empty", "There is no statement.")
    at = sql.find("\0")
    if at >= 0:
        raise Refusal("syntax", "The statement contains a NUL character.", offset=at, text="\\0")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        reason = "The statement contains an invalid character."
        raise Refusal("syntax", reason, offset=error.start, text=repr(sql[error.start])) from None
