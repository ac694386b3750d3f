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
RULES: Final = "thresher/rules"
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
        answer = await send(self._client, tool.name, call.arguments, CALL_SECONDS)
        if isinstance(answer, CallToolResult) and RULES in (answer.meta or {}):
            answer = await send(self._client, tool.name, call.arguments, CALL_SECONDS)
        return _outcome(call, answer)

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


async def send(client: Client[Any], name: str, arguments: Mapping[str, Any], seconds: float) -> CallToolResult | str:
    """Call a tool by a client, whatever becomes of it.

    Returns:
        What the tool answered, or why there is no answer.
    """
    try:
        async with asyncio.timeout(seconds):
            return await client.call_tool_mcp(name, dict(arguments))
    except TimeoutError:
        return f"{name} did not answer within {seconds:g} s."
    except MCPError as error:
        return f"{name}: {error.message}"
    except RuntimeError as error:  # a tool that asks back, or a result that is none
        return f"{name} could not be called: {error}"


def _outcome(call: Call, result: CallToolResult | str) -> Outcome:
    if isinstance(result, str):
        return Outcome(call, problem=result[:_PROBLEM_CHARACTERS])
    text = "\n".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        return Outcome(call, problem=" ".join(text.split())[:_PROBLEM_CHARACTERS] or f"{call.tool} failed.")
    return Outcome(call, result.structured_content or {}, text)
