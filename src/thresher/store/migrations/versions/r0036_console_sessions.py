"""Sessions of the console: who signed in with which key, until when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


_FUNCTION = """
create function session_key(hash bytea, idle interval)
returns table(session bigint, tenant_id integer, key_hash bytea)
language sql stable security definer rows 1 set search_path = pg_catalog, {schema}, pg_temp as $$
  select console_session.id, console_session.tenant_id, access_key.hash
  from console_session
  join access_key on access_key.tenant_id = console_session.tenant_id and access_key.id = console_session.key_id
  where console_session.hash = session_key.hash and access_key.revoked_at is null
    and console_session.expires_at > now() and console_session.used_at > now() - session_key.idle
$$
"""


def upgrade() -> None:
    """A table under the policy of all rows of tenants, and a function that finds a session by its hash."""
    op.create_table(
        "console_session",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.id"], name="console_session_tenant_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "key_id"],
            ["access_key.tenant_id", "access_key.id"],
            name="console_session_tenant_id_key_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="console_session_pkey"),
        sa.UniqueConstraint("hash", name="console_session_hash_key"),
    )
    op.create_index("console_session_tenant_id_key_id_idx", "console_session", ["tenant_id", "key_id"])
    op.execute("alter table console_session enable row level security")
    op.execute("alter table console_session force row level security")
    op.execute(
        "create policy tenant_rows on console_session using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
    op.execute("create policy owner_reads on console_session for select to current_user using (true)")
    schema = op.get_bind().exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    op.execute(_FUNCTION.format(schema=schema))
    op.execute(
        "comment on function session_key(bytea, interval) is"
        " 'The key that a session of the console was opened with, found by those alone who hold the session.'"
    )
    op.execute("revoke all on function session_key(bytea, interval) from public")
