"""The tables, as SQLAlchemy Core metadata; Alembic's migrations create exactly these.

Uses: nothing.
"""

from thresher.store.tables.agent import (
    approval_floor,
    artifact,
    assistant_session,
    chat_model,
    chat_setting,
    checkpoint,
    checkpoint_blob,
    checkpoint_write,
    prompt_version,
    thread,
)
from thresher.store.tables.apis import (
    api_document,
    api_operation,
    api_provider,
    api_read_log,
    api_search_log,
    api_version,
)
from thresher.store.tables.catalogue import (
    access_key,
    component,
    consent,
    credential,
    discovery,
    invocation,
    server,
    tool,
    tool_text,
)
from thresher.store.tables.databases import APPEND_ONLY, audit_head, audit_link, connection, schema_snapshot
from thresher.store.tables.index import collection, embedding, item, item_vector, posting, term_stat
from thresher.store.tables.intents import (
    decision,
    intent_fit,
    intent_signal,
    intent_threshold,
    pack_trust,
    rules_given,
)
from thresher.store.tables.metadata import TENANT_TABLES, metadata, tenant
from thresher.store.tables.sources import chunk, document, job, repository, solution_choice, workspace

__all__ = [
    "APPEND_ONLY",
    "TENANT_TABLES",
    "access_key",
    "api_document",
    "api_operation",
    "api_provider",
    "api_read_log",
    "api_search_log",
    "api_version",
    "approval_floor",
    "artifact",
    "assistant_session",
    "audit_head",
    "audit_link",
    "chat_model",
    "chat_setting",
    "checkpoint",
    "checkpoint_blob",
    "checkpoint_write",
    "chunk",
    "collection",
    "component",
    "connection",
    "consent",
    "credential",
    "decision",
    "discovery",
    "document",
    "embedding",
    "intent_fit",
    "intent_signal",
    "intent_threshold",
    "invocation",
    "item",
    "item_vector",
    "job",
    "metadata",
    "pack_trust",
    "posting",
    "prompt_version",
    "repository",
    "rules_given",
    "schema_snapshot",
    "server",
    "solution_choice",
    "tenant",
    "term_stat",
    "thread",
    "tool",
    "tool_text",
    "workspace",
]
