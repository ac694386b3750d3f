"""PostgreSQL, embedded or external: connections, tenancy, schema and sealed secrets.

Invariant: rows are reached only through `Database.transaction(tenant)`, under forced row-level security.

Uses: core.
"""

from thresher.store.connections import clean, clean_json, connect_watched
from thresher.store.embedded import EmbeddedServer, open_store
from thresher.store.engine import Database, Row, Send, driver, prepared, run_retrying, shared, shared_reads
from thresher.store.keys import KeyInfo, Keys, without_placeholder
from thresher.store.log_queue import LogQueue, age_limit, message_of, period, period_start, purge_rows
from thresher.store.private import make_private
from thresher.store.schema import migrate, migrate_external
from thresher.store.secrets import SecretBox
from thresher.store.sessions import LONGEST_SESSION, Session, Sessions

__all__ = [
    "LONGEST_SESSION",
    "Database",
    "EmbeddedServer",
    "KeyInfo",
    "Keys",
    "LogQueue",
    "Row",
    "SecretBox",
    "Send",
    "Session",
    "Sessions",
    "age_limit",
    "clean",
    "clean_json",
    "connect_watched",
    "driver",
    "make_private",
    "message_of",
    "migrate",
    "migrate_external",
    "open_store",
    "period",
    "period_start",
    "prepared",
    "purge_rows",
    "run_retrying",
    "shared",
    "shared_reads",
    "without_placeholder",
]
