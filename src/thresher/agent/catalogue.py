"""Answers about the tools of connected servers: which one does something, and what it takes.

Invariant: a tool of another server is never run from here; a model or a person decides that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from thresher.agent import endpoints, passages, schemas
from thresher.agent.inquiries import Findings, Inquiry, Item, given, rows_of
from thresher.agent.records import Call, Subject
from thresher.agent.toolbox import Outcome, Toolbox
from thresher.core import shortened

FIND: Final = "find_tools"
DESCRIBE: Final = "describe_tools"
TOOLS: Final = 5
_DESCRIPTION: Final = 1_200
_OWN: Final = frozenset(
    (
        *(endpoints.SEARCH, endpoints.READ, endpoints.PROVIDERS, endpoints.USAGE, endpoints.IMPROVE),
        *(passages.SEARCH, passages.READ, "retrieve_document", "list_repositories"),
        *(schemas.SCHEMA, schemas.CONNECTIONS, schemas.LOG),
        *("get_table_columns", "sql_table_info", "sql_list_tables"),
    )
)
"""Tools that the assistant answers with, and others that would give the same answer."""


async def find_tools(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Tools that do what is asked for."""
    return found_tools(await box.call(Call(FIND, {"message": inquiry.text, "limit": TOOLS})))


def found_tools(outcome: Outcome) -> Findings:
    """What `find_tools` has answered, without the tools that the assistant itself answers with."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    degraded = data.get("degraded")
    rows = [] if data.get("abstained") or data.get("fallback") else rows_of(data, "tools")
    items = [_tool(row) for row in rows if row.get("name") not in _OWN]
    return Findings(
        results=tuple(items),
        total=len(items),
        relevance=max((float(item.get("relevance") or 0.0) for item in items), default=0.0),
        notes=(f"limited search of tools: {degraded}",) if degraded else (),
        subjects=tuple(Subject("tool", str(item["name"]), Call(DESCRIBE, {"names": [item["name"]]})) for item in items),
    )


async def describe_tool(box: Toolbox, inquiry: Inquiry) -> Findings:
    """What a tool takes: the one that the question names, or else the best that is found."""
    if inquiry.cues.names:
        named = described(await box.call(Call(DESCRIBE, {"names": list(inquiry.cues.names)})))
        if named.results:
            return named
    found = await find_tools(box, inquiry)
    if not found.subjects:
        return found
    return replace(described(await box.call(found.subjects[0].read)), relevance=found.relevance)


def described(outcome: Outcome) -> Findings:
    """What `describe_tools` has answered."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    items = [_details(row) for row in rows_of(outcome.data, "tools")]
    subjects = (Subject("tool", str(item["name"]), Call(DESCRIBE, {"names": [item["name"]]})) for item in items)
    return Findings(tuple(items), len(items), 1.0 if items else 0.0, subjects=tuple(subjects))


def _tool(row: Mapping[str, Any]) -> Item:
    item: Item = {"kind": "tool", "tool": FIND, "name": row.get("name"), "signature": row.get("signature")}
    item |= given({"relevance": row.get("score"), "why": row.get("why"), "write": row.get("write")})
    return item | {"next": {"tool": DESCRIBE, "arguments": {"names": [row.get("name")]}}}


def _details(row: Mapping[str, Any]) -> Item:
    about = {"title": row.get("title"), "description": shortened(str(row.get("description") or ""), _DESCRIPTION)}
    return {"kind": "tool_details", "tool": DESCRIBE, "name": row.get("name"), **given(about)} | given(
        {"input_schema": row.get("inputSchema"), "annotations": row.get("annotations")}
    )
