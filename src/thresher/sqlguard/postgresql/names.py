"""Which functions, operators, types, relations and settings of PostgreSQL a statement may name.

Invariant: an allow-list for everything that runs code (functions, operators, casts) and for settings; a list of
refusals
with reasons for system relations, since reading the catalog is how one learns what the database holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from thresher.sqlguard.records import Functions

CATALOG: Final = "pg_catalog"
"""Schema of PostgreSQL's own functions, operators and types."""
INTERNAL: Final = "is called by the server itself"
"""Reason to refuse a function with an argument that SQL cannot supply: it cannot be called as a field either."""

JSON_WORDS: Final[Mapping[str, str]] = {
    "JSON_EXISTS_OP": "json_exists",
    "JSON_QUERY_OP": "json_query",
    "JSON_VALUE_OP": "json_value",
}
WORDS: Final[Mapping[str, str]] = {
    "JsonArrayAgg": "json_arrayagg",
    "JsonArrayConstructor": "json_array",
    "JsonArrayQueryConstructor": "json_array",
    "JsonFuncExpr": "",
    "JsonObjectAgg": "json_objectagg",
    "JsonObjectConstructor": "json_object",
    "JsonParseExpr": "json",
    "JsonScalarExpr": "json_scalar",
    "JsonSerializeExpr": "json_serialize",
    "JsonTable": "json_table",
}
"""Kinds of nodes that older servers read as calls of functions with these names, which users may have defined."""


@dataclass(frozen=True, slots=True)
class ShippedNames:
    """The list that ships, made from the catalogs of real servers.

    Attributes:
        functions: Its functions, as for a database about which nothing else is known.
        refused: Functions that must not be called, with reasons.
        operators: PostgreSQL's own operators.
        types: PostgreSQL's own types; those of `information_schema` with their schema.
    """

    functions: Functions
    refused: Mapping[str, str]
    operators: frozenset[str]
    types: frozenset[str]


@cache
def shipped() -> ShippedNames:
    """Return the list that ships."""
    text = files("thresher.sqlguard").joinpath("functions/postgresql.txt").read_text(encoding="utf-8")
    names: dict[str, dict[str, str]] = {"function": {}, "refused": {}, "operator": {}, "type": {}}
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, name, *reason = line.split("\t")
            names[kind][name] = reason[0] if reason else ""
    functions = Functions(frozenset(names["function"]))
    return ShippedNames(functions, names["refused"], frozenset(names["operator"]), frozenset(names["type"]))


SECRETS: Final = "It shows passwords or their hashes."
OTHERS: Final = "It shows the statements of others."
ADDRESSES: Final = "It shows network addresses of the server."
FILES: Final = "It shows files of the server."
RAW: Final = "It shows values of columns that this role must not read."
SETTINGS_OF_OTHERS: Final = "It shows settings, which may hold keys."

RELATIONS: Final[Mapping[str, str]] = {
    "pg_authid": SECRETS,
    "pg_shadow": SECRETS,
    "pg_user_mapping": SECRETS,
    "pg_user_mappings": SECRETS,
    "_pg_user_mappings": SECRETS,
    "user_mapping_options": SECRETS,
    "pg_foreign_server": SECRETS,
    "_pg_foreign_servers": SECRETS,
    "foreign_server_options": SECRETS,
    "pg_subscription": SECRETS,
    "pg_stat_wal_receiver": SECRETS,
    "pg_hba_file_rules": FILES,
    "pg_ident_file_mappings": FILES,
    "pg_file_settings": FILES,
    "pg_config": FILES,
    "pg_largeobject": RAW,
    "pg_statistic": RAW,
    "pg_statistic_ext_data": RAW,
    "pg_stat_activity": OTHERS,
    "pg_stat_replication": ADDRESSES,
    "pg_stat_statements": OTHERS,
    "pg_prepared_statements": OTHERS,
    "pg_cursors": OTHERS,
    "pg_settings": SETTINGS_OF_OTHERS,
    "pg_db_role_setting": SETTINGS_OF_OTHERS,
    "pg_roles": SETTINGS_OF_OTHERS,
    "pg_user": SETTINGS_OF_OTHERS,
}
"""System relations that must not be read, with reasons. The server itself shows most of them only to few roles."""

OF_EXTENSIONS: Final = frozenset({"pg_stat_statements"})
"""Those that are in the schema of their extension."""
SYSTEM_SCHEMAS: Final = frozenset({"pg_catalog", "information_schema"})
HIDDEN_SCHEMAS: Final = ("pg_toast", "pg_temp_", "pg_toast_temp_")
"""Schemas of out-of-line values and of other sessions."""

SETTINGS: Final = frozenset(
    name
    for line in (
        "server_version server_version_num server_encoding client_encoding timezone datestyle intervalstyle",
        "lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time default_text_search_config search_path",
        "transaction_isolation transaction_read_only transaction_deferrable default_transaction_isolation",
        "default_transaction_read_only statement_timeout lock_timeout idle_in_transaction_session_timeout",
        "standard_conforming_strings bytea_output extra_float_digits is_superuser session_authorization role",
        "application_name block_size integer_datetimes max_identifier_length max_index_keys in_hot_standby",
        "max_connections work_mem shared_buffers effective_cache_size random_page_cost seq_page_cost jit wal_level",
        "autovacuum default_statistics_target max_parallel_workers max_parallel_workers_per_gather temp_buffers",
        "row_security data_checksums segment_size wal_block_size max_function_args server_version_num",
    )
    for name in line.split()
)
"""Settings that may be shown: none holds a secret, a path or an address."""


def refused_relation(schema: str, name: str) -> str:
    """Return why a relation must not be read; empty if it may."""
    if schema.startswith(HIDDEN_SCHEMAS) and schema != "pg_temp":
        return "It stores out-of-line pieces of values."
    if name in OF_EXTENSIONS or schema in SYSTEM_SCHEMAS or not schema:
        return RELATIONS.get(name, "")
    return ""
