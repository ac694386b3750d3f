"""What people choose for the agent: models, settings, and their own words for its prompts.

Invariant: a key is sealed before it reaches a row; what was once said in a prompt stays, under its version.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, DateTime, Integer, LargeBinary, Text, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import JSONB

from thresher.store.tables.metadata import row_id, tenant_table

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
