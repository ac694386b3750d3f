"""`judge`: what every dialect has in common before and after its own reader.

Invariant: whatever the text, there is a verdict: a text that cannot be read is refused, never passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

from thresher.sqlguard.records import Dialect, Knowledge, Limits, Place, Rule, Verdict

_WORD: Final = re.compile(r'[\w."$]+|[-+*/<>=~!@#%^&|`?:]+')
SHOWN: Final = 80
"""Characters of the part that a place quotes."""


class Refused(Exception):
    """A statement may not run.

    Args:
        rule: What it broke.
        reason: The same in one sentence.
        hint: What to write instead.
        offset: Characters before the part that is meant; None: the whole statement.
        text: The part; empty: the word at the offset.
        kind: What kind of statement was recognised.
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
        """The refusal of this text."""
        place = None if self.offset is None else place_at(sql, self.offset, self.text)
        return Verdict(False, self.rule, self.reason, self.hint, place, self.kind)


def place_at(sql: str, offset: int, text: str = "") -> Place:
    """The place of a part of the text.

    Args:
        sql: The whole text.
        offset: Characters before the part; moved inside the text where it is not.
        text: The part; empty: the text from the offset to the end of its word.
    """
    offset = max(0, min(offset, len(sql)))
    before = sql[:offset]
    shown = text or _word(sql[offset : offset + SHOWN])
    return Place(offset, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, shown[:SHOWN])


def _word(text: str) -> str:
    """The word or the operator that the text begins with, or its first line where it begins with neither."""
    line = text.split("\n", 1)[0].rstrip()
    found = _WORD.match(line)
    return found[0] if found else line


Reader: TypeAlias = Callable[[str, Dialect, Knowledge, Limits], Verdict]
"""Reads one text of a dialect: returns the verdict of a statement that may run, raises `Refused` for any other."""

READERS: Final[Mapping[Dialect, str]] = {
    "postgresql": "postgresql.statements",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "oracle": "oracle",
    "mssql": "mssql",
}
"""Modules with a `read`. They are loaded with the first statement of their dialect: grammars take a tenth of a second
each, and most processes never judge a statement, or those of one dialect."""

_NOTHING: Final = Knowledge()
_DEFAULT: Final = Limits()


def judge(sql: str, dialect: Dialect, knowledge: Knowledge | None = None, limits: Limits = _DEFAULT) -> Verdict:
    """Whether a statement may run on a database: it is one statement, and it can only read.

    Args:
        sql: What somebody else wrote: any text.
        dialect: The engine that would run it.
        knowledge: What is known of the database; None: nothing, and the list of functions that ships counts.
        limits: How long, how deep and how large it may be.

    Returns:
        The verdict; a text that is refused has a rule, a reason and, where it can be told, a place. Never raises.
    """
    try:
        _refuse_unreadable(sql, limits)
        if dialect not in READERS:
            raise Refused("statement", f"No statement of {dialect} can be judged.")
        return reader(dialect)(sql, dialect, knowledge or _NOTHING, limits)
    except Refused as refused:
        return refused.verdict(sql)
    except RecursionError:
        return Refused("too_deep", "The statement is nested too deeply.", hint="Write it flatter.").verdict(sql)
    except Exception as error:  # noqa: BLE001 - a grammar that fails on a text has not read it
        return Refused("syntax", f"The statement could not be read ({type(error).__name__}).").verdict(sql)


@cache
def reader(dialect: Dialect) -> Reader:
    """The reader of a dialect."""
    found: Reader = import_module(f"thresher.sqlguard.{READERS[dialect]}").read
    return found


def _refuse_unreadable(sql: str, limits: Limits) -> None:
    """What no grammar is asked about.

    Raises:
        Refused: Empty, too long, or characters which an engine may read otherwise than the guard.
    """
    if len(sql) > limits.characters:
        reason = f"The statement has {len(sql):,} characters; at most {limits.characters:,} are read."
        raise Refused("too_long", reason, hint="Ask in several smaller statements.")
    if not sql.strip():
        raise Refused("empty", "There is no statement.")
    at = sql.find("\0")
    if at >= 0:
        raise Refused("syntax", "The statement has a NUL character.", offset=at, text="\\0")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        reason = "The statement has a character that is no text."
        raise Refused("syntax", reason, offset=error.start, text=repr(sql[error.start])) from None
