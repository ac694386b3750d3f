"""Threads of the agent, what LangGraph keeps of them, and the function that ends old ones of every tenant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
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

_FUNCTION = """
create function purge_threads(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  removed bigint;
  total bigint := 0;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    delete from thread t where t.ctid = any(array(
      select o.ctid from thread o
      where o.tenant_id = whose and o.updated_at <= purge_threads.before
      order by o.updated_at limit 1000 for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;
comment on function purge_threads(timestamptz) is 'Removes threads of all tenants that went on before, some at once.';
revoke all on function purge_threads(timestamptz) from public;
"""


def _of_thread(table: str) -> list[sa.Constraint]:
    return [
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "thread_id"],
            ["thread.tenant_id", "thread.id"],
            name=f"{table}_tenant_id_thread_id_fkey",
            ondelete="CASCADE",
        ),
    ]


def upgrade() -> None:
    """Add all four, and the function."""
    _thread()
    op.create_table(
        "checkpoint",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("ns", sa.Text(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("state", postgresql.JSONB(), nullable=False),
        sa.Column("metadata", postgresql.JSONB(), nullable=False),
        *_of_thread("checkpoint"),
        sa.PrimaryKeyConstraint("tenant_id", "thread_id", "ns", "id", name="checkpoint_pkey"),
    )
    op.create_table(
        "checkpoint_blob",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("ns", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        *_of_thread("checkpoint_blob"),
        sa.PrimaryKeyConstraint("tenant_id", "thread_id", "ns", "channel", "version", name="checkpoint_blob_pkey"),
    )
    op.create_table(
        "checkpoint_write",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("thread_id", sa.Uuid(), nullable=False),
        sa.Column("ns", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("task_path", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        *_of_thread("checkpoint_write"),
        sa.PrimaryKeyConstraint(
            "tenant_id", "thread_id", "ns", "checkpoint_id", "task_id", "idx", name="checkpoint_write_pkey"
        ),
    )
    for table in ("thread", "checkpoint", "checkpoint_blob", "checkpoint_write"):
        op.execute(_POLICY.format(table=table))
    connection = op.get_bind()
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_FUNCTION.format(schema=schema).replace("%", "%%"))


def _thread() -> None:
    op.create_table(
        "thread",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("settings", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("forked_from", sa.Uuid(), nullable=True),
        sa.Column("forked_at", sa.Uuid(), nullable=True),
        sa.Column("last_checkpoint", sa.Uuid(), nullable=True),
        sa.Column("holder", sa.Integer(), nullable=True),
        sa.Column("turn", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="thread_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="thread_pkey"),
    )
    op.create_index("thread_tenant_id_owner_updated_at_id_idx", "thread", ["tenant_id", "owner", "updated_at", "id"])
