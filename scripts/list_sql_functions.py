"""`python scripts/list_sql_functions.py [MARIADB_URL]`: write the guard's lists for the engines beside PostgreSQL.

SQLite and DuckDB are asked for their own catalogs (those of this Python), MariaDB by its URL for
`information_schema.sql_functions`; what catalogs leave out, and the lists of MySQL, Oracle and SQL Server, are names
from the engines' manuals, written below. A name that is not on a list is refused; those that were looked at and
left out are written with the reason. Read the difference of the written files before they are committed.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import duckdb
import sqlalchemy

FOLDER = Path(__file__).parents[1] / "src/thresher/sqlguard/functions"

REFUSED: dict[str, dict[str, str]] = {
    "sqlite": {
        "loads code": "load_extension",
        "gives pointers away": "fts3_tokenizer fts5 subtype",
        "checks or changes what lies below tables": "rtreecheck rtreenode rtreedepth optimize sqlite_offset",
        "writes a log": "sqlite_log",
        "tells where files are kept": "pragma_database_list",
        "reaches files or programs, in the shell": "readfile writefile edit fsdir lsmode",
        "is of no use to a reader": "fts5_source_id fts5_insttoken fts5_locale",
    },
    "duckdb": {
        "takes SQL or a plan as text": "query query_table json_execute_serialized_sql json_serialize_plan"
        " json_deserialize_sql json_serialize_sql",
        "changes a sequence or shows the session's": "nextval currval setval",
        "changes the session": "setseed enable_logging disable_logging enable_profiling disable_profiling getvariable"
        " txid_current current_transaction_id",
        "writes": "checkpoint force_checkpoint write_log truncate_duckdb_logs create_external_resource"
        " destroy_external_resource register_external_resource deregister_external_resource"
        " register_external_resource_type",
        "holds the session": "sleep_ms pg_sleep",
        "ends the query": "error assert_true",
        "reads the environment": "getenv",
        "tells where the server is in its network": "inet_client_addr inet_client_port inet_server_addr"
        " inet_server_port",
        "tells where files are kept": "duckdb_databases duckdb_extensions duckdb_extension_repositories",
        "shows secrets or what others ask": "duckdb_secrets which_secret duckdb_secret_types"
        " duckdb_secret_type_parameters duckdb_logs duckdb_logs_parsed duckdb_log_contexts"
        " duckdb_prepared_statements duckdb_variables duckdb_external_file_cache duckdb_external_resources"
        " duckdb_external_resource_types duckdb_temporary_files parse_duckdb_log_message current_query"
        " duckdb_settings current_setting duckdb_profiling_settings",
        "reads files": "glob read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto read_json_objects"
        " read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet"
        " read_single_csv_file read_single_json_file read_single_parquet_file read_text sniff_csv"
        " parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata"
        " parquet_scan parquet_schema",
        "takes pointers or runs Python": "arrow_scan arrow_scan_dumb pandas_scan python_arrow_scan python_map_function",
        "is the engine's own plumbing": "seq_scan summary index_key duckdb_table_sample test_all_types"
        " test_vector_types pragma_storage_info pragma_metadata_info create_sort_key vector_type stats invoke"
        " combine finalize to_aggregate_state make_type replace_type cast_to_type remap_struct"
        " variant_bytes_to_variant duckdb_memory duckdb_eviction_queues vertex_extract repeat_row",
    },
    "mariadb": {
        "holds the session": "sleep benchmark master_pos_wait master_gtid_wait wsrep_sync_wait_upto_gtid",
        "locks, or shows locks": "get_lock release_lock release_all_locks is_free_lock is_used_lock",
        "reads files": "load_file des_encrypt des_decrypt binlog_gtid_pos",
        "changes a sequence or shows the session's": "nextval setval lastval last_insert_id",
        "calls the system's library": "encrypt",
        "tells from which machine the session comes": "user session_user system_user",
        "is of no use to a reader": "decode_histogram name_const old_password password wsrep_last_seen_gtid"
        " wsrep_last_written_gtid",
    },
    "oracle": {
        "takes SQL as text": "xmlquery xmltable dbms_xmlgen xmltype cursor",
        "reaches out": "httpuritype dburitype xdburitype uritype bfilename",
        "tells from which machine the session comes": "userenv",
        "runs a model or code": "prediction feature_value cluster_id ora_dm_build",
    },
    "mssql": {
        "reaches out or reads files": "openrowset openquery opendatasource openxml",
        "shows settings, rights or what others run": "serverproperty sessionproperty loginproperty context_info"
        " session_context fn_my_permissions has_perms_by_name original_login",
        "tells from which machine the session comes": "host_name",
        "keys and certificates": "encryptbykey decryptbykey encryptbypassphrase decryptbypassphrase encryptbycert"
        " decryptbycert signbycert pwdencrypt pwdcompare",
    },
}

SQLITE = """
    concat concat_ws string_agg octet_length unhex unistr unistr_quote timediff if iif json_error_position json_pretty
     json_each json_tree jsonb jsonb_array jsonb_extract jsonb_insert jsonb_object jsonb_patch jsonb_remove
    jsonb_replace jsonb_set jsonb_group_array jsonb_group_object json_array_insert median percentile percentile_cont
    percentile_disc generate_series sqlite_version likelihood bm25 highlight snippet offsets matchinfo acos acosh
    asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians
    sin sinh sqrt tan tanh trunc current_date current_time current_timestamp pragma_table_info pragma_table_xinfo
    pragma_table_list pragma_index_info pragma_index_list pragma_index_xinfo pragma_foreign_key_list
    pragma_database_list pragma_collation_list
