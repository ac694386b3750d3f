"""The answer of a pack's tool: the whole record for programs, and texts for a model.

Invariant: every tool returns both, from the same record.
"""

from __future__ import annotations

from typing import Any

from fastmcp.tools import ToolResult
from mcp_types import TextContent

from thresher.core import one_line, plain


def result(record: Any, *texts: str) -> ToolResult:
    """Return a tool's answer.

    Args:
        record: The structured content.
        texts: What a model reads, one block each.
    """
    return ToolResult([TextContent(type="text", text=text) for text in texts], plain(record))


def removed_text(name: str) -> str:
    """Return what a model reads when something was removed."""
    return f"Removed '{one_line(name)}'."
