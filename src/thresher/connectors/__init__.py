"""Connectors: sessions with a team's databases, which can only read.

Invariant: a statement runs in a transaction that is read-only as far as the engine knows such a thing, with time-outs,
and is rolled back always; no credential leaves in an error, a log line or a record.

Uses: core.
"""

from thresher.connectors.records import (
    Caps,
    Column,
    Family,
    ForeignKey,
    Health,
    Profile,
    Profiles,
    ResultColumn,
    Rows,
    Schema,
    Table,
    Tag,
)

__all__ = [
    "Caps",
    "Column",
    "Family",
    "ForeignKey",
    "Health",
    "Profile",
    "Profiles",
    "ResultColumn",
    "Rows",
    "Schema",
    "Table",
    "Tag",
]
