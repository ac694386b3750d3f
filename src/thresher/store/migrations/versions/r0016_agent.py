"""What turns of the agent leave beside their thread, and what people choose for it: models, settings, prompts."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""


def _of_tenant(table: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE")


def _moment(name: str) -> sa.Column[dt.datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)


def upgrade() -> None:
    """Add all four."""
    op.create_table(
        "artifact",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("turn", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        _moment("created_at"),
        _of_tenant("artifact"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "thread_id"],
            ["thread.tenant_id", "thread.id"],
            name="artifact_tenant_id_thread_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "thread_id", "id", name="artifact_pkey"),
    )
    _models()
    op.create_table(
        "chat_setting",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("settings", postgresql.JSONB(), server_default="{}", nullable=False),
        _moment("updated_at"),
        _of_tenant("chat_setting"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="chat_setting_pkey"),
        sa.UniqueConstraint(
            "tenant_id", "owner", name="chat_setting_tenant_id_owner_key", postgresql_nulls_not_distinct=True
        ),
    )
    op.create_table(
        "prompt_version",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        _moment("created_at"),
        _of_tenant("prompt_version"),
        sa.PrimaryKeyConstraint("tenant_id", "name", "version", name="prompt_version_pkey"),
    )
    for table in ("artifact", "chat_model", "chat_setting", "prompt_version"):
        op.execute(_POLICY.format(table=table))


def _models() -> None:
    op.create_table(
        "chat_model",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        _moment("created_at"),
        _of_tenant("chat_model"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="chat_model_pkey"),
        sa.UniqueConstraint(
            "tenant_id", "owner", "name", name="chat_model_tenant_id_owner_name_key", postgresql_nulls_not_distinct=True
        ),
    )
