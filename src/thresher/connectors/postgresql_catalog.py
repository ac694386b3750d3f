"""The statements that read PostgreSQL's catalog.

Invariant: fixed texts, for sessions whose `search_path` is `pg_catalog` alone; they show only what the role may read.
"""

from __future__ import annotations

from typing import Final

_SEEN: Final = """
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'usage')
"""
_READABLE: Final = "(has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))"

TABLES: Final = f"""
select n.nspname, c.relname,
       case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
                      else 'table' end,
       obj_description(c.oid, 'pg_class'),
       case when c.relkind in ('r', 'm', 'f') and c.reltuples >= 0 then c.reltuples::int8
            when c.relkind = 'p' then (select nullif(sum(greatest(p.reltuples, 0)), 0)::int8
                                       from pg_inherits i join pg_class p on p.oid = i.inhrelid
                                       where i.inhparent = c.oid) end
{_SEEN} and {_READABLE}
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
with seen as materialized (
  select c.oid, n.nspname, c.relname, has_table_privilege(c.oid, 'select') as whole {_SEEN}
)
select s.nspname, s.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       case when t.typtype = 'e' then 'text' when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod)
            else format_type(a.atttypid, a.atttypmod) end,
       not (a.attnotnull or (t.typtype = 'd' and t.typnotnull)),
       case when a.attidentity <> '' then 'identity' when a.attgenerated <> '' then 'generated'
            else pg_get_expr(d.adbin, d.adrelid) end,
       e.description
from seen s
join pg_attribute a on a.attrelid = s.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_description e on e.objoid = a.attrelid and e.objsubid = a.attnum and e.classoid = 'pg_class'::regclass
where s.whole or has_column_privilege(s.oid, a.attnum, 'select')
order by s.oid, a.attnum
"""  # noqa: S608 - of fixed texts

KEYS: Final = f"""
select n.nspname, c.relname, i.indexrelid::text, i.indisprimary, a.attname
from (select c.oid, c.relname, c.relnamespace {_SEEN}) c
join pg_namespace n on n.oid = c.relnamespace
join pg_index i on i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
cross join unnest(i.indkey::int2[]) with ordinality as k (number, place)
join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
where k.place <= i.indnkeyatts
order by i.indexrelid, k.place
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select n.nspname, c.relname, o.conname, a.attname, m.nspname, f.relname, b.attname
from (select c.oid, c.relname, c.relnamespace {_SEEN}) c
join pg_namespace n on n.oid = c.relnamespace
join pg_constraint o on o.conrelid = c.oid and o.contype = 'f'
join pg_class f on f.oid = o.confrelid
join pg_namespace m on m.oid = f.relnamespace
cross join unnest(o.conkey, o.confkey) with ordinality as k (number, target, place)
join pg_attribute a on a.attrelid = o.conrelid and a.attnum = k.number
join pg_attribute b on b.attrelid = o.confrelid and b.attnum = k.target
order by o.oid, k.place
"""  # noqa: S608 - of fixed texts

# The transaction that wrote a row is told by xmin: sums and counts change with every change, and no row is sorted.
# Temporary tables of others come and go and do not count.
STAMP: Final = """
with seen as materialized (
  select c.oid, c.xmin::text::int8 as x from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'i') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
)
select concat_ws('-',
  (select count(*) || ':' || coalesce(sum(x), 0) from seen),
  (select count(*) || ':' || coalesce(sum(a.xmin::text::int8), 0)
   from pg_attribute a join seen s on s.oid = a.attrelid),
  (select count(*) || ':' || coalesce(sum(o.xmin::text::int8), 0) from pg_constraint o where o.conrelid <> 0),
  (select count(*) || ':' || coalesce(sum(e.xmin::text::int8), 0) from pg_description e
   where e.classoid = 'pg_class'::regclass),
  (select count(*) || ':' || coalesce(sum(p.xmin::text::int8), 0) from pg_proc p where p.oid >= 16384),
  (select count(*) || ':' || coalesce(sum(p.xmin::text::int8), 0) from pg_operator p where p.oid >= 16384))
"""

HEALTH: Final = """
select version(), current_user, current_database(), array_remove(array[
  case when r.rolsuper then 'everything: it is a superuser' end,
  case when r.rolcreaterole then 'roles (CREATEROLE)' end,
  case when r.rolcreatedb then 'databases (CREATEDB)' end,
  case when r.rolreplication then 'replication slots (REPLICATION)' end,
  case when r.rolbypassrls then 'nothing by itself, but it reads past row-level security (BYPASSRLS)' end,
  case when has_database_privilege(current_database(), 'create') then 'new schemas in this database (CREATE)' end,
  (select 'new objects in schema ' || string_agg(q.nspname, ', ') from (
     select n.nspname from pg_namespace n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and has_schema_privilege(n.oid, 'create') order by 1 limit 5) q having count(*) > 0),
  (select 'rows of ' || w.total || case when w.total = 1 then ' table, ' else ' tables, such as ' end || w.names from (
     select count(*) as total, (array_agg(n.nspname || '.' || c.relname order by n.nspname, c.relname))[1] as names
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and (has_table_privilege(c.oid, 'insert, update, delete, truncate')
            or has_any_column_privilege(c.oid, 'insert, update'))) w where w.total > 0),
  (select 'tables that it owns: ' || count(*) from pg_class c
   where pg_has_role(c.relowner, 'usage') and c.relkind in ('r', 'p', 'v', 'm', 'f')
     and not r.rolsuper having count(*) > 0),
  (select 'what these roles may: ' || string_agg(g.rolname, ', ' order by g.rolname) from pg_roles g
   where not r.rolsuper and pg_has_role(g.oid, 'member') and g.rolname in (
     'pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program', 'pg_read_server_files',
     'pg_signal_backend', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription', 'pg_database_owner')
   having count(*) > 0)
], null)
from pg_roles r where r.rolname = current_user
"""

SESSION: Final = """
select a.pid, a.usename as user, a.datname as database, a.application_name, a.client_addr::text as client_address,
       a.backend_start, a.state, current_setting('transaction_read_only') as read_only,
       current_setting('search_path') as search_path, current_setting('statement_timeout') as statement_timeout,
       current_setting('lock_timeout') as lock_timeout, current_setting('TimeZone') as time_zone,
       current_setting('server_version') as server_version,
       coalesce((select s.ssl from pg_stat_ssl s where s.pid = a.pid), false) as encrypted
from pg_stat_activity a where a.pid = pg_backend_pid()
"""

TYPES: Final = "select o::int8, format_type(o, null) from unnest(%s::oid[]) o"
