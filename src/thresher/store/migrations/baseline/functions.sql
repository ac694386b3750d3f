-- Policies, and what the application role may do with more than its tenant's rows: the owner's functions, nothing else.
-- `{schema}` is the schema of the tables. What the role may call is granted after every migration.

-- Rows are under the policy of their tenant. Without a tenant the cast fails, so a session that forgot to set one gets an
-- error.
do $do$ declare
  name text;
begin
  for name in
    select table_name from information_schema.columns where table_schema = '{schema}' and column_name = 'tenant_id'
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy tenant_rows on %I
      using (tenant_id = current_setting('app.tenant')::int)
      with check (tenant_id = current_setting('app.tenant')::int)$policy$, name);
  end loop;
end $do$;

-- Who holds a key is asked before any tenant is known, and forced row-level security holds the functions' owner too. The
-- application role is never a member of the owner; the start checks that.
create policy owner_reads on access_key for select to current_user using (true);

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
comment on function drop_tenant() is
  'Removes the tenant of this transaction, and no other, with all its rows.';

create function cached_embeddings(model text, hashes bytea[]) returns table(hash bytea, vector vector)
language sql stable security definer rows 100 set search_path = pg_catalog, {schema}, pg_temp as $$
  select embedding.hash, embedding.vector
  from embedding
  where embedding.model = cached_embeddings.model and embedding.hash = any (cached_embeddings.hashes)
$$;

create function remember_embeddings(model text, hashes bytea[], vectors vector[]) returns void
language sql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
  insert into embedding (model, hash, vector)
  select remember_embeddings.model, given.hash, given.vector
  from unnest(remember_embeddings.hashes, remember_embeddings.vectors) as given (hash, vector)
  order by given.hash
  on conflict do nothing
$$;

create function key_holder(hash bytea) returns table(id bigint, tenant_id integer, tenant_name text, owner text)
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
comment on function purge_logs(timestamptz) is
  'Removes old log rows of all tenants, some 10,000 of each at a time; 0 when none is left.';

create function prune_embeddings(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  models text[] := '{}';
  hashes bytea[] := '{}';
  removed bigint;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    delete from intent_fit f where f.tenant_id = whose and f.used_at <= prune_embeddings.before;
    select models || coalesce(array_agg(used.model), '{}'), hashes || coalesce(array_agg(used.hash), '{}')
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
comment on function prune_embeddings(timestamptz) is
  'Removes fits not used since, marks vectors that no index and no fit uses, removes those found unused before.';

create function known_tenants() returns table(id integer, name text)
language sql stable security definer set search_path = pg_catalog, {schema}, pg_temp as $$
  select tenant.id, tenant.name from tenant order by tenant.id
$$;
comment on function known_tenants() is 'The tenants, so that a mistyped name makes no new one.';

create function keep_audit_link() returns trigger
language plpgsql set search_path = pg_catalog, {schema}, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if not exists (select from tenant where tenant.id = old.tenant_id)
       or exists (select from audit_link l
                  where l.tenant_id = old.tenant_id and l.kind = 'pruned' and l.subject >= old.id) then
      return old;
    end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;

create function keep_audit_head() returns trigger
language plpgsql set search_path = pg_catalog, {schema}, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if not exists (select from tenant where tenant.id = old.tenant_id) then
      return old;
    end if;
  elsif tg_op = 'UPDATE' then
    if new.tenant_id = old.tenant_id and new.id > old.id then
      return new;
    end if;
  end if;
  raise exception 'the head of the audit log only moves on' using errcode = 'insufficient_privilege';
end $$;

create function prune_audit() returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  whose constant integer := current_setting('app.tenant')::int;
  through bigint;
  removed bigint;
begin
  select max(l.subject) into through from audit_link l where l.tenant_id = whose and l.kind = 'pruned';
  delete from audit_link l where l.tenant_id = whose and l.id <= through;
  get diagnostics removed = row_count;
  return removed;
end $$;
comment on function prune_audit() is 'Removes the links that the last link of the kind pruned speaks of.';

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
comment on function purge_conversations(timestamptz) is
  'Removes conversations of all tenants that ended before.';

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
comment on function purge_threads(timestamptz) is
  'Removes threads of all tenants that went on before, some at once.';

create trigger keep_rows before update or delete on audit_link for each row execute function keep_audit_link();
create trigger keep_all before truncate on audit_link for each statement execute function keep_audit_link();
create trigger keep_rows before update or delete on audit_head for each row execute function keep_audit_head();
create trigger keep_all before truncate on audit_head for each statement execute function keep_audit_head();

revoke all on function ensure_tenant(text), drop_tenant(), cached_embeddings(text, bytea[]), remember_embeddings(text,
  bytea[], vector[]), key_holder(bytea), keys_exist(), purge_logs(timestamptz), prune_embeddings(timestamptz),
  known_tenants(), keep_audit_link(), keep_audit_head(), prune_audit(), purge_conversations(timestamptz),
  purge_threads(timestamptz)  from public;
