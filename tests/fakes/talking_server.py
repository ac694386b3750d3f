"""A server that talks back: asks, logs, reports progress, and offers resources and prompts; made with the library.

Usage: talking_server.py legacy|dual [NOTES [http]]: the handshake era alone or both; NOTES gets a line for some calls.
Over stdio; with `http` over streamable HTTP on loopback, and its first line is the address.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server

MODE = sys.argv[1]
NOTES = Path(sys.argv[2]) if len(sys.argv) > 2 else None
HTTP = sys.argv[3:] == ["http"]
FORM = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
READS = types.ToolAnnotations(read_only_hint=True)
NAMES = ("pay", "visit", "think", "talk", "wait", "touch", "rich", "demand")
PIXEL = "iVBORw0KGgo="
Context = ServerRequestContext[Any, Any]
Texts = list[types.TextContent]


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {"for": {"type": "string"}}}
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=f"Does {name}.", input_schema=schema, annotations=READS) for name in NAMES
        ]
    )


def form(whom: str) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=f"Pay for {whom}?", requested_schema=FORM))


async def pay(ctx: Context, params: types.CallToolRequestParams, whom: str) -> Any:
    if NOTES is not None:
        with NOTES.open("a", encoding="utf-8") as file:
            file.write(f"{ctx.protocol_version}\n")
    if ctx.protocol_version < "2026":
        answer = await ctx.session.elicit_form(f"Pay for {whom}?", FORM, ctx.request_id)
    elif params.input_responses is None:
        return types.InputRequiredResult(input_requests={"sure": form(whom)}, request_state=f"paying {whom}")
    else:
        answer = params.input_responses["sure"]
        assert params.request_state == f"paying {whom}"
    return said(f"{whom}: {answer.action} {answer.content}")


async def think(ctx: Context) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Think."))
    answer = await ctx.session.create_message([message], max_tokens=10, related_request_id=ctx.request_id)
    return said(f"thought: {answer.content.text}")


async def talk(ctx: Context) -> Any:
    for step in (1, 2):
        await ctx.session.report_progress(step, 2, f"step {step}")
    await ctx.session.send_log_message("info", "a word", "talker", ctx.request_id)
    await ctx.session.send_log_message("error", "a loud word", "talker", ctx.request_id)
    return said("talked")


async def wait() -> Any:
    try:
        await anyio.sleep_forever()
    finally:
        if NOTES is not None:
            with NOTES.open("a", encoding="utf-8") as file:
                file.write("cancelled\n")


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    whom = (params.arguments or {}).get("for", "nobody")
    match params.name:
        case "pay":
            return await pay(ctx, params, whom)
        case "visit":
            answer = await ctx.session.elicit_url("Go there.", "https://pay.example/1", "e1", ctx.request_id)
            return said(f"visited: {answer.action}")
        case "think":
            return await think(ctx)
        case "talk":
            return await talk(ctx)
        case "demand":
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", needed)
        case "wait":
            return await wait()
        case "touch":
            await ctx.session.send_resource_updated("memo://a")
            return said("touched")
    blocks = [
        types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        types.ResourceLink(type="resource_link", uri="memo://a", name="a"),
        types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri="memo://a", text="body")),
    ]
    return types.CallToolResult(content=blocks, structured_content={"kind": "rich"})


async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[types.Resource(uri=f"memo://{name}", name=name, mime_type="text/plain") for name in ("b", "a")]
    )


async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    templates = {"memo": "memo://{name}", "odd": "odd://{+a}/{+b}"}  # no library takes the second apart
    made = [types.ResourceTemplate(uri_template=template, name=name) for name, template in templates.items()]
    return types.ListResourceTemplatesResult(resource_templates=made)


async def read(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    contents = types.TextResourceContents(uri=params.uri, text=f"text of {params.uri}")
    return types.ReadResourceResult(contents=[contents])


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="name", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", description="Greets.", arguments=[argument])])


async def prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    text = types.TextContent(type="text", text=f"Hello {(params.arguments or {}).get('name')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    of = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
    return types.CompleteResult(completion=types.Completion(values=[f"{of} {params.argument.value}x"]))


async def nothing(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


server = Server(
    "talking",
    version="1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read,
    on_list_prompts=list_prompts,
    on_get_prompt=prompt,
    on_completion=complete,
    on_subscribe_resource=nothing,
    on_unsubscribe_resource=nothing,
    on_set_logging_level=nothing,
)


async def over_http() -> None:
    app = server.streamable_http_app()

    async def of_one_era(scope: Any, receive: Any, send: Any) -> None:
        newest = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"") > b"2026"
        if not newest or MODE != "legacy":
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    listening = uvicorn.Server(uvicorn.Config(of_one_era, port=0, log_level="error"))
    serving = asyncio.create_task(listening.serve())
    while not listening.started:
        await asyncio.sleep(0.01)
    print(f"http://127.0.0.1:{listening.servers[0].sockets[0].getsockname()[1]}/mcp", flush=True)
    await serving


async def main() -> None:
    async with stdio_server() as (read_stream, write_stream):
        if MODE == "legacy":
            await serve_loop(server, read_stream, write_stream, lifespan_state={})
        else:
            await server.run(read_stream, write_stream, server.create_initialization_options())


if HTTP:
    asyncio.run(over_http())
else:
    anyio.run(main)
