"""Calls tools as a client of the gateway does; where the rules of a pack come first, it calls again.

Invariant: a failed call is a result that says so, never an exception.
"""

from __future__ import annotations

import json
import time
from typing import Any

from fastmcp import Client
from mcp_types import CallToolResult

from thresher.calling import RULES_META
from thresher.demo.messages import LocalCall
from thresher.demo.report import Called
from thresher.embedding import count_tokens

_ANSWER_LINES = 13
_ANSWER_CHARACTERS = 800


def definition_tokens(tool: Any) -> int:
    """Tokens of a listed tool, counted as all definitions are: name, description, input schema, no white space."""
    whole = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
    kept = {name: whole.get(name) for name in ("name", "description", "inputSchema")}
    return count_tokens(json.dumps(kept, ensure_ascii=False, separators=(",", ":")))


async def call_tool(client: Client[Any], call: LocalCall) -> Called:
    """Call one tool through the gateway's `call_tool`."""
    arguments = {"name": f"{call.server}_{call.tool}", "arguments": dict(call.arguments)}
    began = time.perf_counter()
    result = await client.call_tool_mcp("call_tool", arguments)
    rules, tokens = _rules(result), 0
    if rules:
        tokens, began = count_tokens(_text(result)), time.perf_counter()
        result = await client.call_tool_mcp("call_tool", arguments)
    milliseconds = (time.perf_counter() - began) * 1000
    return Called(call, beginning(_text(result)), result.is_error, milliseconds, rules, tokens)


def _rules(result: CallToolResult) -> tuple[str, ...]:
    """The packs whose rules came in place of an answer."""
    return tuple((result.meta or {}).get(RULES_META) or ())


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def beginning(text: str) -> str:
    """The first lines of an answer; JSON in one line."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        text = "\n".join(line for line in text.splitlines() if line.strip())
    kept = "\n".join(text.splitlines()[:_ANSWER_LINES])[:_ANSWER_CHARACTERS]
    return kept if kept == text else f"{kept.rstrip()} ..."
