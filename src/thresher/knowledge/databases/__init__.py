"""The databases kind: named connections, what relates in their schemas, and statements that only read.

Invariant: a statement reaches a database only after the guard has read it and the audit log has recorded it.

Uses: audit, connectors, core, embedding, jobs, search, sqlguard, store.
"""

from thresher.connectors import Health
from thresher.knowledge.databases.indexing import KIND, EmbedTask
from thresher.knowledge.databases.indexing import TASK as EMBED_TASK
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
from thresher.knowledge.databases.provisioning import ConfiguredConnection, read_configured
from thresher.knowledge.databases.relations import THRESHOLD, columns_to_sample, find_relations
from thresher.knowledge.databases.service import DatabaseService
from thresher.knowledge.databases.statements import refusal

__all__ = [
    "EMBED_TASK",
    "KIND",
    "THRESHOLD",
    "ConfiguredConnection",
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
    "columns_to_sample",
    "find_relations",
    "read_configured",
    "refusal",
]
