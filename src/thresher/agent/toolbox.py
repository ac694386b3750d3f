"""Calls the tools that a client sees, through that client alone.

Invariant: arguments that a tool's schema does not allow are never sent; whatever a tool does, the answer is an outcome
and no exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jsonschema_rs
from fastmcp import Client
from mcp import MCPError
from mcp_types import CallToolResult, Tool

from thresher.agent.records import Call

CALL_SECONDS: Final = 20.0
"""How long a tool may take before the answer goes out without it."""
_RULES: Final = "thresher/rules"
"""In the `_meta` of an answer that holds a pack's rules in place of a result: the call is to be made once more."""
_PROBLEM_CHARACTERS: Final = 400


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended.

    Attributes:
        call: What was called.
        data: The answer's structured content; empty where there is none.
        text: The answer's text.
        problem: Why there is no answer; empty where there is one.
    """

    call: Call
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    problem: str = ""


class Toolbox:
    """The tools of one client.

    Args:
        client: Calls them.
        tools: As `tools/list` gave them.

    Attributes:
        called: Names of the tools that were called, each once, in order.
    """

    def __init__(self, client: Client[Any], tools: Mapping[str, Tool]) -> None:
        self._client = client
        self._tools = tools
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        self.called: dict[str, None] = {}

    @classmethod
    async def of(cls, client: Client[Any]) -> Toolbox:
        """The tools that a client sees now."""
        return cls(client, {tool.name: tool for tool in await client.list_tools()})

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    async def call(self, call: Call) -> Outcome:
        """Call a tool; one that is not there, or does not take the arguments, is not called."""
        if (wrong := self._wrong(call)) or (tool := self._tools.get(call.tool)) is None:
            return Outcome(call, problem=wrong or f"There is no tool {call.tool}.")
        self.called[tool.name] = None
        try:
            async with asyncio.timeout(CALL_SECONDS):
                result = await self._client.call_tool_mcp(tool.name, dict(call.arguments))
                if _RULES in (result.meta or {}):
                    result = await self._client.call_tool_mcp(tool.name, dict(call.arguments))
        except TimeoutError:
            return Outcome(call, problem=f"{tool.name} did not answer within {CALL_SECONDS:g} s.")
        except MCPError as error:
            return Outcome(call, problem=f"{tool.name}: {error.message[:_PROBLEM_CHARACTERS]}")
        return _outcome(call, result)

    def _wrong(self, call: Call) -> str:
        """What a tool's schema says against arguments; empty where nothing."""
        if (tool := self._tools.get(call.tool)) is None:
            return ""
        if (validator := self._validators.get(tool.name)) is None:
            try:
                validator = self._validators[tool.name] = jsonschema_rs.validator_for(tool.input_schema)
            except ValueError as error:
                return f"{call.tool} was not called, for its schema is broken: {str(error)[:_PROBLEM_CHARACTERS]}"
        error = next(iter(validator.iter_errors(dict(call.arguments))), None)
        if error is None:
            return ""
        place = "".join(f" in {step}" for step in error.instance_path)
        return f"{call.tool} was not called, for it does not take these arguments{place}: {error.message}."


def _outcome(call: Call, result: CallToolResult) -> Outcome:
    text = "\n".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        return Outcome(call, problem=" ".join(text.split())[:_PROBLEM_CHARACTERS] or f"{call.tool} failed.")
    return Outcome(call, result.structured_content or {}, text)
