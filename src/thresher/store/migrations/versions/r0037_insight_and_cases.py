"""What searches and contexts cost in tokens, and test cases with their runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

_double: sa.types.TypeEngine[float] = sa.Double()
_LOGS = "['api_read_log', 'at']"


def upgrade() -> None:
    """Two columns of the log of searches, and four tables under the policy of all rows of tenants."""
    op.add_column("discovery", sa.Column("tokens_sent", sa.Integer(), server_default="0", nullable=False))
    op.add_column("discovery", sa.Column("tokens_all", sa.Integer(), server_default="0", nullable=False))
    _create(
        "context_log",
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        _owner(),
        sa.Column("client", sa.Text(), server_default="", nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("kinds", ARRAY(sa.Text()), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("duration_ms", _double, nullable=False),
    )
    op.create_index("context_log_tenant_id_at_idx", "context_log", ["tenant_id", "at"])
    _create(
        "test_case",
        _owner(),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("needs", JSONB(), nullable=False),
        sa.Column("excluded", JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.UniqueConstraint(
            *("tenant_id", "owner", "verb", "digest"),
            name="test_case_tenant_id_owner_verb_digest_key",
            postgresql_nulls_not_distinct=True,
        ),
    )
    _create(
        "case_run",
        _owner(),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=True),
        sa.Column("duration_ms", _double, nullable=False),
    )
    op.create_index("case_run_tenant_id_at_idx", "case_run", ["tenant_id", "at"])
    _create(
        "case_outcome",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("case_id", sa.BigInteger(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        *(sa.Column(name, ARRAY(sa.Text()), nullable=False) for name in ("missing", "unwanted", "delivered")),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("duration_ms", _double, nullable=False),
        sa.UniqueConstraint("tenant_id", "run_id", "case_id", name="case_outcome_tenant_id_run_id_case_id_key"),
        *(
            sa.ForeignKeyConstraint(
                ["tenant_id", column],
                [f"{table}.tenant_id", f"{table}.id"],
                name=f"case_outcome_tenant_id_{column}_fkey",
                ondelete="CASCADE",
            )
            for column, table in (("run_id", "case_run"), ("case_id", "test_case"))
        ),
    )
    op.create_index("case_outcome_tenant_id_case_id_idx", "case_outcome", ["tenant_id", "case_id"])
    connection = op.get_bind()
    found = "select pg_get_functiondef('purge_logs(timestamptz)'::regprocedure)"
    definition = str(connection.exec_driver_sql(found).scalar_one())
    swept = definition.replace(_LOGS, f"{_LOGS}, ['context_log', 'at'], ['case_run', 'at']")
    connection.exec_driver_sql(swept.replace("%", "%%"))


def _owner() -> sa.Column[str]:
    return sa.Column("owner", sa.Text(), nullable=True)


def _create(table: str, *items: sa.schema.SchemaItem) -> None:
    op.create_table(
        table,
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        *items,
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
    )
    op.execute(f"alter table {table} enable row level security")
    op.execute(f"alter table {table} force row level security")
    op.execute(
        f"create policy tenant_rows on {table} using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
