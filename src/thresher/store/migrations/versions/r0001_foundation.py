"""The first schema: catalogue, search index, embedding cache, row-level security."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_REAL: TypeEngine[float] = sa.REAL()
_DOUBLE: TypeEngine[float] = sa.Double()
_TENANT_TABLES = ("server", "tool", "discovery", "collection", "item", "item_vector", "posting", "term_stat")

# The policy's cast fails when no tenant is set, so a session that forgot to set one gets an error and no rows.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

# Each function fixes its search path, so that no caller can put objects of its own before ours.
_FUNCTIONS = """
create function ensure_tenant(name text) returns integer
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  found_id integer;
begin
  if ensure_tenant.name is null or length(ensure_tenant.name) not between 1 and 200 then
    raise exception 'a tenant''s name has 1 to 200 characters' using errcode = 'check_violation';
  end if;
  loop
    select tenant.id into found_id from tenant where tenant.name = ensure_tenant.name;
    if found then
      return found_id;
    end if;
    insert into tenant (name) values (ensure_tenant.name) on conflict do nothing returning tenant.id into found_id;
    if found then
      return found_id;
    end if;
  end loop;
end $$;

create function drop_tenant() returns boolean
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
begin
  delete from tenant where tenant.id = current_setting('app.tenant')::int;
  return found;
end $$;
comment on function drop_tenant() is 'Removes the tenant of this transaction, and no other, with all its rows.';

create function cached_embeddings(model text, hashes bytea[]) returns table (hash bytea, vector {vector}.vector)
language sql stable security definer rows 100 set search_path = pg_catalog, {schema}, pg_temp as $$
  select embedding.hash, embedding.vector
  from embedding
  where embedding.model = cached_embeddings.model and embedding.hash = any (cached_embeddings.hashes)
$$;

create function remember_embeddings(model text, hashes bytea[], vectors {vector}.vector[]) returns void
language sql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
  insert into embedding (model, hash, vector)
  select remember_embeddings.model, given.hash, given.vector
  from unnest(remember_embeddings.hashes, remember_embeddings.vectors) as given (hash, vector)
  order by given.hash
  on conflict do nothing
$$;

revoke all on function ensure_tenant(text), drop_tenant(), cached_embeddings(text, bytea[]),
  remember_embeddings(text, bytea[], {vector}.vector[]) from public;
"""

_PLACES = """
select quote_ident(current_schema()),
       (select quote_ident(nspname) from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
        where extname = 'vector')
"""


def upgrade() -> None:
    """Create everything."""
    _tenancy()
    _catalogue()
    _index()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))
    schema, vector = op.get_bind().exec_driver_sql(_PLACES).one()
    op.get_bind().exec_driver_sql(_FUNCTIONS.format(schema=schema, vector=vector))


def _tenancy() -> None:
    """The tenants."""
    op.create_table(
        "tenant",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="tenant_pkey"),
        sa.UniqueConstraint("name", name="tenant_name_key"),
    )


def _catalogue() -> None:
    """Upstream servers, their tools, the log of discoveries."""
    op.create_table(
        "server",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", postgresql.JSONB(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("state", sa.Text(), server_default="new", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("listed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="server_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="server_pkey"),
        sa.UniqueConstraint(
            "tenant_id", "owner", "name", name="server_tenant_id_owner_name_key", postgresql_nulls_not_distinct=True
        ),
    )
    op.create_table(
        "tool",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("server_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("input_schema", postgresql.JSON(), nullable=False),
        sa.Column("output_schema", postgresql.JSON(), nullable=True),
        sa.Column("annotations", postgresql.JSON(), nullable=False),
        sa.Column("enriched", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("definition_hash", sa.LargeBinary(), nullable=False),
        sa.Column("tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("line", sa.Text(), server_default="", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("core", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "server_id"],
            ["server.tenant_id", "server.id"],
            name="tool_tenant_id_server_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="tool_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="tool_pkey"),
        sa.UniqueConstraint("tenant_id", "server_id", "name", name="tool_tenant_id_server_id_name_key"),
    )
    op.create_table(
        "discovery",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("clauses", sa.Integer(), nullable=False),
        sa.Column("searched", sa.Integer(), nullable=False),
        sa.Column("chosen", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("scores", postgresql.ARRAY(sa.Float()), nullable=False),
        sa.Column("abstained", sa.Boolean(), nullable=False),
        sa.Column("degraded", sa.Text(), server_default="", nullable=False),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("embedding_ms", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="discovery_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="discovery_pkey"),
    )
    op.create_index("discovery_tenant_id_at_idx", "discovery", ["tenant_id", "at"], unique=False)


def _index() -> None:
    """The cache of embeddings and the index of every kind."""
    op.create_table(
        "embedding",
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.PrimaryKeyConstraint("model", "hash", name="embedding_pkey"),
    )
    op.create_table(
        "collection",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("items", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total_length", _DOUBLE, server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="collection_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", name="collection_pkey"),
    )
    op.create_table(
        "item",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("facets", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("terms", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("length", _REAL, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="item_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "id", name="item_pkey"),
    )
    op.create_table(
        "item_vector",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.SmallInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("vector", VECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "kind", "id"],
            ["item.tenant_id", "item.kind", "item.id"],
            name="item_vector_tenant_id_kind_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="item_vector_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "id", "model", "part", name="item_vector_pkey"),
    )
    op.create_table(
        "posting",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(collation="C"), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("frequency", _REAL, nullable=False),
        sa.Column("length", _REAL, nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="posting_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint(
            "tenant_id", "kind", "term", "id", name="posting_pkey", postgresql_include=["owner", "frequency", "length"]
        ),
    )
    op.create_table(
        "term_stat",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(collation="C"), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="term_stat_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "term", name="term_stat_pkey"),
    )
