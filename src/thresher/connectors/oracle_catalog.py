"""The statements that read Oracle's catalog, and those that begin and end a session's question.

Invariant: fixed texts; they show what the role may see, without the schemas that Oracle itself maintains.
"""

from __future__ import annotations

from typing import Final

_OWNERS: Final = "(select u.username from all_users u where u.oracle_maintained = 'N')"

TABLES: Final = f"""
select t.owner, t.table_name, 'table', c.comments, t.num_rows
from all_tables t
left join all_tab_comments c on c.owner = t.owner and c.table_name = t.table_name and c.table_type = 'TABLE'
where t.owner in {_OWNERS} and t.nested = 'NO' and t.secondary = 'N' and t.iot_name is null
  and not exists (select 1 from all_mviews m where m.owner = t.owner and m.mview_name = t.table_name)
union all
select v.owner, v.view_name, 'view', c.comments, null
from all_views v
left join all_tab_comments c on c.owner = v.owner and c.table_name = v.view_name and c.table_type = 'VIEW'
where v.owner in {_OWNERS}
union all
select m.owner, m.mview_name, 'materialized view', c.comments, null
from all_mviews m left join all_mview_comments c on c.owner = m.owner and c.mview_name = m.mview_name
where m.owner in {_OWNERS}
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
select t.owner, t.table_name, t.column_name,
       case when t.data_type like '%CHAR%' then t.data_type || '(' || t.char_length || ')'
            when t.data_type = 'RAW' then t.data_type || '(' || t.data_length || ')'
            when t.data_type = 'NUMBER' and t.data_precision is not null
              then 'NUMBER(' || t.data_precision || ',' || nvl(t.data_scale, 0) || ')'
            when t.data_type = 'NUMBER' and t.data_scale = 0 then 'NUMBER(38,0)'
            else t.data_type end,
       null, case t.nullable when 'Y' then 1 else 0 end,
       case when t.identity_column = 'YES' then 'identity' when t.virtual_column = 'YES' then 'generated' end,
       c.comments
from all_tab_cols t
left join all_col_comments c
  on c.owner = t.owner and c.table_name = t.table_name and c.column_name = t.column_name
where t.owner in {_OWNERS} and t.hidden_column = 'NO'
order by t.owner, t.table_name, t.column_id
"""  # noqa: S608 - of fixed texts

KEYS: Final = f"""
select k.owner, k.table_name, k.constraint_name, case k.constraint_type when 'P' then 1 else 0 end, c.column_name
from all_constraints k
join all_cons_columns c on c.owner = k.owner and c.constraint_name = k.constraint_name and c.table_name = k.table_name
where k.owner in {_OWNERS} and k.constraint_type in ('P', 'U')
order by k.owner, k.table_name, k.constraint_name, c.position
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select k.owner, k.table_name, k.constraint_name, c.column_name, p.owner, p.table_name, d.column_name
from all_constraints k
join all_constraints p on p.owner = k.r_owner and p.constraint_name = k.r_constraint_name
join all_cons_columns c on c.owner = k.owner and c.constraint_name = k.constraint_name and c.table_name = k.table_name
join all_cons_columns d
  on d.owner = p.owner and d.constraint_name = p.constraint_name and d.position = c.position
where k.owner in {_OWNERS} and k.constraint_type = 'R'
order by k.owner, k.table_name, k.constraint_name, c.position
"""  # noqa: S608 - of fixed texts

STAMP: Final = f"""
select count(*) || '-' || to_char(max(o.last_ddl_time), 'YYYYMMDDHH24MISS') || '-' || sum(mod(o.object_id, 1000003))
from all_objects o
where o.owner in {_OWNERS} and o.object_type in ('TABLE', 'VIEW', 'MATERIALIZED VIEW')
"""  # noqa: S608 - of fixed texts

DEFAULT_SCHEMA: Final = "select sys_context('userenv', 'current_schema') from dual"
WHO: Final = "select sys_context('userenv', 'session_user'), sys_context('userenv', 'db_name') from dual"
WRITABLE: Final = """
select s.privilege from session_privs s
where s.privilege not in ('CREATE SESSION', 'SELECT ANY TABLE', 'READ ANY TABLE', 'SELECT ANY DICTIONARY',
                          'SELECT ANY SEQUENCE', 'FLASHBACK ANY TABLE', 'SET CONTAINER')
union all
select distinct p.privilege || ' on ' || min(p.owner || '.' || p.table_name)
from all_tab_privs_recd p
where p.privilege in ('INSERT', 'UPDATE', 'DELETE', 'ALTER', 'INDEX', 'WRITE')
group by p.privilege
union all
select 'tables that it owns: ' || count(*) from user_tables having count(*) > 0
"""
SESSION: Final = """
select sys_context('userenv', 'sid') as sid, sys_context('userenv', 'session_user') as "user",
       sys_context('userenv', 'db_name') as "database", sys_context('userenv', 'module') as module,
       sys_context('userenv', 'action') as action, sys_context('userenv', 'client_info') as client_info,
       sys_context('userenv', 'current_schema') as current_schema, sessiontimezone as time_zone
from dual
"""

READ_ONLY: Final = "set transaction read only"
FORGET: Final = "begin dbms_session.modify_package_state(dbms_session.reinitialize); end;"
"""Takes away what a package keeps in a session, where anything called one."""
EXPLAIN: Final = "explain plan set statement_id = '{name}' for {sql}"
ESTIMATE: Final = "select max(cost), max(cardinality) from plan_table where statement_id = :name"
PLAN: Final = "select plan_table_output from table(dbms_xplan.display('PLAN_TABLE', :name, 'TYPICAL'))"
