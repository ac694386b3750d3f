"""The first schema: catalogue, search index, embedding cache, row-level security."""

from __future__ import annotations

from alembic import op

from thresher.store.tables import TENANT_TABLES, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

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
    metadata.create_all(op.get_bind())
    for table in TENANT_TABLES:
        op.execute(_POLICY.format(table=table))
    schema, vector = op.get_bind().exec_driver_sql(_PLACES).one()
    op.get_bind().exec_driver_sql(_FUNCTIONS.format(schema=schema, vector=vector))
