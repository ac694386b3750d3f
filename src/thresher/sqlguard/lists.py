"""The lists of functions that ship for each engine, and why a function was left out of one.

Invariant: a name that is not listed is refused; the lists are data (`functions/*.txt`), made from the engines' own
catalogs and manuals and reviewed line by line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from thresher.sqlguard.records import Dialect, Functions


@cache
def listed(dialect: Dialect) -> Functions:
    """The functions that may be called where nothing is known of the database.

    Args:
        dialect: One of those whose list names functions only.
    """
    return Functions(frozenset(name for kind, name, _ in _lines(dialect) if kind == "function"))


def with_users(dialect: Dialect, rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions:
    """The list that ships, and what the users of a database added.

    Args:
        dialect: Its engine.
        rows: Schema and name of each of their functions.
        own: Those of them that who set up the connection allows, as `schema.name`.
    """
    allowed = listed(dialect).allowed
    users = {(str(schema).lower(), str(name).lower()) for schema, name, *_ in rows}
    names = frozenset(name for _, name in users)
    known = {f"{schema}.{name}" for schema, name in users}
    fields = names if dialect == "oracle" else frozenset[str]()
    return Functions(allowed, names & allowed, frozenset(name.lower() for name in own) & known, fields=fields)


@cache
def left_out(dialect: Dialect) -> dict[str, str]:
    """Functions that were looked at and left out, with the reason."""
    return {name: why for kind, name, why in _lines(dialect) if kind == "refused"}


@cache
def _lines(dialect: Dialect) -> tuple[tuple[str, str, str], ...]:
    """Kind, name and reason of every line of a list."""
    text = files("thresher.sqlguard").joinpath("functions", f"{dialect}.txt").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple((line[0], line[1], line[2] if len(line) > 2 else "") for line in lines)
