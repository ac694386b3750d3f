"""The health of servers' tools, measured in the background."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table under the policy of all rows of tenants."""
    op.create_table(
        "tool_health",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("report", JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="tool_health_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "server_id"],
            ["server.tenant_id", "server.id"],
            name="tool_health_tenant_id_server_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "server_id", name="tool_health_pkey"),
    )
    op.execute("alter table tool_health enable row level security")
    op.execute("alter table tool_health force row level security")
    op.execute(
        "create policy tenant_rows on tool_health using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
