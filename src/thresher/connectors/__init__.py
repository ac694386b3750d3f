"""Connectors: sessions with a team's databases, which can only read; and what files say of a database's tables.

Invariant: a statement runs in a transaction that is read-only as far as the engine knows such a thing, with time-outs,
and is rolled back always; no credential leaves in an error, a log line or a record.

Uses: confinement, core, servoy, sqlguard.
"""

from thresher.connectors.addresses import Address, check_below, folder_url, read_address
from thresher.connectors.column_info import keys_between, no_server, tables_of
from thresher.connectors.connector import Connector, ConnectorOptions
from thresher.connectors.opening import open_connector
from thresher.connectors.records import (
    COLUMN_INFO,
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
    SchemaDialect,
    Table,
    Tag,
)

__all__ = [
    "COLUMN_INFO",
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
    "SchemaDialect",
    "Table",
    "Tag",
    "check_below",
    "folder_url",
    "keys_between",
    "no_server",
    "open_connector",
    "read_address",
    "tables_of",
]
