"""Usage of API descriptions: the logs of searches and reads, and their place in the daily sweep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_DOUBLE: TypeEngine[float] = sa.Double()
_TENANT_TABLES = ("api_search_log", "api_read_log")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

# As in r0007, with both logs in the list.
_PURGE = """
create or replace function purge_logs(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  logs constant text[][] := array[['discovery', 'at'], ['invocation', 'at'], ['decision', 'at'],
                                  ['intent_signal', 'at'], ['rules_given', 'at'], ['job', 'ended_at'],
                                  ['api_search_log', 'at'], ['api_read_log', 'at']];
  whose integer;
  log text[];
  removed bigint;
  total bigint := 0;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    foreach log slice 1 in array logs loop
      execute format('delete from %1$I where ctid = any(array(
                        select ctid from %1$I where tenant_id = $1 and %2$I <= $2 limit 20000
                        for update skip locked))', log[1], log[2])
      using whose, purge_logs.before;
      get diagnostics removed = row_count;
      total := total + removed;
    end loop;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;
"""


def upgrade() -> None:
    """Add both logs, and have old rows of them removed like those of the others."""
    _searches()
    _reads()
    for table in _TENANT_TABLES:
        op.create_index(f"{table}_tenant_id_at_idx", table, ["tenant_id", "at"])
        op.execute(_POLICY.format(table=table))
    connection = op.get_bind()
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_PURGE.format(schema=schema).replace("%", "%%"))


def _searches() -> None:
    """What was asked and offered."""
    op.create_table(
        "api_search_log",
        *_common(),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("providers", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("hits", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("duration_ms", _DOUBLE, nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("read_rank", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="api_search_log_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="api_search_log_pkey"),
    )


def _reads() -> None:
    """What was read."""
    op.create_table(
        "api_read_log",
        *_common(),
        sa.Column("endpoint", sa.BigInteger(), nullable=True),
        sa.Column("operation", sa.Text(), server_default="", nullable=False),
        sa.Column("provider", sa.Text(), server_default="", nullable=False),
        sa.Column("duration_ms", _DOUBLE, nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="api_read_log_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="api_read_log_pkey"),
    )


def _common() -> tuple[sa.Column[object], ...]:
    """Whose row it is, of when, and what it belongs to."""
    return (
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("client", sa.Text(), server_default="", nullable=False),
        sa.Column("trace_id", sa.Text(), server_default="", nullable=False),
    )
