"""Serves `tools/call`: reads the request, has `calling` run the tool, and writes the result in the client's revision.

Invariant: what `calling` answers - blocks, structured content, error flag - reaches the client unchanged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from mcp import MCPError
from mcp.shared.inbound import validate_mcp_param_headers, x_mcp_header_map
from mcp_types import SERVER_INFO_META_KEY, CallToolRequestParams, CallToolResult, InputRequiredResult
from starlette.datastructures import Headers

from thresher.calling import Call, Client, Result
from thresher.core import JSON
from thresher.gateway.callers import client_name, current_caller, modern
from thresher.gateway.confirmation import client_confirm
from thresher.gateway.errors import answered
from thresher.gateway.peers import Context
from thresher.gateway.questions import QuestionRelay
from thresher.results import WHOLE_META
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig


class Calls:
    """Serves `tools/call`."""

    def __init__(self, services: Services, relay: QuestionRelay) -> None:
        self._services = services
        self._relay = relay

    async def __call__(self, context: Context, params: CallToolRequestParams) -> CallToolResult | dict[str, Any]:
        """Run one tool."""
        return await answered(self._run(context, params))

    async def _run(self, context: Context, params: CallToolRequestParams) -> dict[str, Any]:
        resumed = params.request_state is not None
        call = Call(params.name, params.arguments or {}, resumed, budget=_budget(params.meta or {}))
        client = McpClient(context, params, self._relay)
        result = await self._services.calling.call(current_caller(self._services), call, client)
        return _written(result, any_structure=modern(context))


def _budget(meta: Mapping[str, Any]) -> int | None:
    """The budget of the result that a request asks for in its `_meta`; None if it says nothing."""
    wish = meta.get(WHOLE_META)
    if wish == "whole":
        return 0
    return wish if isinstance(wish, int) and not isinstance(wish, bool) else None


@dataclass(frozen=True, slots=True)
class McpClient:
    """The client of one request, for `calling`.

    Attributes:
        context: The request.
        params: Its parameters, the state already opened.
        questions: Passes the questions of servers to it.
        peer: Who is asked in work that outlasts the request; None: the client of the request.
    """

    context: Context
    params: CallToolRequestParams
    questions: QuestionRelay
    peer: Peer | None = None

    @property
    def name(self) -> str:
        """See `Client.name`."""
        return client_name(self.context)

    def admit(self, schema: JSON) -> None:
        """Refuse a request whose `Mcp-Param-*` headers differ from its body (2026-07-28)."""
        headers: Headers | None = getattr(self.context.request, "headers", None)
        if self.params.arguments is None or headers is None or not modern(self.context) or not x_mcp_header_map(schema):
            return
        if (rejection := validate_mcp_param_headers(schema, self.params.arguments, headers)) is not None:
            raise MCPError(code=rejection.code, message=rejection.message, data=rejection.data)

    async def relay(self, config: ServerConfig, send: Callable[[Peer | None], Awaitable[Result]]) -> Result:
        """See `Client.relay`."""
        if self.peer is not None:
            return await send(self.peer)
        result = await self.questions.run(self.context, self.params, config, send)
        return question_of(result) if isinstance(result, InputRequiredResult) else result

    async def attended(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        """See `Client.attended`."""
        result = await self.questions.attended(self.context, self.params, lambda peer: work(replace(self, peer=peer)))
        return question_of(result) if isinstance(result, InputRequiredResult) else result

    async def confirm(self, question: str) -> bool | None:
        """See `Client.confirm`."""
        if self.peer is None and modern(self.context):
            return None  # the question would end the request, and the work with it
        return await client_confirm(self.context, self.peer)(question)


def question_of(required: InputRequiredResult) -> Result:
    """Return a request for input as a result."""
    return Result(required.model_dump(by_alias=True, exclude_none=True, mode="json"), asks=True)


def _written(result: Result, *, any_structure: bool) -> dict[str, Any]:
    """Return a result as the client reads it, without the upstream server's description of itself.

    Args:
        result: A tool's answer or question.
        any_structure: Whether structured content may be something other than an object (2026-07-28).
    """
    answer: dict[str, Any] = {**result.answer}
    if not result.asks:
        answer = {"content": [], **answer, "resultType": "complete"}
        if not any_structure and not isinstance(answer.get("structuredContent"), dict):
            answer.pop("structuredContent", None)
    meta = cast("Mapping[str, Any] | None", answer.pop("_meta", None)) or {}
    if others := {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY}:
        answer["_meta"] = others
    return answer
