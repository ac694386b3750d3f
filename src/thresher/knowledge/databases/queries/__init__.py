"""All SQL of the databases kind, as far as its own store goes.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE is
for the planner, the row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.databases.queries.connections import (
    Held,
    Write,
    add_connection,
    begin_removal,
    configured,
    connection_by_id,
    delete_connection,
    held,
    held_in,
    lock_names,
    own_connection,
    provided,
    removing,
    replace_connection,
    set_connection,
)
from thresher.knowledge.databases.queries.snapshots import (
    Stored,
    lock_connection,
    read_numbers,
    read_snapshot,
    set_indexed,
    write_relations,
    write_snapshot,
)

__all__ = [
    "Held",
    "Stored",
    "Write",
    "add_connection",
    "begin_removal",
    "configured",
    "connection_by_id",
    "delete_connection",
    "held",
    "held_in",
    "lock_connection",
    "lock_names",
    "own_connection",
    "provided",
    "read_numbers",
    "read_snapshot",
    "removing",
    "replace_connection",
    "set_connection",
    "set_indexed",
    "write_relations",
    "write_snapshot",
]
