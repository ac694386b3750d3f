"""The statements that read SQL Server's catalog and that begin a session; unlike `mssql`, this needs no driver.

Invariant: fixed texts and pure functions; they show what the role may see in the address's database.
"""

from __future__ import annotations

import datetime as dt
import struct
from typing import Final

_NAMED: Final = "join sys.schemas s on s.schema_id = t.schema_id"
_SHIPPED: Final = "t.is_ms_shipped = 0"

TABLES: Final = f"""
select s.name, t.name, case t.type when 'V' then 'view' else 'table' end, cast(p.value as nvarchar(2000)),
       (select sum(r.rows) from sys.partitions r where r.object_id = t.object_id and r.index_id in (0, 1))
from sys.objects t {_NAMED}
left join sys.extended_properties p
  on p.class = 1 and p.major_id = t.object_id and p.minor_id = 0 and p.name = 'MS_Description'
where t.type in ('U', 'V') and {_SHIPPED}
  and coalesce(objectproperty(t.object_id, 'TableTemporalType'), 0) <> 1
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
select s.name, t.name, c.name,
       case when y.name in ('nvarchar', 'nchar') then concat(y.name, '(', case c.max_length when -1 then 'max'
                 else cast(c.max_length / 2 as varchar(10)) end, ')')
            when y.name in ('varchar', 'char', 'varbinary', 'binary') then concat(y.name, '(', case c.max_length
                 when -1 then 'max' else cast(c.max_length as varchar(10)) end, ')')
            when y.name in ('decimal', 'numeric') then concat(y.name, '(', c.precision, ',', c.scale, ')')
            else y.name end,
       type_name(c.system_type_id), c.is_nullable,
       case when c.is_identity = 1 then 'identity' when c.is_computed = 1 then 'generated' else d.definition end,
       cast(p.value as nvarchar(2000))
from sys.objects t {_NAMED}
join sys.columns c on c.object_id = t.object_id
join sys.types y on y.user_type_id = c.user_type_id
left join sys.default_constraints d on d.object_id = c.default_object_id
left join sys.extended_properties p
  on p.class = 1 and p.major_id = t.object_id and p.minor_id = c.column_id and p.name = 'MS_Description'
where t.type in ('U', 'V') and {_SHIPPED}
order by s.name, t.name, c.column_id
"""  # noqa: S608 - of fixed texts

KEYS: Final = f"""
select s.name, t.name, i.name, i.is_primary_key, c.name
from sys.objects t {_NAMED}
join sys.indexes i on i.object_id = t.object_id and i.is_unique = 1 and i.has_filter = 0
join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.is_included_column = 0
join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
where t.type = 'U' and {_SHIPPED}
order by s.name, t.name, i.name, k.key_ordinal
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select s.name, t.name, f.name, c.name, schema_name(r.schema_id), r.name, d.name
from sys.objects t {_NAMED}
join sys.foreign_keys f on f.parent_object_id = t.object_id
join sys.foreign_key_columns k on k.constraint_object_id = f.object_id
join sys.columns c on c.object_id = k.parent_object_id and c.column_id = k.parent_column_id
join sys.objects r on r.object_id = f.referenced_object_id
join sys.columns d on d.object_id = k.referenced_object_id and d.column_id = k.referenced_column_id
where {_SHIPPED}
order by s.name, t.name, f.name, k.constraint_column_id
"""  # noqa: S608 - of fixed texts

STAMP: Final = """
select concat(count(*), '-', convert(varchar(30), max(o.modify_date), 126), '-', checksum_agg(o.object_id))
from sys.objects o where o.type in ('U', 'V', 'PK', 'UQ', 'F') and o.is_ms_shipped = 0
"""

WHO: Final = "select @@version, suser_sname(), db_name(), schema_name()"
WRITABLE: Final = """
select concat(p.permission_name, ' in this database') from fn_my_permissions(null, 'DATABASE') p
where p.permission_name not in ('CONNECT', 'SELECT', 'SHOWPLAN', 'REFERENCES')
  and p.permission_name not like 'VIEW %'
union all
select concat('what the role ', r.name, ' may')
from (values ('db_owner'), ('db_datawriter'), ('db_ddladmin'), ('db_securityadmin')) r(name)
where is_rolemember(r.name) = 1
union all
select 'everything: it is sysadmin' where is_srvrolemember('sysadmin') = 1
"""
SESSION: Final = """
select @@spid as id, suser_sname() as [user], db_name() as [database], app_name() as program_name,
       cast(context_info() as varchar(128)) as context, @@lock_timeout as lock_timeout, @@trancount as transactions,
       cast(serverproperty('productversion') as varchar(30)) as version
"""
TOO_EXPENSIVE: Final = "(8649)"
"""The error number of the cost limit, as the driver appends it."""


def beginning(tag: str, lock_seconds: float, most_cost: float | None) -> str:
    """The batch that begins a session: settings that affect how SQL is read, time-outs, and the session's tag.

    Args:
        tag: ASCII, at most 128 characters.
        lock_seconds: Time to wait for a lock.
        most_cost: Seconds that the server's planner may estimate, in its own unit; None for no limit.
    """
    governor = 0 if most_cost is None else min(int(most_cost), 2**31 - 1)
    return (
        "set nocount on; set xact_abort on; set quoted_identifier on; set ansi_nulls on; set ansi_padding on; "
        "set ansi_warnings on; set arithabort on; set concat_null_yields_null on; set numeric_roundabort off; "
        "set language us_english; set dateformat ymd; set rowcount 0; set transaction isolation level read committed; "
        f"set lock_timeout {max(1, int(lock_seconds * 1000))}; set query_governor_cost_limit {governor}; "
        f"set context_info 0x{tag.encode('ascii').hex()}"
    )


def connection_text(parts: dict[str, str]) -> str:
    """An ODBC connection string; values are quoted, so that none can inject another option."""
    return ";".join(f"{name}={{{value.replace('}', '}}')}}}" for name, value in parts.items())


def moment(value: bytes) -> dt.datetime:
    """Decode a `datetimeoffset` in ODBC's binary form (SQL_SS_TIMESTAMPOFFSET)."""
    year, month, day, hour, minute, second, nanoseconds, hours, minutes = struct.unpack("<6hI2h", value)
    zone = dt.timezone(dt.timedelta(hours=hours, minutes=minutes))
    return dt.datetime(year, month, day, hour, minute, second, nanoseconds // 1000, zone)