"""

MYSQL = """
     abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and
    bit_count bit_length bit_or bit_xor can_access_column can_access_database can_access_table can_access_view cast
    ceil ceiling char char_length character_length charset coalesce coercibility collation compress concat concat_ws
    connection_id conv convert convert_tz cos cot count crc32 cume_dist curdate current_date current_role
    current_time current_timestamp current_user curtime database date date_add date_format date_sub datediff day
    dayname dayofmonth dayofweek dayofyear default degrees dense_rank elt exp export_set extract extractvalue field
    find_in_set first_value floor format format_bytes format_pico_time found_rows from_base64 from_days
    from_unixtime get_format greatest group_concat grouping hex hour if ifnull inet6_aton inet6_ntoa inet_aton
    inet_ntoa insert instr interval is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_uuid isnull json_array
    json_array_append json_array_insert json_arrayagg json_contains json_contains_path json_depth json_extract
    json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve json_object json_objectagg
    json_overlaps json_pretty json_quote json_remove json_replace json_schema_valid json_schema_validation_report
    json_search json_set json_storage_free json_storage_size json_table json_type json_unquote json_valid json_value
    lag last_day last_value lcase lead least left length ln localtime localtimestamp locate log log10 log2 lower
    lpad ltrim make_set makedate maketime max md5 microsecond mid min minute mod month monthname now nth_value ntile
    nullif oct octet_length ord percent_rank period_add period_diff pi position pow power quarter quote radians rand
    random_bytes rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right round row
    row_count row_number rpad rtrim schema sec_to_time second session_user sha sha1 sha2 sign sin soundex space sqrt
    st_area st_asbinary st_asgeojson st_astext st_buffer st_centroid st_collect st_contains st_convexhull st_crosses
    st_difference st_dimension st_disjoint st_distance st_distance_sphere st_endpoint st_envelope st_equals
    st_exteriorring st_geohash st_geomfromgeojson st_geomfromtext st_geomfromwkb st_geometrytype st_intersection
    st_intersects st_isclosed st_isempty st_issimple st_isvalid st_latfromgeohash st_latitude st_length
    st_longfromgeohash st_longitude st_numgeometries st_numpoints st_overlaps st_pointfromtext st_pointn st_simplify
    st_srid st_startpoint st_symdifference st_touches st_transform st_union st_within st_x st_y point linestring
    polygon multipoint multilinestring multipolygon geometrycollection mbrcontains mbrwithin mbrintersects std
    stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum sysdate
    system_user tan time time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_days
    to_seconds trim truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper user utc_date
    utc_time utc_timestamp uuid uuid_short uuid_to_bin values var_pop var_samp variance version week weekday
    weekofyear weight_string year yearweek asin statement_digest statement_digest_text icu_version gtid_subset
    gtid_subtract
