"""Retention that costs the same whatever the server believes about the tables' sizes.

The functions of r0004 and r0005 kept the plans of their statements for as long as a session lives. A plan made while a
log was empty compared each row to each row to be removed: 30,000 rows took minutes. Here each statement is planned when
it runs (`execute`), rows go by their place (`ctid`), and rows that another run removes at this moment are passed over.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_FUNCTIONS = """
create or replace function purge_logs(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  logs constant text[][] := array[['discovery', 'at'], ['invocation', 'at'], ['decision', 'at'],
                                  ['intent_signal', 'at'], ['rules_given', 'at'], ['job', 'ended_at']];
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

create or replace function prune_embeddings(before timestamptz) returns bigint
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
    delete from intent_fit f where f.tenant_id = whose and f.used_at <= prune_embeddings.before;
    select models || coalesce(array_agg(used.model), '{{}}'), hashes || coalesce(array_agg(used.hash), '{{}}')
    into models, hashes
    from (select v.model, v.hash from item_vector v where v.tenant_id = whose
          union
          select f.model, line.hash from intent_fit f, unnest(f.hashes) as line (hash) where f.tenant_id = whose) used;
  end loop;
  perform set_config('app.tenant', caller, true);
  execute 'update embedding set unused_since = null
           from unnest($1, $2) as used (model, hash)
           where embedding.model = used.model and embedding.hash = used.hash and embedding.unused_since is not null'
  using models, hashes;
  execute 'update embedding set unused_since = now()
           where embedding.unused_since is null
             and not exists (select from unnest($1, $2) as used (model, hash)
                             where embedding.model = used.model and embedding.hash = used.hash)'
  using models, hashes;
  delete from embedding where embedding.unused_since <= prune_embeddings.before;
  get diagnostics removed = row_count;
  return removed;
end $$;
"""


def upgrade() -> None:
    """Replace both functions."""
    connection = op.get_bind()
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_FUNCTIONS.format(schema=schema).replace("%", "%%"))
