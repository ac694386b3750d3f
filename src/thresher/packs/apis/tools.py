"""The tools of APIs: the verbs of the APIs kind, and how their answers read for a model.

Invariant: a model reads the contents of a description as data between lines of ours; programs get the whole record as
structured content.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from annotated_types import Ge, Le
from fastmcp.tools import ToolResult, tool
from mcp_types import ToolAnnotations
from typing_extensions import Doc

from thresher.context import Situation
from thresher.knowledge.apis import ApiReply, EndpointAnswer, Improvements, PatchForm, Provider
from thresher.packs import current
from thresher.packs.operations import (
    BORDERS,
    endpoint_text,
    endpoints_text,
    findings_text,
    patch_text,
    providers_text,
    reply_text,
    report_text,
    usage_text,
)
from thresher.packs.results import removed_text, result
from thresher.packs.verbs import tool_of
from thresher.verbs import APIS, Request

PREFIX = False
_SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
LISTED = (
    *("search_api_docs", "get_api_endpoint", "list_api_providers", "analyze_api_usage", "suggest_api_improvements"),
    *("call_api_endpoint", "call_api_endpoint_write"),
    *("add_api", "sync_api", "enable_api", "disable_api", "remove_api"),
)

_ENDPOINT, _IMPROVEMENTS = APIS["get_api_endpoint"], APIS["suggest_api_improvements"]
_CALL = APIS["call_api_endpoint"]
_BUDGET, _LIMIT = _ENDPOINT.parameters["budget"], _IMPROVEMENTS.parameters["limit"]


_BAD = 400
"""Status from which an answer of an API is an error."""
_REPLY_BUDGET = replace(
    _CALL.parameters["budget"],
    annotation=Annotated[int, Ge(0), Le(100_000), Doc("Most tokens of the answer's body; 0: those of the call")],
    default=0,
)
_NOT_FOR_MODELS = ("effect", "timeout", "version", "operation_id")


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Return whether there is an API, or the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.apis.sees_any(situation.caller)


def _endpoint(answer: EndpointAnswer, budget: int) -> ToolResult:
    return result(replace(answer, budget=budget), endpoint_text(answer))


def _improvements(answer: Improvements, format: str, patch: PatchForm) -> ToolResult:  # noqa: A002 - the verb's names
    texts = [findings_text(answer) if format == "json" else report_text(answer)]
    return result(answer, *texts, *([patch_text(answer.patch, patch)] if patch != "none" else []))


def _reply(answer: ApiReply) -> ToolResult:
    shown = result(answer, reply_text(answer))
    shown.is_error = answer.status >= _BAD
    return shown


def _changed_text(provider: Provider) -> str:
    return providers_text((provider,))


search_api_docs = tool_of(APIS["search_api_docs"], endpoints_text)
get_api_endpoint = tool_of(
    _ENDPOINT,
    _endpoint,
    instead=(replace(_BUDGET, annotation=Annotated[_BUDGET.annotation, Ge(200)]),),
    adjust=lambda given: {**given, "budget": given["budget"] - BORDERS},
)
call_api_endpoint = tool_of(
    _CALL,
    _reply,
    without=_NOT_FOR_MODELS,
    instead=(_REPLY_BUDGET,),
    adjust=lambda given: {**given, "effect": "read"},
    summary="Call an operation of an HTTP API that only reads (GET); wrong arguments are refused before it is sent.",
    hints=ToolAnnotations(read_only_hint=True, open_world_hint=True),
)
call_api_endpoint_write = tool_of(
    _CALL,
    _reply,
    without=_NOT_FOR_MODELS,
    instead=(_REPLY_BUDGET,),
    adjust=lambda given: {**given, "effect": "write"},
    name="call_api_endpoint_write",
    summary="Call an operation of an HTTP API that may change something (POST, PUT, PATCH, DELETE).",
    hints=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
)
list_api_providers = tool_of(APIS["list_api_providers"], providers_text)
analyze_api_usage = tool_of(APIS["analyze_api_usage"], usage_text)
suggest_api_improvements = tool_of(
    _IMPROVEMENTS,
    _improvements,
    instead=(
        replace(_LIMIT, annotation=Annotated[_LIMIT.annotation, Le(200)], default=20),
        replace(_IMPROVEMENTS.parameters["format"], default="markdown"),
    ),
    adjust=lambda given: {**given, "format": "json"},  # the page is already among the texts
)
add_api = tool_of(APIS["add_api"], _changed_text, without=("replace",))
sync_api = tool_of(APIS["sync_api"], _changed_text)


async def _switched(provider: str, *, active: bool) -> ToolResult:
    request = current()
    asked = Request(request.services, request.caller)
    switched = await APIS["set_api_active"].run(asked, {"provider": provider, "active": active})
    return result(switched, _changed_text(switched))


@tool(annotations=_SETS, tags={"admin"})
async def enable_api(provider: str) -> ToolResult:
    """Let an API be found again."""
    return await _switched(provider, active=True)


@tool(annotations=_SETS, tags={"admin"})
async def disable_api(provider: str) -> ToolResult:
    """Keep an API, but let nobody find it."""
    return await _switched(provider, active=False)


remove_api = tool_of(APIS["remove_api"], removed_text)