"""
MYSQL_ONLY = """
    bin_to_uuid can_access_column can_access_database can_access_table can_access_view format_bytes format_pico_time
    is_uuid json_schema_validation_report json_storage_free json_storage_size regexp_like st_geohash st_latfromgeohash
    st_latitude st_longfromgeohash st_longitude st_simplify st_transform uuid_to_bin statement_digest
    statement_digest_text icu_version gtid_subset gtid_subtract st_collect grouping any_value
"""

ORACLE = """
     abs acos add_months any_value approx_count approx_count_distinct approx_median approx_percentile ascii asciistr
    asin atan atan2 avg bin_to_num bitand bit_and_agg bit_or_agg bit_xor_agg boolean_and_agg boolean_or_agg
    cardinality cast ceil chartorowid checksum chr coalesce collation collect compose concat convert corr corr_k
    corr_s cos cosh count covar_pop covar_samp cume_dist current_timestamp dbtimezone decode decompose dense_rank
    dump empty_blob empty_clob exp extract first first_value floor from_tz fuzzy_match greatest group_id grouping
    grouping_id hextoraw initcap instr instrb instrc json json_array json_arrayagg json_dataguide json_equal
    json_exists json_mergepatch json_object json_objectagg json_query json_scalar json_serialize json_table
    json_transform json_value kurtosis_pop kurtosis_samp lag last last_day last_value lead least length lengthb
    lengthc listagg ln lnnvl localtimestamp log lower lpad ltrim max median min mod months_between nanvl nchr
    new_time next_day nls_charset_id nls_charset_name nls_initcap nls_lower nls_upper nlssort nth_value ntile nullif
    numtodsinterval numtoyminterval nvl nvl2 ora_hash percent_rank percentile_cont percentile_disc phonic_encode
    power rank ratio_to_report rawtohex rawtonhex regexp_count regexp_instr regexp_like regexp_replace regexp_substr
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy remainder replace
    round row_number rowidtochar rowidtonchar rpad rtrim scn_to_timestamp sign sin sinh skewness_pop skewness_samp
    soundex sqrt standard_hash stats_mode stddev stddev_pop stddev_samp substr substrb substrc sum
    sys_connect_by_path sys_extract_utc sys_guid sys_typeid systimestamp tan tanh timestamp_to_scn to_binary_double
    to_binary_float to_blob to_boolean to_char to_clob to_date to_dsinterval to_lob to_multi_byte to_nchar to_nclob
    to_number to_single_byte to_timestamp to_timestamp_tz to_yminterval translate treat trim trunc tz_offset uid
    unistr upper userenv validate_conversion var_pop var_samp variance vsize width_bucket xmlagg xmlcast xmlconcat
    xmlelement xmlforest xmlserialize
