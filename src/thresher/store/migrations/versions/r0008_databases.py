"""Databases: connections, and what is known of their schemas."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TENANT_TABLES = ("connection", "schema_snapshot")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""


def upgrade() -> None:
    """Add what the databases kind keeps."""
    _connections()
    _snapshots()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))


def _connections() -> None:
    """Addresses, sealed, and how far their schemas are known."""
    op.create_table(
        "connection",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("dialect", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), server_default="", nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("samples", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("functions", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("configured", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("changes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.Text(), server_default="new", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("version", sa.Text(), server_default="", nullable=False),
        sa.Column("writable", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("tables", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stamp", sa.Text(), server_default="", nullable=False),
        sa.Column("edition", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("schema_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="connection_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="connection_pkey"),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "name",
            name="connection_tenant_id_owner_name_key",
            postgresql_nulls_not_distinct=True,
        ),
    )


def _snapshots() -> None:
    """One schema a connection."""
    op.create_table(
        "schema_snapshot",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("connection_id", sa.BigInteger(), nullable=False),
        sa.Column("edition", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("relations", sa.LargeBinary(), nullable=False),
        sa.Column("indexed", sa.Text(), server_default="", nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.id"], name="schema_snapshot_tenant_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "connection_id"],
            ["connection.tenant_id", "connection.id"],
            name="schema_snapshot_tenant_id_connection_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "connection_id", name="schema_snapshot_pkey"),
    )
