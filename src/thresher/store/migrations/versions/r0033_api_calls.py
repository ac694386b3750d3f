"""Hosts that calls of APIs may reach, and credentials for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables under the policy of all rows of tenants."""
    _create(
        "api_host",
        "origin",
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
    )
    _create(
        "api_credential",
        "scheme",
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("about", JSONB(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
    )


def _create(table: str, distinct: str, *columns: sa.Column[object]) -> None:
    op.create_table(
        table,
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("provider_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        *columns,
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "provider_id"],
            ["api_provider.tenant_id", "api_provider.id"],
            name=f"{table}_tenant_id_provider_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
        sa.UniqueConstraint(
            *("tenant_id", "provider_id", "owner", distinct),
            name=f"{table}_tenant_id_provider_id_owner_{distinct}_key",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.execute(f"alter table {table} enable row level security")
    op.execute(f"alter table {table} force row level security")
    op.execute(
        f"create policy tenant_rows on {table} using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
