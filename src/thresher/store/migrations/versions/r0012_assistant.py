"""The assistant: its conversations, and the function that ends old ones of every tenant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "assistant_session" enable row level security;
alter table "assistant_session" force row level security;
create policy tenant_rows on "assistant_session"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

_FUNCTION = """
create function purge_conversations(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  removed bigint;
  total bigint := 0;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    delete from assistant_session s where s.ctid = any(array(
      select o.ctid from assistant_session o
      where o.tenant_id = whose and o.at <= purge_conversations.before limit 20000 for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;
comment on function purge_conversations(timestamptz) is 'Removes conversations of all tenants that ended before.';
revoke all on function purge_conversations(timestamptz) from public;
"""


def upgrade() -> None:
    """Add conversations."""
    op.create_table(
        "assistant_session",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("turns", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.id"], name="assistant_session_tenant_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="assistant_session_pkey"),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "name",
            name="assistant_session_tenant_id_owner_name_key",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index("assistant_session_tenant_id_at_idx", "assistant_session", ["tenant_id", "at"], unique=False)
    op.execute(_POLICY)
    connection = op.get_bind()
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_FUNCTION.format(schema=schema).replace("%", "%%"))
