"""What results of tools without an output schema have looked like."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table under the policy of all rows of tenants; its rows go with their tools."""
    op.create_table(
        "tool_shape",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("tool_id", sa.BigInteger(), nullable=False),
        sa.Column("shape", JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="tool_shape_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "tool_id"],
            ["tool.tenant_id", "tool.id"],
            name="tool_shape_tenant_id_tool_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "tool_id", name="tool_shape_pkey"),
    )
    op.execute("alter table tool_shape enable row level security")
    op.execute("alter table tool_shape force row level security")
    op.execute(
        "create policy tenant_rows on tool_shape using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
