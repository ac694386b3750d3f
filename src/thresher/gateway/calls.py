"""Serves `tools/call`: the gateway's own tools, and upstream tools, by way of `call_tool` or under their exposed names.

Invariant: what an upstream tool answers - blocks, structured content, error flag - reaches the client unchanged, but
for addresses, which are made to lead back through the gateway. Nothing here grows with the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping
from typing import Any, cast

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.inbound import validate_mcp_param_headers, x_mcp_header_map
from mcp_types import (
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    TextContent,
)
from mcp_types.methods import is_input_required
from starlette.datastructures import Headers

from thresher.context import prompt_data
from thresher.core import JSON, InvalidInput, NotFound, Said, current_trace, event
from thresher.gateway.arguments import own_arguments
from thresher.gateway.asking import Asking
from thresher.gateway.callers import current_caller
from thresher.gateway.coerce import check, coerce
from thresher.gateway.errors import answered
from thresher.gateway.guard import RulesFirst
from thresher.gateway.meta import SCHEMAS, schema_of
from thresher.gateway.packs import PackTools
from thresher.gateway.peers import modern
from thresher.gateway.render import describe_content, describe_text, find_content, find_text, taught
from thresher.gateway.statements import guarded_call
from thresher.knowledge.tools import SCHEME, Resolved, line, thread_meta
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

logger = logging.getLogger("thresher.gateway")

RULES_FIRST = "rules first"
"""How a call ends that was answered with the rules of its pack; it was not run."""
_WRITES = {
    False: "may change something",
    True: "may change something: its server claims otherwise, and nobody has marked it as trusted",
}
"""Why a tool is not for `call_tool`, by whether its server claims that it is."""


class Calls:
    """Serves `tools/call`."""

    def __init__(self, services: Services, asking: Asking, packs: PackTools, rules: RulesFirst) -> None:
        self._services = services
        self._asking = asking
        self._packs = packs
        self._rules = rules

    async def __call__(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Run one tool."""
        return await answered(self._run(context, params))

    async def _run(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        name, arguments = params.name, params.arguments or {}
        if name not in SCHEMAS:
            return await self._upstream(context, params, name, arguments, None)
        schema = schema_of(name, self._services.settings)
        given = own_arguments(name, arguments, schema, lambda: f"{name}({', '.join(schema['properties'])})")
        if name in ("process_prompt", "get_context"):
            return await self._enriched(name, given)
        if name == "find_tools":
            return await self._find(given)
        if name == "describe_tools":
            found = await self._services.tools.describe_tools(current_caller(self._services), given["names"])
            return _result(describe_text(found), describe_content(found))
        return await self._upstream(context, params, given["name"], given.get("arguments") or {}, name == "call_tool")

    async def _enriched(self, name: str, given: dict[str, Any]) -> CallToolResult:
        caller, context = current_caller(self._services), self._services.context
        if name == "process_prompt":
            prompt = await context.process_prompt(caller, **given)
            return _result(prompt.text, prompt_data(prompt))
        pack = await context.get_context(caller, **given)
        return _result(pack.text, dict(pack.data))

    async def _find(self, given: dict[str, Any]) -> CallToolResult:
        caller, tools = current_caller(self._services), self._services.tools
        if not given.get("queries") and not given.get("message", "").strip():
            return _result(*taught(await tools.overview(caller), current_trace()))
        result = await tools.find_tools(caller, **given)
        names = [tool.name for tool in result.tools]
        definitions = (await tools.describe_tools(caller, names)).tools if names else ()
        readers = frozenset(one.name for one in definitions if one.tool.annotations.get("readOnlyHint") is True)
        return _result(find_text(result, readers), find_content(result, readers))

    async def _upstream(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        name: str,
        arguments: JSON,
        reading: bool | None,
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Call an upstream tool; `reading` says which of the two meta-tools it came by, None that it was neither."""
        call, state = _Call(self._services, name, any_structure=modern(context)), "failed"
        caller = current_caller(self._services)
        try:
            packs = await self._packs.ready(caller)
            resolved = await call.resolve(reading)
            going_on = params.request_state is not None
            if not going_on and (rules := await self._rules.look(caller, packs, name, resolved)) is not None:
                state = RULES_FIRST
                return rules
            fitted = call.fitted(resolved, arguments)
            _same_headers(context, resolved.tool.input_schema, params.arguments if reading is None else None)
            answer = await self._answer(context, params, call, resolved, fitted)
            state = _ended(answer)
            return answer
        except asyncio.CancelledError:
            state = "cancelled"
            raise
        finally:
            if state:
                call.note(state)

    async def _answer(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        call: _Call,
        resolved: Resolved,
        arguments: JSON,
    ) -> InputRequiredResult | dict[str, Any]:
        """Have a tool run where it runs: on its server, or here."""
        if (config := resolved.config) is None:
            return await self._packs.run(context, current_caller(self._services), resolved, arguments)
        tool, caller = resolved.tool.name, current_caller(self._services)

        def send() -> Awaitable[InputRequiredResult | dict[str, Any]]:
            return self._asking.run(context, params, config, lambda peer: call.send(config, tool, arguments, peer))

        return await guarded_call(self._services.audit, caller, context, config, tool, arguments, send)


class _Call:
    """One call of an upstream tool, and what is noted of it at its end."""

    def __init__(self, services: Services, name: str, *, any_structure: bool) -> None:
        self._services = services
        self._name = name
        self._any_structure = any_structure
        self._started = time.perf_counter()
        self._tool_id: int | None = None

    async def resolve(self, reading: bool | None) -> Resolved:
        """The tool, if it may be called so."""
        try:
            resolved = await self._services.tools.resolve(current_caller(self._services), self._name)
        except NotFound:
            if reading is None or self._name not in SCHEMAS:
                raise
            through = "call_tool" if reading else "call_tool_write"
            raise InvalidInput(
                f"'{self._name}' is called directly, not through {through}.", hint="Call it with the same arguments."
            ) from None
        self._tool_id = resolved.id
        if reading is not None and resolved.read_only != reading:
            does = "only reads" if resolved.read_only else _WRITES[resolved.claims]
            other = "call_tool" if resolved.read_only else "call_tool_write"
            raise InvalidInput(f"'{self._name}' {does}.", hint=f"Run it with {other}, same arguments.")
        return resolved

    def fitted(self, resolved: Resolved, arguments: JSON) -> JSON:
        """The arguments as the tool's schema wants them."""
        schema = resolved.tool.input_schema
        if resolved.config is None:
            return own_arguments(self._name, arguments, schema, lambda: self._signature(resolved))
        fitted = coerce(arguments, schema)
        if logger.isEnabledFor(logging.DEBUG):
            event(logger, "call_arguments", level=logging.DEBUG, tool=self._name, arguments=Said(fitted))
        check(fitted, schema, lambda: self._signature(resolved))
        return fitted

    def _signature(self, resolved: Resolved) -> str:
        return line(self._name, resolved.tool).partition(" - ")[0]

    async def send(self, config: ServerConfig, tool: str, arguments: JSON, peer: Peer) -> dict[str, Any]:
        """Call the tool of an upstream server."""
        meta = thread_meta(config)
        outcome = await self._services.upstreams.call_tool(config, tool, arguments, peer=peer, meta=meta)
        if outcome.asks:
            return _kept(cast("JSON", outcome.raw))
        prefix = f"{SCHEME}{config.name}/" if config.prefix else ""
        return _passed_on(cast("JSON", outcome.raw), prefix, any_structure=self._any_structure)

    def note(self, state: str) -> None:
        """Log the call and how it ended, without its arguments."""
        caller = current_caller(self._services)
        milliseconds = round((time.perf_counter() - self._started) * 1000, 2)
        self._services.tools.calls.add(
            caller,
            name=self._name,
            tool_id=self._tool_id,
            state=state,
            duration_ms=milliseconds,
            trace_id=current_trace(),
        )
        # A name that no tool has is whatever the caller wrote.
        name = Said(self._name) if self._tool_id is None else self._name
        event(logger, "call_tool", tenant=caller.tenant.id, tool=name, state=state, ms=milliseconds)


def _ended(answer: InputRequiredResult | dict[str, Any]) -> str:
    """How a call has ended; empty for a question, which is no end: the request that brings the answer is noted."""
    if is_input_required(answer):
        return ""
    return "tool error" if cast("JSON", answer).get("isError") else "ok"


def _passed_on(answer: Mapping[str, Any], prefix: str, *, any_structure: bool) -> dict[str, Any]:
    """A server's answer as it came, under our name for it.

    Args:
        answer: The result, as JSON.
        prefix: What its addresses get, so that a client can follow them by way of the gateway.
        any_structure: Whether structured content may be other than an object (2026-07-28).
    """
    passed: dict[str, Any] = {"content": [], **answer, "resultType": "complete"}
    if prefix:
        passed["content"] = [_reachable(block, prefix) for block in passed["content"]]
    if not any_structure and not isinstance(passed.get("structuredContent"), dict):
        passed.pop("structuredContent", None)
    return _kept(passed)


def _kept(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without what its server says about itself: towards the client we are the server."""
    kept = {**answer}
    meta = cast("Mapping[str, Any] | None", kept.pop("_meta", None)) or {}
    if others := {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY}:
        kept["_meta"] = others
    return kept


def _reachable(block: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {**block, "uri": f"{prefix}{block['uri']}"} if block.get("type") == "resource_link" else block


def _same_headers(context: ServerRequestContext[Any, Any], schema: JSON, arguments: JSON | None) -> None:
    """Refuse a request whose `Mcp-Param-*` headers say other than its body (2026-07-28)."""
    headers: Headers | None = getattr(context.request, "headers", None)
    if arguments is None or headers is None or not modern(context) or not x_mcp_header_map(schema):
        return
    if (rejection := validate_mcp_param_headers(schema, arguments, headers)) is not None:
        raise MCPError(code=rejection.code, message=rejection.message, data=rejection.data)


def _result(text: str, structured: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)
