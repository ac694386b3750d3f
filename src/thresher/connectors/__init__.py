"""Connectors: read-only sessions with a team's databases, and tables as a workspace's files describe them.

Invariant: a statement runs with time-outs in a transaction that is read-only as far as the engine supports one, and is
always rolled back; no credential appears in an error, a log line or a record.

Uses: confinement, core, servoy, sqlguard.
"""

from thresher.connectors.addresses import DatabaseAddress, check_below, folder_url, read_address
from thresher.connectors.column_info import keys_between, no_server, tables_of
from thresher.connectors.connector import Connector, ConnectorOptions
from thresher.connectors.pool import open_connector
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
    SessionTag,
    Table,
)

__all__ = [
    "COLUMN_INFO",
    "Caps",
    "Column",
    "Connector",
    "ConnectorOptions",
    "DatabaseAddress",
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
    "SessionTag",
    "Table",
    "check_below",
    "folder_url",
    "keys_between",
    "no_server",
    "open_connector",
    "read_address",
    "tables_of",
]
