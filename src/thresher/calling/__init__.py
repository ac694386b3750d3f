"""The one door through which a tool is run: resolve, approval, rules first, SQL guard, breaker, audit, log of calls.

Invariant: knows no type of MCP, and no face; the tools of packs are handed to it from above.

Uses: audit, context, core, knowledge, programs, results, sqlguard, upstream.
"""

from thresher.calling.meta_tools import SCHEMAS, meta_tools
from thresher.calling.records import ADMIN, NO_CLIENT, RULES_META, Call, Client, PackTools, Result, server_of
from thresher.calling.service import Calling

__all__ = [
    "ADMIN",
    "NO_CLIENT",
    "RULES_META",
    "SCHEMAS",
    "Call",
    "Calling",
    "Client",
    "PackTools",
    "Result",
    "meta_tools",
    "server_of",
]
