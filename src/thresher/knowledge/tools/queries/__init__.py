"""All SQL of the tools kind.

Invariant: every statement runs inside `Database.transaction(tenant)`; the tenant in each WHERE is for the planner, the
row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.tools.queries.approval import HeldRow, approve, held_tools, reject
from thresher.knowledge.tools.queries.catalogue import NameRow, StoredTool, findable, names, set_tool, tool_ids, tools
from thresher.knowledge.tools.queries.consents import (
    ClaimRow,
    ConsentRow,
    claims,
    consents,
    delete_consent,
    end_consents,
    put_consent,
)
from thresher.knowledge.tools.queries.credentials import (
    delete_credential,
    exchange_credential,
    put_credential,
    read_credential,
)
from thresher.knowledge.tools.queries.listing import Judge, ListingWrite, ToolWrite, Written, write_listing
from thresher.knowledge.tools.queries.log import Discovery, Invocation, write_logs
from thresher.knowledge.tools.queries.marks import Mark, mark, marks
from thresher.knowledge.tools.queries.servers import (
    ServerRow,
    delete_server,
    lock_server,
    mark_failed,
    mark_listed,
    put_server,
    servers,
    set_server,
    switch_server,
)
from thresher.knowledge.tools.queries.versions import raise_version, version, visible

__all__ = [
    "ClaimRow",
    "ConsentRow",
    "Discovery",
    "HeldRow",
    "Invocation",
    "Judge",
    "ListingWrite",
    "Mark",
    "NameRow",
    "ServerRow",
    "StoredTool",
    "ToolWrite",
    "Written",
    "approve",
    "claims",
    "consents",
    "delete_consent",
    "delete_credential",
    "delete_server",
    "end_consents",
    "exchange_credential",
    "findable",
    "held_tools",
    "lock_server",
    "mark",
    "mark_failed",
    "mark_listed",
    "marks",
    "names",
    "put_consent",
    "put_credential",
    "put_server",
    "raise_version",
    "read_credential",
    "reject",
    "servers",
    "set_server",
    "set_tool",
    "switch_server",
    "tool_ids",
    "tools",
    "version",
    "visible",
    "write_listing",
    "write_logs",
]
