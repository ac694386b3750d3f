"""Reads a server's whole list of tools, page by page, inside bounds.

Invariant: a listing is complete or an error; it is never silently cut.
"""

from __future__ import annotations

import logging
from typing import Any

import mcp_types as types

from thresher.core import Tool, event
from thresher.upstream.connection import Connection
from thresher.upstream.failures import Failures
from thresher.upstream.records import Listing

MAX_PAGES = 200
MAX_TOOLS = 20_000
"""Twice the catalogue that the benchmarks use, from one server."""
MAX_LISTING_BYTES = 64 * 1024 * 1024
_METHOD = "tools/list"
_logger = logging.getLogger("thresher.upstream")


async def read_listing(server: str, connection: Connection, failures: Failures, seconds: float) -> Listing:
    """List all tools of a server.

    Raises:
        UpstreamRefused: The listing exceeds a bound, repeats a page, or does not follow the protocol.
        UpstreamError: As `Connection.request` raises.
    """
    tools: dict[str, Tool] = {}
    cursor: str | None = None
    size = 0
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await _page(connection, cursor, seconds)
        size += sum(len(tool.model_dump_json()) for tool in page.tools)
        _add(server, page.tools, tools)
        if len(tools) > MAX_TOOLS or size > MAX_LISTING_BYTES:
            limit = f"{MAX_TOOLS:,} tools and {MAX_LISTING_BYTES // 2**20} MiB"
            raise failures.malformed(_METHOD, f"a list of more than {limit}")
        cursor = page.next_cursor
        if not cursor:
            return _listing(connection, tools)
        if cursor in seen:
            raise failures.malformed(_METHOD, "pages that go round in a circle")
        seen.add(cursor)
    raise failures.malformed(_METHOD, f"a list of more than {MAX_PAGES} pages")


async def _page(connection: Connection, cursor: str | None, seconds: float) -> types.ListToolsResult:
    params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
    # The session's own method, since it also notes which arguments travel as headers (2026-07-28).
    return await connection.request(_METHOD, lambda session: session.list_tools(params=params), seconds)


def _add(server: str, page: list[types.Tool], tools: dict[str, Tool]) -> None:
    for listed in page:
        if listed.name in tools:
            event(_logger, "upstream_duplicate_tool", level=logging.WARNING, server=server, tool=listed.name)
            continue
        annotations: dict[str, Any] = (
            listed.annotations.model_dump(by_alias=True, exclude_none=True, mode="json") if listed.annotations else {}
        )
        tools[listed.name] = Tool(
            server=server,
            name=listed.name,
            title=listed.title or str(annotations.get("title", "")),
            description=listed.description or "",
            input_schema=listed.input_schema,
            output_schema=listed.output_schema,
            annotations=annotations,
        )


def _listing(connection: Connection, tools: dict[str, Tool]) -> Listing:
    session = connection.session
    return Listing(
        tools=tuple(tools.values()),
        instructions=session.instructions or "",
        version=session.server_info.version if session.server_info else "",
        protocol=session.protocol_version or "",
    )
