"""What the ranking of tools learns from: uses of tools after searches, and whether they rank."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_TABLES = ("tool_use", "tool_learning")
_PROTECT = """
    alter table {table} enable row level security;
    alter table {table} force row level security;
    create policy tenant_rows on {table}
      using (tenant_id = current_setting('app.tenant')::int)
      with check (tenant_id = current_setting('app.tenant')::int);
"""
_LOGS = "['api_read_log', 'at']"
_COUNTED = "      total := total + removed;"
_NOTED = """      if log[1] = 'tool_use' and removed > 0 then
        insert into tool_learning (tenant_id, version, removals) values (whose, 1, 1)
        on conflict (tenant_id) do update
        set version = tool_learning.version + 1, removals = tool_learning.removals + 1;
      end if;
"""


def upgrade() -> None:
    """Nothing is known of calls from before: their searches kept no vectors."""
    op.create_table(
        "tool_use",
        _tenant(),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("searched_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("voter", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("tool_id", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.Column("passed", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("failed", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("offered", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("standings", ARRAY(sa.Float()), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="tool_use_pkey"),
    )
    op.create_index("tool_use_tenant_id_at_idx", "tool_use", ["tenant_id", "at"])
    op.create_table(
        "tool_learning",
        _tenant(),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("removals", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("mode", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), server_default="", nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", name="tool_learning_pkey"),
    )
    for table in _TABLES:
        op.execute(_PROTECT.format(table=table))
    _sweep_uses()


def _tenant() -> sa.Column[int]:
    return sa.Column("tenant_id", sa.Integer(), sa.ForeignKey("tenant.id", ondelete="CASCADE"), nullable=False)


def _sweep_uses() -> None:
    """Have the daily sweep of logs remove old uses too, and note it; the function is otherwise as it was."""
    connection = op.get_bind()
    found = "select pg_get_functiondef('purge_logs(timestamptz)'::regprocedure)"
    definition = str(connection.exec_driver_sql(found).scalar_one())
    changed = definition.replace(_LOGS, f"{_LOGS}, ['tool_use', 'at']").replace(_COUNTED, _NOTED + _COUNTED)
    connection.exec_driver_sql(changed.replace("%", "%%"))
