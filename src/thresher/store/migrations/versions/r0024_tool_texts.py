"""Words and rewrites: what the search reads of a tool beside its definition."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table under the policy of all rows of tenants."""
    op.create_table(
        "tool_text",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("definition_hash", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("there_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="tool_text_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="tool_text_pkey"),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "server",
            "tool",
            "kind",
            "digest",
            name="tool_text_tenant_id_owner_server_tool_kind_digest_key",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.execute("alter table tool_text enable row level security")
    op.execute("alter table tool_text force row level security")
    op.execute(
        "create policy tenant_rows on tool_text using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
