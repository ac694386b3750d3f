"""Connectors: sessions with a team's databases, which can only read.

Invariant: a statement runs in a transaction that is read-only as far as the engine knows such a thing, with time-outs,
and is rolled back always; no credential leaves in an error, a log line or a record.

Uses: core, sqlguard.
"""

from thresher.connectors.addresses import Address, read_address
from thresher.connectors.connector import Connector, ConnectorOptions
from thresher.connectors.opening import open_connector
from thresher.connectors.records import (
    Caps,
    Column,
    Family,
    ForeignKey,
    Health,
    Profile,
    Profiles,
    RelationKind,
    ResultColumn,
    Rows,
    Schema,
    Table,
    Tag,
)

__all__ = [
    "Address",
    "Caps",
    "Column",
    "Connector",
    "ConnectorOptions",
    "Family",
    "ForeignKey",
    "Health",
    "Profile",
    "Profiles",
    "RelationKind",
    "ResultColumn",
    "Rows",
    "Schema",
    "Table",
    "Tag",
    "open_connector",
    "read_address",
]
