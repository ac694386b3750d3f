"""The databases kind: named connections, what relates to what in them, and statements that only read.

Invariant: nothing reaches a database that the guard has not read and the audit log has not noted.

Uses: connectors, core, jobs, search, sqlguard, store.
"""

from thresher.knowledge.databases.models import (
    Asker,
    Connection,
    Evidence,
    FoundTable,
    FoundTables,
    IncomingKey,
    PotentialRelation,
    QueryAnswer,
    Refused,
    Relations,
    SchemaAnswer,
    SessionInfo,
    TableBrief,
    TableColumns,
    TableList,
)
from thresher.knowledge.databases.relations import THRESHOLD, find_relations
from thresher.knowledge.databases.service import DatabaseService

__all__ = [
    "THRESHOLD",
    "Asker",
    "Connection",
    "DatabaseService",
    "Evidence",
    "FoundTable",
    "FoundTables",
    "IncomingKey",
    "PotentialRelation",
    "QueryAnswer",
    "Refused",
    "Relations",
    "SchemaAnswer",
    "SessionInfo",
    "TableBrief",
    "TableColumns",
    "TableList",
    "find_relations",
]
