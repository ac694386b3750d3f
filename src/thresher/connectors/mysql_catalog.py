"""The statements that read the catalogs of MySQL and MariaDB, and what their grants and types mean.

Invariant: fixed texts and pure functions; they show what the role may see, in the database of the address, or in all
but the server's own where the address names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_HERE: Final = (
    "(t.table_schema = database() or (database() is null and "
    "t.table_schema not in ('mysql', 'information_schema', 'performance_schema', 'sys')))"
)

TABLES: Final = f"""
select t.table_schema, t.table_name,
       case when t.table_type like '%VIEW' then 'view'
            when t.engine in ('FEDERATED', 'CONNECT', 'SPIDER') then 'foreign table' else 'table' end,
       case when t.table_type like '%VIEW' then '' else t.table_comment end,
       t.table_rows
from information_schema.tables t
where {_HERE} and t.table_type in ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
select t.table_schema, t.table_name, t.column_name, t.column_type, t.column_type, t.is_nullable = 'YES',
       case when t.extra like '%auto_increment%' then 'identity'
            when t.extra like '%GENERATED%' and t.extra not like '%DEFAULT_GENERATED%' then 'generated'
            when t.column_default = 'NULL' then null else t.column_default end,
       t.column_comment
from information_schema.columns t
where {_HERE}
order by t.table_schema, t.table_name, t.ordinal_position
"""  # noqa: S608 - of fixed texts

# A key over the beginnings of values (sub_part) tells nothing about whole values.
KEYS: Final = f"""
select t.table_schema, t.table_name, t.index_name, t.index_name = 'PRIMARY', t.column_name
from information_schema.statistics t
where {_HERE} and t.non_unique = 0 and t.column_name is not null
  and not exists (select 1 from information_schema.statistics p
                  where p.table_schema = t.table_schema and p.table_name = t.table_name
                    and p.index_name = t.index_name and p.sub_part is not null)
order by t.table_schema, t.table_name, t.index_name, t.seq_in_index
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select t.table_schema, t.table_name, t.constraint_name, t.column_name,
       t.referenced_table_schema, t.referenced_table_name, t.referenced_column_name
from information_schema.key_column_usage t
where {_HERE} and t.referenced_table_name is not null
order by t.table_schema, t.table_name, t.constraint_name, t.ordinal_position
"""  # noqa: S608 - of fixed texts

STAMP: Final = f"""
select count(*), coalesce(sum(crc32(concat_ws('|', t.table_schema, t.table_name, t.column_name, t.ordinal_position,
       t.column_type, t.is_nullable, t.column_default, t.column_key, t.column_comment))), 0)
from information_schema.columns t where {_HERE}
"""  # noqa: S608 - of fixed texts

SEQUENCES: Final = """
select concat(t.table_schema, '.', t.table_name), case when t.table_schema = database() then t.table_name end
from information_schema.tables t where t.table_type = 'SEQUENCE'
"""

SESSION: Final = """
select connection_id() as id, current_user() as user, database() as `database`, version() as version,
       @@session.sql_mode as sql_mode, @@session.time_zone as time_zone, @@session.lock_wait_timeout as lock_seconds,
       @@session.max_join_size as most_rows, @@character_set_client as charset
"""
ATTRIBUTES: Final = (
    "select attr_name, attr_value from performance_schema.session_account_connect_attrs "
    "where processlist_id = connection_id()"
)

_GRANT: Final = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>.+?) TO ", re.S)
_RIGHT: Final = re.compile(r"([A-Z][A-Z ]*[A-Z])(?:\s*\([^)]*\))?")
_HARMLESS: Final = frozenset(
    {"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "REFERENCES", "BINLOG MONITOR", "SLAVE MONITOR",
     "REPLICA MONITOR", "REPLICATION CLIENT", "SHOW CREATE ROUTINE", "SHOW_ROUTINE"}
)  # fmt: skip

_TYPES: Final[Mapping[int, str]] = {
    0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 6: "null", 7: "timestamp",
    8: "bigint", 9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 15: "varchar", 16: "bit",
    245: "json", 246: "decimal", 247: "enum", 248: "set", 255: "geometry",
}  # fmt: skip
_BYTES: Final = 63
"""The number of the character set that means none."""
_UNSIGNED, _ENUM, _SET = 32, 256, 2048


def writable_rights(grants: Iterable[str]) -> tuple[str, ...]:
    """What `SHOW GRANTS` says that could change something: `INSERT, UPDATE on shop.*`."""
    found: list[str] = []
    for grant in grants:
        if (parts := _GRANT.match(grant)) is None:
            continue
        rights = [right for right in _RIGHT.findall(parts["rights"]) if right not in _HARMLESS]
        if rights:
            found.append(f"{', '.join(rights)} on {parts['place'].replace('`', '')}")
    return tuple(found)


def type_name(field: Any) -> str:
    """The server's name for the type of a column of an answer.

    Args:
        field: What the protocol says of it: `type_code`, `charsetnr`, `flags`.
    """
    code, binary, flags = int(field.type_code), field.charsetnr == _BYTES, int(field.flags)
    if code in (249, 250, 251, 252):
        return "blob" if binary else "text"
    if code == 253:
        return "varbinary" if binary else "varchar"
    if code == 254:
        return "enum" if flags & _ENUM else "set" if flags & _SET else "binary" if binary else "char"
    name = _TYPES.get(code, "unknown")
    return f"{name} unsigned" if flags & _UNSIGNED and code in (1, 2, 3, 8, 9) else name
