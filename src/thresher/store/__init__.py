"""PostgreSQL, embedded or external: connections, tenancy, schema and sealed secrets.

Invariant: rows are reached only through `Database.transaction(tenant)`, under forced row-level security.

Uses: core.
"""

from thresher.store.embedded import EmbeddedServer
from thresher.store.engine import Database, driver, run_retrying
from thresher.store.keys import KeyInfo, Keys
from thresher.store.opening import migrate_external, open_store
from thresher.store.schema import migrate
from thresher.store.secrets import SecretBox

__all__ = [
    "Database",
    "EmbeddedServer",
    "KeyInfo",
    "Keys",
    "SecretBox",
    "driver",
    "migrate",
    "migrate_external",
    "open_store",
    "run_retrying",
]
