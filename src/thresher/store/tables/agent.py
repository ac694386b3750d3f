"""The agent: registered models, settings, versions of prompts; conversations with their checkpoints and artifacts.

Invariant: a model's key is sealed before it reaches a row, and a version of a prompt never changes.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB

from thresher.store.tables.metadata import row_id, tenant_table

assistant_session = tenant_table(
    "assistant_session",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("turns", JSONB, nullable=False, server_default="[]"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""One row for each conversation. `name`: given out at its first turn; `turns`: the last ones, oldest first; `at`: when
it went on last."""

Index("assistant_session_tenant_id_at_idx", assistant_session.c.tenant_id, assistant_session.c.at)


def _of_thread() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["tenant_id", "thread_id"], ["thread.tenant_id", "thread.id"], ondelete="CASCADE")


thread = tenant_table(
    "thread",
    Column("id", Uuid, primary_key=True),
    Column("owner", Text, nullable=True),
    Column("title", Text, nullable=False, server_default=""),
    Column("settings", JSONB, nullable=False, server_default="{}"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("forked_from", Uuid, nullable=True),
    Column("forked_at", Uuid, nullable=True),
    Column("last_checkpoint", Uuid, nullable=True),
    Column("holder", Integer, nullable=True),
    Column("turn", Uuid, nullable=True),
)
"""`forked_from`, `forked_at`: the thread and the checkpoint that it began with; they may be gone since. `holder`: the
number of the process that answers now, which lives while it holds the advisory lock of that number; `turn`: what it
answers, and alone may write."""

Index(
    "thread_tenant_id_owner_updated_at_id_idx", *(thread.c[name] for name in ("tenant_id", "owner", "updated_at", "id"))
)

checkpoint = tenant_table(
    "checkpoint",
    Column("thread_id", Uuid, primary_key=True),
    Column("ns", Text, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("parent_id", Uuid, nullable=True),
    Column("state", JSONB, nullable=False),
    Column("metadata", JSONB, nullable=False),
    _of_thread(),
)
"""A state of a thread. `ns`: the subgraph that it is of, empty for the whole; `id`: grows with time; `state`: all of it
but the values of its channels."""

checkpoint_blob = tenant_table(
    "checkpoint_blob",
    Column("thread_id", Uuid, primary_key=True),
    Column("ns", Text, primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    _of_thread(),
)
"""The value of a channel at a version: once, for all checkpoints that have it. `type`: how `data` is written."""

checkpoint_write = tenant_table(
    "checkpoint_write",
    Column("thread_id", Uuid, primary_key=True),
    Column("ns", Text, primary_key=True),
    Column("checkpoint_id", Uuid, primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("idx", Integer, primary_key=True),
    Column("task_path", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    _of_thread(),
)
"""What a task wrote after a checkpoint, before there is a next one. It may come before the checkpoint's own row."""

artifact = tenant_table(
    "artifact",
    Column("thread_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("turn", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _of_thread(),
)
"""What a turn found or was told and no later prompt holds. `kind`: `documents` (JSON, the passages that were placed) or
`result` (the text of a tool's long answer, which is read on with a cursor) or `draft` (JSON: what a model has said so
far of an answer that is not in the thread yet)."""


chat_model = tenant_table(
    "chat_model",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("key", LargeBinary, nullable=True),
    Column("enabled", Boolean, nullable=False, server_default="true"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""A model that somebody has registered. `owner`: whose alone it is, or null: the whole tenant's; `name`: ours for it;
`model`: the service's; `key`: sealed."""

chat_setting = tenant_table(
    "chat_setting",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("settings", JSONB, nullable=False, server_default="{}"),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", postgresql_nulls_not_distinct=True),
)
"""What an owner of threads has chosen for all of them. `owner`: a user, or null for callers that stand for none."""

approval_floor = tenant_table(
    "approval_floor",
    Column("floor", Text, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
"""The least strict `approval` that conversations of a tenant may have; set by the owner of the installation."""

prompt_version = tenant_table(
    "prompt_version",
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=True),
    Column("author", Text, nullable=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
"""A tenant's words for a prompt; the highest version is in force. `text`: null where the shipped words are again."""
