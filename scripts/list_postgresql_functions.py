"""`python scripts/list_postgresql_functions.py URL...`: write the guard's list for PostgreSQL from real catalogs.

Give one URL of an empty database per version (those that the list was made from are named in it). A name is allowed
where every function of that name, in every catalog, is one that only computes or reads: not volatile, callable from
SQL, and not on the list of exceptions below. A name that is new in a version is thereby judged by PostgreSQL's own
classification; read the difference of the written file before it is committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import psycopg

TARGET = Path(__file__).parents[1] / "src/thresher/sqlguard/functions/postgresql.txt"

FUNCTIONS = """
    select case n.nspname when 'pg_catalog' then p.proname else n.nspname || '.' || p.proname end,
        bool_or(p.provolatile = 'v'),
        bool_or(p.prorettype = any(%(internal)s::regtype[]) or p.proargtypes::oid[] && %(internal)s::regtype[]::oid[])
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('pg_catalog', 'information_schema') and p.oid < 16384
    group by 1
"""
INTERNAL = (
    "{internal,cstring,trigger,event_trigger,language_handler,fdw_handler,"
    "index_am_handler,table_am_handler,tsm_handler}"
)
OPERATORS = "select distinct oprname, '' from pg_catalog.pg_operator where oid < 16384"
TYPES = """
    select distinct case n.nspname when 'pg_catalog' then t.typname else n.nspname || '.' || t.typname end, ''
    from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
    where n.nspname in ('pg_catalog', 'information_schema') and t.oid < 16384
        and (t.typtype = 'd' or (t.typtype in ('b', 'm', 'r') and n.nspname = 'pg_catalog'))
        and not exists (select from pg_catalog.pg_type e where e.oid = t.typelem and e.typtype = 'c')
"""

HARMLESS = {
    "another value at each call, nothing else": """random random_normal gen_random_uuid uuidv4 uuidv7 clock_timestamp
        timeofday array_sample array_shuffle""",
    "sizes and shapes of relations": """pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size
        pg_database_size pg_tablespace_size pg_partition_tree pg_partition_ancestors""",
    "state of the server, only read": """pg_is_in_recovery pg_last_xact_replay_timestamp pg_last_wal_receive_lsn
        pg_last_wal_replay_lsn pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn
        pg_collation_actual_version pg_database_collation_actual_version pg_xact_commit_timestamp""",
}
"""Volatile by the catalog, yet they only compute or read."""

HARMFUL = {
    "reads tables that the statement does not name": """database_to_xml database_to_xml_and_xmlschema
        database_to_xmlschema schema_to_xml schema_to_xml_and_xmlschema schema_to_xmlschema table_to_xml
        table_to_xml_and_xmlschema table_to_xmlschema""",
    "checks a value by whatever type is named, with code of users": "pg_input_is_valid pg_input_error_info",
    "takes SQL as text": "ts_rewrite ts_stat query_to_xml query_to_xmlschema query_to_xml_and_xmlschema",
    "uses up a transaction number": "pg_current_xact_id txid_current",
    "shows what others run": """pg_stat_get_activity pg_stat_get_backend_activity pg_prepared_statement pg_cursor
        pg_stat_get_wal_receiver""",
    "shows settings, which may hold keys": "pg_show_all_settings pg_config",
    "tells where the server is in its network": """inet_client_addr inet_client_port inet_server_addr inet_server_port
        pg_stat_get_backend_client_addr pg_stat_get_backend_client_port""",
    "tells where the server keeps its files": """pg_relation_filenode pg_relation_filepath pg_tablespace_location
        pg_filenode_relation""",
    "checks code, and is no function to call": """fmgr_c_validator fmgr_internal_validator fmgr_sql_validator
        postgresql_fdw_validator pg_event_trigger_ddl_commands pg_event_trigger_dropped_objects
        pg_event_trigger_table_rewrite_oid pg_event_trigger_table_rewrite_reason""",
}
"""Not volatile by the catalog, or only in part, yet refused."""

GROUPS = {
    "reads or writes files of the server": "pg_read_ pg_ls_ pg_stat_file pg_current_logfile lo_import lo_export",
    "works on large objects, which are no tables": "lo_ loread lowrite",
    "changes a sequence": "nextval setval",
    "takes a lock": "pg_advisory pg_try_advisory",
    "waits": "pg_sleep",
    "changes a setting": "set_config setseed",
    "ends or disturbs the work of others": "pg_cancel_ pg_terminate_ pg_reload_conf pg_rotate_logfile pg_promote",
    "sends a message": "pg_notify pg_logical_emit_message",
}
"""Why a volatile function is refused, by the beginnings of names."""
OTHERWISE = "may do more than read"


def reasons(groups: dict[str, str]) -> dict[str, str]:
    """Each name with its reason."""
    return {name: reason for reason, names in groups.items() for name in names.split()}


def catalog(url: str) -> tuple[str, dict[str, tuple[bool, bool]], set[str], set[str]]:
    """Version, functions (volatile, internal), operators and types of one server."""
    with psycopg.connect(url, autocommit=True) as connection:
        version = str(connection.info.server_version // 10_000)
        functions = {
            str(name): (bool(volatile), bool(internal))
            for name, volatile, internal in connection.execute(FUNCTIONS, {"internal": INTERNAL})
        }
        operators = {str(row[0]) for row in connection.execute(OPERATORS)}
        types = {str(row[0]) for row in connection.execute(TYPES)}
    return version, functions, operators, types


def refusal(name: str, flags: list[tuple[bool, bool]]) -> str:
    """Why a name is refused; empty: it is allowed."""
    harmful, harmless = reasons(HARMFUL), reasons(HARMLESS)
    if name in harmful:
        return harmful[name]
    if any(internal for _, internal in flags):
        return "is called by the server itself"
    if name in harmless or not any(volatile for volatile, _ in flags):
        return ""
    return next((why for why, starts in GROUPS.items() if name.startswith(tuple(starts.split()))), OTHERWISE)


def main(urls: list[str]) -> None:
    """Write the list."""
    catalogs = [catalog(url) for url in urls]
    names = sorted({name for _, functions, _, _ in catalogs for name in functions})
    lines = [
        "# What PostgreSQL has of its own, from the catalogs of versions " + ", ".join(v for v, *_ in catalogs) + ".",
        "# Written by scripts/list_postgresql_functions.py. A line: function|refused|operator|type, its name, why.",
        "# A name without a schema is pg_catalog's.",
    ]
    for name in names:
        reason = refusal(name, [functions[name] for _, functions, _, _ in catalogs if name in functions])
        lines.append(f"refused\t{name}\t{reason}" if reason else _allowed(name))
    lines += [f"operator\t{name}" for name in sorted({name for *_, operators, _ in catalogs for name in operators})]
    lines += [f"type\t{name}" for name in sorted({name for *_, types in catalogs for name in types})]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _allowed(name: str) -> str:
    reason = reasons(HARMLESS).get(name, "")
    return f"function\t{name}\t{reason}" if reason else f"function\t{name}"


if __name__ == "__main__":
    main(sys.argv[1:])
