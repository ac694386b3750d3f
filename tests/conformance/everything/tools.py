"""The tools of the everything-server, by name.

Invariant: names and answers are those that the suite's own descriptions ask for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

from tests.conformance.everything.media import PNG, WAV
from tests.conformance.everything.questions import CAPABILITY_ROUND, ROUNDS, Round, put

Context: TypeAlias = ServerRequestContext[Any, Any]
Answer: TypeAlias = CallToolResult | InputRequiredResult
Handler: TypeAlias = Callable[[Context, CallToolRequestParams], Awaitable[Answer]]

PAUSE = 0.05
"""Seconds between reports, as the suite asks: a client must see them arrive one by one."""
BUS = InMemorySubscriptionBus()


def text(value: str) -> TextContent:
    """A block of text."""
    return TextContent(type="text", text=value)


def embedded(uri: str, kind: str, value: str) -> EmbeddedResource:
    """A resource inside an answer."""
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=value))


IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")
FIXED: Mapping[str, list[Any]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [text("ok")],
    "test_header_argument": [text("ok")],
}


async def _logging(context: Context, _: CallToolRequestParams) -> Answer:
    for number, line in enumerate(("Tool execution started", "Tool processing data", "Tool execution completed")):
        if number:
            await asyncio.sleep(PAUSE)
        await context.session.send_log_message("info", line, "everything", related_request_id=context.request_id)
    return CallToolResult(content=[text("Logged three lines.")])


async def _progress(context: Context, _: CallToolRequestParams) -> Answer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(PAUSE)
    return CallToolResult(content=[text("Reported three times.")])


async def _fail(_: Context, __: CallToolRequestParams) -> Answer:
    return CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


async def _sample(context: Context, params: CallToolRequestParams) -> Answer:
    prompt = SamplingMessage(role="user", content=text(str((params.arguments or {}).get("prompt", ""))))
    result = await context.session.create_message([prompt], max_tokens=100, related_request_id=context.request_id)
    said = result.content.text if isinstance(result.content, TextContent) else result.content.type
    return CallToolResult(content=[text(f"LLM response: {said}")])


def _elicits(label: str, schema: Mapping[str, Any]) -> Handler:
    async def elicit(context: Context, params: CallToolRequestParams) -> Answer:
        message = str((params.arguments or {}).get("message", "Please fill this in"))
        result = await context.session.elicit_form(message, dict(schema), related_request_id=context.request_id)
        return CallToolResult(content=[text(f"{label}: action={result.action}, content={result.content}")])

    return elicit


async def _missing_capability(context: Context, _: CallToolRequestParams) -> Answer:
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs the client's sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return CallToolResult(content=[text("The client can sample.")])


async def _capabilities(context: Context, params: CallToolRequestParams) -> Answer:
    declared = context.session.client_capabilities
    asked = {key: request for key, request in CAPABILITY_ROUND.items() if getattr(declared, key, None) is not None}
    return put([Round(asked)], params) if asked else CallToolResult(content=[text("Nothing can be asked.")])


CHANGES = {"tools": 0, "prompts": 0}
"""How often each list was changed; with every odd change it has one more entry."""


async def _tools_changed(context: Context, _: CallToolRequestParams) -> Answer:
    CHANGES["tools"] += 1
    await BUS.publish(ToolsListChanged())
    return CallToolResult(content=[text("Said that the tools changed.")])


async def _prompts_changed(context: Context, _: CallToolRequestParams) -> Answer:
    CHANGES["prompts"] += 1
    await BUS.publish(PromptsListChanged())
    return CallToolResult(content=[text("Said that the prompts changed.")])


async def _reconnection(context: Context, _: CallToolRequestParams) -> Answer:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(4 * PAUSE)
    return CallToolResult(content=[text("Came back.")])


STATES = ["active", "inactive", "pending"]
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": STATES, "description": "User status", "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    },
    "required": [],
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
    "required": [],
}
USER = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}


def _fixed(blocks: list[Any]) -> Handler:
    async def answer(_: Context, __: CallToolRequestParams) -> Answer:
        return CallToolResult(content=blocks)

    return answer


def _asks(name: str) -> Handler:
    async def answer(_: Context, params: CallToolRequestParams) -> Answer:
        return put(ROUNDS[name], params)

    return answer


HANDLERS: Mapping[str, Handler] = {
    **{name: _fixed(blocks) for name, blocks in FIXED.items()},
    **{name: _asks(name) for name in ROUNDS},
    "test_input_required_result_capabilities": _capabilities,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_error_handling": _fail,
    "test_sampling": _sample,
    "test_elicitation": _elicits("User response", USER),
    "test_elicitation_sep1034_defaults": _elicits("Elicitation completed", DEFAULTS),
    "test_elicitation_sep1330_enums": _elicits("Elicitation completed", ENUMS),
    "test_missing_capability": _missing_capability,
    "test_trigger_tool_change": _tools_changed,
    "test_trigger_prompt_change": _prompts_changed,
    "test_reconnection": _reconnection,
}
