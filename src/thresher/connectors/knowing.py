"""Asks a database which functions it has, for the guard.

Invariant: the statement is the guard's own; where it has none for an engine, the list that ships is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thresher.connectors.connector import ConnectorOptions
from thresher.sqlguard import CATALOG_SQL, Dialect, Functions, functions_of


def known_functions(
    dialect: Dialect, ask: Callable[[str], Sequence[Sequence[Any]]], options: ConnectorOptions
) -> Functions | None:
    """What may be called in this database; None: nothing beside the list that ships with the guard.

    Args:
        dialect: Of the engine.
        ask: Runs a statement in a session that only reads.
        options: Name functions of users that may be called.
    """
    statement = CATALOG_SQL.get(dialect)
    if statement is None and not options.allow_functions:
        return None
    rows = [tuple(row) for row in ask(statement)] if statement else []
    return functions_of(dialect, rows, own=options.allow_functions)
