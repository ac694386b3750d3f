"""Calls tools for the assistant, through `calling`.

Invariant: arguments that a tool's schema does not allow are never sent; whatever a tool does, the result is an answer
and not an exception.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jsonschema_rs

from thresher.agent.assistant.records import AssistantCall
from thresher.calling import RULES_META, Call, Calling, Result
from thresher.core import JSON, Caller, CallerText, ThresherError, event, traced

logger = logging.getLogger("thresher.agent")

CALL_SECONDS: Final = 20.0
"""How long a tool may take before the answer is given without it."""
_PROBLEM_CHARACTERS: Final = 400
_ENDING_SECONDS: Final = 1.0
"""How long a cancelled call may take to end."""
_UNFORESEEN: Final = "Something went wrong inside Thresher. Its log tells more under this trace id."


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """How a call ended.

    Attributes:
        call: The call.
        data: The answer's structured content; may be empty.
        text: The answer's text.
        problem: The reason for a missing answer; otherwise empty.
    """

    call: AssistantCall
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    problem: str = ""


class Toolbox:
    """The tools that a caller sees.

    Args:
        calling: Runs them.
        caller: The caller.
        schemas: Their input schemas, by name.

    Attributes:
        called: Names of the tools that were called, each once, in order.
    """

    def __init__(self, calling: Calling, caller: Caller, schemas: Mapping[str, JSON]) -> None:
        self._calling = calling
        self._caller = caller
        self._schemas = schemas
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        self.called: dict[str, None] = {}

    @classmethod
    async def of(cls, calling: Calling, caller: Caller) -> Toolbox:
        """Return the tools that a caller sees now."""
        await calling.ready(caller)
        listed = await calling.listed(caller, "own")
        own = {tool.name: tool.input_schema for tool in calling.own}
        return cls(calling, caller, own | {one.name: one.tool.input_schema for one in listed})

    def __contains__(self, name: str) -> bool:
        return name in self._schemas

    async def call(self, call: AssistantCall) -> ToolAnswer:
        """Call a tool; one that does not exist, or does not accept the arguments, is not called."""
        if call.tool not in self._schemas:
            return ToolAnswer(call, problem=f"There is no tool {call.tool}.")
        if wrong := self._wrong(call):
            return ToolAnswer(call, problem=wrong)
        self.called[call.tool] = None
        answer = await run_tool(self._calling, self._caller, call.tool, call.arguments, CALL_SECONDS)
        if isinstance(answer, Result) and RULES_META in answer.meta:
            answer = await run_tool(self._calling, self._caller, call.tool, call.arguments, CALL_SECONDS)
        return _outcome(call, answer)

    def _wrong(self, call: AssistantCall) -> str:
        """Return the schema's objection to the arguments; empty without one."""
        if (validator := self._validators.get(call.tool)) is None:
            try:
                validator = self._validators[call.tool] = jsonschema_rs.validator_for(dict(self._schemas[call.tool]))
            except ValueError as error:
                return f"{call.tool} was not called, for its schema is broken: {str(error)[:_PROBLEM_CHARACTERS]}"
        error = next(iter(validator.iter_errors(dict(call.arguments))), None)
        if error is None:
            return ""
        place = "".join(f" in {step}" for step in error.instance_path)
        return f"{call.tool} was not called, for it does not take these arguments{place}: {error.message}."


async def run_tool(
    calling: Calling, caller: Caller, name: str, arguments: Mapping[str, Any], seconds: float
) -> Result | str:
    """Call a tool. One that does not end when it is cancelled is left behind.

    Returns:
        The answer of the tool, or the reason for a missing one.
    """
    call = asyncio.create_task(_answer(calling, caller, Call(name, dict(arguments), budget=0)))
    try:
        await asyncio.wait([call], timeout=seconds)
    finally:
        if not call.done():
            call.cancel()
            await asyncio.wait([call], timeout=_ENDING_SECONDS)
    return call.result() if call.done() and not call.cancelled() else f"{name} did not answer within {seconds:g} s."


async def _answer(calling: Calling, caller: Caller, call: Call) -> Result | str:
    with traced() as trace:
        try:
            result = await calling.call(caller, call)
        except ThresherError as error:
            event(logger, "refused", code=error.code, message=CallerText(error.message))
            return Result.of(f"{error} [trace {trace}]", is_error=True)
        except Exception as error:  # a model's answer must not fail because of a tool
            logger.error("unforeseen", exc_info=error, extra={"fields": {"kind": type(error).__name__}})
            return Result.of(f"{_UNFORESEEN} [trace {trace}]", is_error=True)
    return f"{call.name} could not be called: it asks its client for input." if result.asks else result


def _outcome(call: AssistantCall, result: Result | str) -> ToolAnswer:
    if isinstance(result, str):
        return ToolAnswer(call, problem=result[:_PROBLEM_CHARACTERS])
    if result.is_error:
        return ToolAnswer(call, problem=" ".join(result.text.split())[:_PROBLEM_CHARACTERS] or f"{call.tool} failed.")
    return ToolAnswer(call, result.structured, result.text)
