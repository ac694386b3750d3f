"""The assistant: what each conversation has come to, for as long as it may go on.

Invariant: the turns of a conversation are bounded in number and in size; nothing of a tool's answer is in them but what
names its results.
"""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Index, Text, UniqueConstraint, func
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
