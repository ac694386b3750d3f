"""All SQL of the tools kind.

Invariant: every statement runs inside `Database.transaction(tenant)`; the tenant in each WHERE is for the planner, the
row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.tools.queries.catalogue import (
    NameRow,
    ServerRow,
    StoredTool,
    ToolWrite,
    delete_server,
    delete_tools,
    enabled_ids,
    lock_server,
    mark_failed,
    names,
    put_server,
    put_tools,
    raise_version,
    servers,
    set_server,
    set_tool,
    switch_server,
    tools,
    version,
    write_listing,
)
from thresher.knowledge.tools.queries.log import Discovery, Invocation, write_logs

__all__ = [
    "Discovery",
    "Invocation",
    "NameRow",
    "ServerRow",
    "StoredTool",
    "ToolWrite",
    "delete_server",
    "delete_tools",
    "enabled_ids",
    "lock_server",
    "mark_failed",
    "names",
    "put_server",
    "put_tools",
    "raise_version",
    "servers",
    "set_server",
    "set_tool",
    "switch_server",
    "tools",
    "version",
    "write_listing",
    "write_logs",
]
