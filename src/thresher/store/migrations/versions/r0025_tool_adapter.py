"""What training on a tenant's own messages adds to the vectors of its tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_USES = "['tool_use', 'at']"
_NOTED = "if log[1] = 'tool_use' and"


def upgrade() -> None:
    """A table under the policy of all rows of tenants; the daily sweep removes what outlives its log, and notes it."""
    op.create_table(
        "tool_adapter",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("tools", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("offsets", sa.LargeBinary(), nullable=False),
        sa.Column("figures", JSON(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("log_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="tool_adapter_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", name="tool_adapter_pkey"),
    )
    op.execute("alter table tool_adapter enable row level security")
    op.execute("alter table tool_adapter force row level security")
    op.execute(
        "create policy tenant_rows on tool_adapter using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
    connection = op.get_bind()
    found = "select pg_get_functiondef('purge_logs(timestamptz)'::regprocedure)"
    definition = str(connection.exec_driver_sql(found).scalar_one())
    changed = definition.replace(_USES, f"{_USES}, ['tool_adapter', 'log_at']").replace(
        _NOTED, "if log[1] in ('tool_use', 'tool_adapter') and"
    )
    connection.exec_driver_sql(changed.replace("%", "%%"))
