"""`judge`: what every dialect has in common before and after its own reader.

Invariant: whatever the text, there is a verdict: a text that cannot be read is refused, never passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Final, TypeAlias

from thresher.sqlguard.records import Dialect, Knowledge, Limits, Verdict
from thresher.sqlguard.refusals import Refused

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
