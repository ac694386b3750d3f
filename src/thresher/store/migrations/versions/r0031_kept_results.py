"""Results of tools that were larger than their budget, kept for a while."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table under the policy of all rows of tenants."""
    op.create_table(
        "kept_result",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("key", sa.BigInteger(), nullable=True),
        sa.Column("session", sa.Text(), server_default="", nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("mime", sa.Text(), server_default="", nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="kept_result_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="kept_result_pkey"),
        sa.UniqueConstraint("tenant_id", "cursor", name="kept_result_tenant_id_cursor_key"),
    )
    op.create_index("kept_result_tenant_id_at_idx", "kept_result", ["tenant_id", "at"])
    op.execute("alter table kept_result enable row level security")
    op.execute("alter table kept_result force row level security")
    op.execute(
        "create policy tenant_rows on kept_result using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
