"""Trust in what servers claim, a person's remembered consent to calls, and the floor below which no approval goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
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


def upgrade() -> None:
    """No server is trusted until a person says so, those that are there already included."""
    op.add_column("server", sa.Column("trusted", sa.Boolean(), server_default="false", nullable=False))
    op.create_table(
        "consent",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("tool_id", sa.BigInteger(), nullable=False),
        sa.Column("definition_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="consent_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "tool_id"],
            ["tool.tenant_id", "tool.id"],
            name="consent_tenant_id_tool_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="consent_pkey"),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "tool_id",
            name="consent_tenant_id_owner_tool_id_key",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "approval_floor",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("floor", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="approval_floor_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", name="approval_floor_pkey"),
    )
    for table in ("consent", "approval_floor"):
        op.execute(_POLICY.format(table=table))
