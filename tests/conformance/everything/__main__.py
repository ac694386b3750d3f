"""Serves the everything-server over streamable HTTP on loopback; prints its address as its first line."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from typing import Any

import uvicorn
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
    Tool,
)

from tests.conformance.everything.media import PNG
from tests.conformance.everything.questions import PROMPT_ROUND
from tests.conformance.everything.tools import BUS, CHANGES, HANDLERS, IMAGE, Answer, Context, embedded, text
from tests.support.waiting import eventually

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_header_argument": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}
TOOLS = [
    Tool(name=name, description=f"Conformance: {name}.", input_schema=SCHEMAS.get(name, NOTHING)) for name in HANDLERS
]
TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "Watched resource content",
}
RESOURCES = [
    Resource(uri=uri, name=uri.partition("//")[2], description="For testing", mime_type=kind)
    for uri, kind in (*((uri, "text/plain") for uri in TEXTS), ("test://static-binary", "image/png"))
]
TEMPLATE = ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", description="For testing", mime_type="application/json"
)


def _prompt(name: str, *arguments: str) -> Prompt:
    wanted = [PromptArgument(name=argument, description="For testing", required=True) for argument in arguments]
    return Prompt(name=name, description=f"Conformance: {name}.", arguments=wanted)


PROMPTS = [
    _prompt("test_simple_prompt"),
    _prompt("test_prompt_with_arguments", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "resourceUri"),
    _prompt("test_prompt_with_image"),
    _prompt("test_input_required_result_prompt"),
]


async def list_tools(*_: Any) -> ListToolsResult:
    """All tools, on one page."""
    more = [Tool(name="test_added", description="Comes and goes.", input_schema=NOTHING)]
    return ListToolsResult(tools=TOOLS + more * (CHANGES["tools"] % 2))


async def call_tool(context: Context, params: CallToolRequestParams) -> Answer:
    """Call one."""
    if params.name not in HANDLERS:
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {params.name}")
    return await HANDLERS[params.name](context, params)


async def list_resources(*_: Any) -> ListResourcesResult:
    """All fixed resources."""
    return ListResourcesResult(resources=RESOURCES)


async def list_templates(*_: Any) -> ListResourceTemplatesResult:
    """The one template."""
    return ListResourceTemplatesResult(resource_templates=[TEMPLATE])


async def read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read a fixed resource, or one of the template."""
    uri = str(params.uri)
    start, _, rest = uri.partition("test://template/")
    content: TextResourceContents | BlobResourceContents
    if uri in TEXTS:
        content = TextResourceContents(uri=uri, mime_type="text/plain", text=TEXTS[uri])
    elif uri == "test://static-binary":
        content = BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif not start and rest.endswith("/data"):
        identity = rest.removesuffix("/data")
        body = {"id": identity, "templateTest": True, "data": f"Data for ID: {identity}"}
        content = TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(body))
    else:
        raise MCPError(code=INVALID_PARAMS, message=f"Resource not found: {uri}", data={"uri": uri})
    return ReadResourceResult(contents=[content])


async def list_prompts(*_: Any) -> ListPromptsResult:
    """All prompts."""
    return ListPromptsResult(prompts=PROMPTS + [_prompt("test_added")] * (CHANGES["prompts"] % 2))


async def get_prompt(_: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    """One prompt's messages."""
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt" and not PROMPT_ROUND.answered(params):
        return PROMPT_ROUND.ask()
    said = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
    embedding = embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing.")
    blocks: dict[str, list[Any]] = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [text(said)],
        "test_prompt_with_embedded_resource": [embedding, text("Please process the embedded resource above.")],
        "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
        "test_input_required_result_prompt": [text("With your context.")],
    }
    if params.name not in blocks:
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
    return GetPromptResult(messages=[PromptMessage(role="user", content=block) for block in blocks[params.name]])


async def complete(_: Context, params: CompleteRequestParams) -> CompleteResult:
    """Words that begin so."""
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return CompleteResult(completion=Completion(values=words, total=len(words), has_more=False))


async def accept(*_: Any) -> EmptyResult:
    """Say yes to what changes nothing here."""
    return EmptyResult()


def build() -> Server[Any]:
    """The server with everything that the suite asks for."""
    warnings.simplefilter("ignore")  # the older era's capabilities are deprecated, and wanted here
    server: Server[Any] = Server(
        "everything",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=accept,
        cache_hints={method: CacheHint(ttl_ms=1000, scope="private") for method in CACHED},
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="everything"))
    return server


CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")


async def main(port: int) -> None:
    """Serve until the process is ended."""
    config = uvicorn.Config(build().streamable_http_app(), port=port, log_level="error", access_log=False)
    listening = uvicorn.Server(config)
    serving = asyncio.create_task(listening.serve())
    await eventually(lambda: listening.started)
    address = listening.servers[0].sockets[0].getsockname()
    print(f"http://127.0.0.1:{address[1]}/mcp", flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
