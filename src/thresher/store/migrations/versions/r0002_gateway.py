"""The gateway: approval of tools, resources and prompts, keys of callers, credentials for servers, the log of calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TENANT_TABLES = ("invocation", "component", "access_key", "credential")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

# Who holds a key is asked before any tenant is known, and forced row-level security holds the functions' owner too. The
# application role is never a member of the owner; the start checks that.
_KEY_POLICY = "create policy owner_reads on access_key for select to current_user using (true)"

_FUNCTIONS = """
create function key_holder(hash bytea)
returns table (id bigint, tenant_id integer, tenant_name text, owner text)
language sql stable security definer rows 1 set search_path = pg_catalog, {schema}, pg_temp as $$
  select access_key.id, access_key.tenant_id, tenant.name, access_key.owner
  from access_key join tenant on tenant.id = access_key.tenant_id
  where access_key.hash = key_holder.hash and access_key.revoked_at is null
$$;
comment on function key_holder(bytea) is 'Who holds a key, found by those alone who hold it.';

create function keys_exist() returns boolean
language sql stable security definer set search_path = pg_catalog, {schema}, pg_temp as $$
  select exists (select from access_key)
$$;
comment on function keys_exist() is 'Whether callers need a key: revoking the last one opens no door.';

create function purge_logs(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  removed bigint;
  total bigint := 0;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    with discoveries as (
           delete from discovery where (tenant_id, id) in (
             select o.tenant_id, o.id from discovery o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1),
         invocations as (
           delete from invocation where (tenant_id, id) in (
             select o.tenant_id, o.id from invocation o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1)
    select (select count(*) from discoveries) + (select count(*) from invocations) into removed;
    total := total + removed;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;
comment on function purge_logs(timestamptz) is
  'Removes old log rows of all tenants, some 10,000 of each at a time; 0 when none is left.';

create function prune_embeddings(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  models text[] := '{{}}';
  hashes bytea[] := '{{}}';
  removed bigint;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    select models || coalesce(array_agg(used.model), '{{}}'), hashes || coalesce(array_agg(used.hash), '{{}}')
    into models, hashes
    from (select distinct v.model, v.hash from item_vector v where v.tenant_id = whose) used;
  end loop;
  perform set_config('app.tenant', caller, true);
  update embedding set unused_since = null
  from unnest(models, hashes) as used (model, hash)
  where embedding.model = used.model and embedding.hash = used.hash and embedding.unused_since is not null;
  update embedding set unused_since = now()
  where embedding.unused_since is null
    and not exists (select from unnest(models, hashes) as used (model, hash)
                    where embedding.model = used.model and embedding.hash = used.hash);
  delete from embedding where embedding.unused_since <= prune_embeddings.before;
  get diagnostics removed = row_count;
  return removed;
end $$;
comment on function prune_embeddings(timestamptz) is
  'Marks vectors that no tenant''s index uses, and removes those that were found unused before.';

revoke all on function key_holder(bytea), keys_exist(), purge_logs(timestamptz), prune_embeddings(timestamptz)
  from public;
"""


def upgrade() -> None:
    """Add what the gateway needs."""
    _columns()
    _log()
    _components()
    _access()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))
    op.execute(_KEY_POLICY)
    schema = op.get_bind().exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    op.get_bind().exec_driver_sql(_FUNCTIONS.format(schema=schema))


def _columns() -> None:
    """Approval of changed tools, and what the log of discoveries now tells."""
    op.add_column("server", sa.Column("auto_approve", sa.Boolean(), server_default="false", nullable=False))
    op.add_column("tool", sa.Column("held", sa.Text(), server_default="", nullable=False))
    op.add_column("tool", sa.Column("pending", postgresql.JSON(), nullable=True))
    op.add_column("tool", sa.Column("findings", postgresql.JSONB(), server_default="[]", nullable=False))
    op.add_column("tool", sa.Column("approved_hash", sa.LargeBinary(), nullable=True))
    op.add_column("embedding", sa.Column("unused_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("discovery", sa.Column("client", sa.Text(), server_default="", nullable=False))
    op.add_column("discovery", sa.Column("selection", sa.Text(), server_default="on", nullable=False))
    op.add_column("discovery", sa.Column("message", sa.Text(), nullable=True))
    op.add_column("item", sa.Column("slots", sa.Text(), server_default="", nullable=False))


def _log() -> None:
    """Calls of upstream tools."""
    op.create_table(
        "invocation",
        *_row("invocation"),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("client", sa.Text(), server_default="", nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("selection", sa.Text(), server_default="on", nullable=False),
        sa.Column("tool_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=True),
    )
    op.create_index("invocation_tenant_id_at_idx", "invocation", ["tenant_id", "at"], unique=False)


def _components() -> None:
    """Resources and prompts."""
    op.create_table(
        "component",
        *_row("component"),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("definition", postgresql.JSON(), nullable=False),
        sa.UniqueConstraint("tenant_id", "server_id", "kind", "key", name="component_tenant_id_server_id_kind_key_key"),
        _of_server("component"),
    )


def _access() -> None:
    """Keys of callers, and credentials for servers."""
    op.create_table(
        "access_key",
        *_row("access_key"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("hash", name="access_key_hash_key"),
        sa.UniqueConstraint("tenant_id", "name", name="access_key_tenant_id_name_key"),
    )
    op.create_table(
        "credential",
        *_row("credential"),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.UniqueConstraint(
            "tenant_id",
            "server_id",
            "owner",
            name="credential_tenant_id_server_id_owner_key",
            postgresql_nulls_not_distinct=True,
        ),
        _of_server("credential"),
    )


def _row(table: str) -> tuple[sa.Column[int] | sa.Constraint, ...]:
    """What every tenant table begins with."""
    return (
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
    )


def _of_server(table: str) -> sa.ForeignKeyConstraint:
    """The rows go with their server."""
    return sa.ForeignKeyConstraint(
        ["tenant_id", "server_id"],
        ["server.tenant_id", "server.id"],
        name=f"{table}_tenant_id_server_id_fkey",
        ondelete="CASCADE",
    )
