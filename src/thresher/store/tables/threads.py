"""Conversations with the agent: threads, and what LangGraph keeps of each.

Invariant: whatever is kept of a thread goes with its row.
"""

from __future__ import annotations

from sqlalchemy import Column, DateTime, ForeignKeyConstraint, Index, Integer, LargeBinary, Text, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB

from thresher.store.tables.metadata import tenant_table


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