"""

MSSQL = """
    abs acos app_name approx_count_distinct approx_percentile_cont approx_percentile_disc ascii asin atan atn2 avg
     base64_decode base64_encode binary_checksum bit_count cast ceiling char charindex checksum checksum_agg choose
    coalesce col_length col_name columnproperty compress concat concat_ws convert cos cot count count_big cume_dist
    current_timezone current_timezone_id cursor_status databasepropertyex date_bucket dateadd datediff datediff_big
    datefromparts datename datepart datetime2fromparts datetimefromparts datetimeoffsetfromparts datetrunc day db_id
    db_name decompress degrees dense_rank difference eomonth exp first_value floor format formatmessage
    generate_series get_bit getansinull getdate getutcdate greatest grouping grouping_id hashbytes host_name iif
    index_col indexkey_property indexproperty isdate isjson isnull isnumeric json_array json_arrayagg json_contains
    json_modify json_object json_objectagg json_path_exists json_query json_value lag last_value lead least left
    left_shift len log log10 lower ltrim max min month nchar newid ntile nullif object_definition object_id
    object_name object_schema_name objectproperty objectpropertyex openjson parse parsename patindex percent_rank
    percentile_cont percentile_disc pi power quotename radians rand rank regexp_count regexp_instr regexp_like
    regexp_matches regexp_replace regexp_split_to_table regexp_substr replace replicate reverse right right_shift
    round row_number rowcount_big rtrim schema_id schema_name scope_identity set_bit sign sin smalldatetimefromparts
    soundex space sql_variant_property sqrt square stats_date stdev stdevp str string_agg string_escape string_split
    stuff substring sum suser_name suser_sname switchoffset sysdatetime sysdatetimeoffset sysutcdatetime tan textptr
    timefromparts todatetimeoffset translate trim try_cast try_convert try_parse type_id type_name typeproperty
    unicode unistr upper user_id user_name var varp year current_timestamp edit_distance edit_distance_similarity
    jaro_winkler_distance jaro_winkler_similarity
"""


def sqlite_names() -> set[str]:
    """What SQLite has of its own, and what other builds of it have."""
    rows = sqlite3.connect(":memory:").execute("select distinct name from pragma_function_list").fetchall()
    return {str(name) for (name,) in rows if str(name)[0].isalpha()} | set(SQLITE.split())


def duckdb_names() -> set[str]:
    """What DuckDB has of its own, but for statements in a function's clothes and what is inside it only."""
    sql = "select distinct lower(function_name) from duckdb_functions() where internal and function_type <> 'pragma'"
    rows = duckdb.connect().execute(sql).fetchall()
    names = {str(name) for (name,) in rows}
    return {name for name in names if name[0].isalpha() and not name.startswith(("icu_collate_", "collate_"))}


def mariadb_names(url: str) -> set[str]:
    """What MariaDB has of its own, and what its manual names beside."""
    with sqlalchemy.create_engine(url.replace("mariadb://", "mariadb+pymysql://")).connect() as connection:
        rows = connection.execute(sqlalchemy.text("select lower(function) from information_schema.sql_functions"))
        return {str(name) for (name,) in rows} | (set(MYSQL.split()) - set(MYSQL_ONLY.split()))


def write(dialect: str, names: set[str], source: str, like: str = "") -> None:
    """Write one list."""
    why = {name: reason for reason, listed in REFUSED[like or dialect].items() for name in listed.split()}
    lines = [f"# What {source}", "# Written by scripts/list_sql_functions.py. A line: function|refused, its name, why."]
    known = sorted(names | set(why))
    lines += [f"refused\t{name}\t{why[name]}" if name in why else f"function\t{name}" for name in known]
    (FOLDER / f"{dialect}.txt").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write the lists."""
    write("sqlite", sqlite_names(), "SQLite has of its own: the catalog of 3.40, and the manual up to 3.51.")
    write("duckdb", duckdb_names(), f"DuckDB {duckdb.__version__} has of its own, by its catalog.")
    write("mysql", set(MYSQL.split()), "MySQL 8 has of its own, by its manual.", "mariadb")
    write("oracle", set(ORACLE.split()), "Oracle 23 has of its own, by its manual.")
    write("mssql", set(MSSQL.split()), "SQL Server 2025 has of its own, by its manual.")
    if len(sys.argv) > 1:
        write("mariadb", mariadb_names(sys.argv[1]), "MariaDB has of its own: the catalog of 10.11, and its manual.")


if __name__ == "__main__":
    main()
