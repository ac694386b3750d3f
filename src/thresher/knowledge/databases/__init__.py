"""The databases kind: named connections, what relates to what in them, and statements that only read.

Invariant: nothing reaches a database that the guard has not read and the audit log has not noted.

Uses: audit, connectors, core, embedding, jobs, search, sqlguard, store.
"""

from thresher.connectors import Health
from thresher.knowledge.databases.configured import Configured, read_configured
from thresher.knowledge.databases.entries import KIND
from thresher.knowledge.databases.models import (
    Connection,
    Evidence,
    FoundTable,
    FoundTables,
    IncomingKey,
    PotentialRelation,
    QueryAnswer,
    Relations,
    SchemaAnswer,
    SessionInfo,
    TableBrief,
    TableColumns,
    TableList,
)
from thresher.knowledge.databases.relations import THRESHOLD, columns_wanted, find_relations
from thresher.knowledge.databases.running import refusal
from thresher.knowledge.databases.service import DatabaseService
from thresher.knowledge.databases.task import TASK as EMBED_TASK
from thresher.knowledge.databases.task import EmbedTask

__all__ = [
    "EMBED_TASK",
    "KIND",
    "THRESHOLD",
    "Configured",
    "Connection",
    "DatabaseService",
    "EmbedTask",
    "Evidence",
    "FoundTable",
    "FoundTables",
    "Health",
    "IncomingKey",
    "PotentialRelation",
    "QueryAnswer",
    "Relations",
    "SchemaAnswer",
    "SessionInfo",
    "TableBrief",
    "TableColumns",
    "TableList",
    "columns_wanted",
    "find_relations",
    "read_configured",
    "refusal",
]
