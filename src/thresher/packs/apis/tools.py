"""The tools of APIs: thin functions around the verbs of the APIs kind.

Invariant: what a model reads of a description stands as data between lines of ours; programs find the whole record as
structured content.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastmcp.tools import ToolResult, tool
from pydantic import Field

from thresher.context import Situation
from thresher.knowledge.apis import (
    DEFAULT_BUDGET,
    DEFAULT_LIMIT,
    LIMIT_CAP,
    FeedbackType,
    PatchForm,
    Provider,
    TimeRange,
    in_form,
)
from thresher.openapi import Severity
from thresher.packs import current
from thresher.packs.operations import (
    BORDERS,
    endpoint_text,
    endpoints_text,
    findings_text,
    patch_text,
    providers_text,
    report_text,
    usage_text,
)
from thresher.packs.results import result

PREFIX = False
LISTED = (
    *("search_api_docs", "get_api_endpoint", "list_api_providers", "analyze_api_usage", "suggest_api_improvements"),
    *("add_api", "sync_api", "enable_api", "disable_api", "remove_api"),
)

_PATCH_CHARACTERS = 60_000
"""Of a patch in an answer to a model; a larger one is for a program or a person."""
_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True}
_SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_REMOVES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}

Names = Annotated[list[str], Field(description="Of providers; those that the query names unless given")]
Cursor = Annotated[str, Field(description="Of the last answer: what it left out")]
OneProvider = Annotated[str, Field(description="A provider's name, such as jira; all unless given")]
Version = Annotated[str, Field(description="Label of one of the provider's versions")]


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is an API to ask about, or where the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.apis.sees_any(situation.caller)


@tool(annotations=_READS)
async def search_api_docs(
    query: Annotated[str, Field(description="What shall be done, in any words; empty lists a provider's tags")] = "",
    providers: Names = [],  # noqa: B006 - never changed
    methods: Annotated[list[str], Field(description="HTTP methods; all unless given")] = [],  # noqa: B006 - as above
    tags: Annotated[list[str], Field(description="Only operations of these tags; * lists those of all")] = [],  # noqa: B006 - as above
    limit: Annotated[int, Field(ge=1, le=LIMIT_CAP)] = DEFAULT_LIMIT,
    cursor: Cursor = "",
    rerank: Annotated[bool, Field(description="Slower, reads the best candidates closely")] = False,
) -> ToolResult:
    """Operations of HTTP APIs (REST endpoints) that do what is asked for, best first, with how each is used."""
    request = current()
    found = await request.services.apis.search(
        request.caller,
        query,
        providers=providers,
        methods=methods,
        tags=tags,
        limit=limit,
        cursor=cursor,
        rerank=rerank,
    )
    return result(found, endpoints_text(found))


@tool(annotations=_READS)
async def get_api_endpoint(
    endpoint_id: Annotated[str, Field(description="op_..., from search_api_docs")] = "",
    provider: Annotated[str, Field(description="With method and path, or with operation_id")] = "",
    method: str = "",
    path: Annotated[str, Field(description="Such as /users/{id}, or with values filled in")] = "",
    operation_id: Annotated[str, Field(description="As the description names it")] = "",
    version: Version = "",
    budget: Annotated[int, Field(ge=200, le=100_000, description="Most tokens of the answer")] = DEFAULT_BUDGET,
) -> ToolResult:
    """One operation in full: parameters, request and answers with examples, sign-in, schemas, curl and Python."""
    request = current()
    answer = await request.services.apis.endpoint(
        request.caller,
        endpoint_id,
        provider=provider,
        method=method,
        path=path,
        operation_id=operation_id,
        version=version,
        budget=budget - BORDERS,
    )
    return result(replace(answer, budget=budget), endpoint_text(answer))


@tool(annotations=_READS)
async def list_api_providers() -> ToolResult:
    """The APIs that are known: names, aliases, versions, how many operations, whether switched on."""
    request = current()
    found = await request.services.apis.list_providers(request.caller)
    return result({"providers": found}, providers_text(found))


@tool(annotations=_READS)
async def analyze_api_usage(
    provider: OneProvider = "",
    time_range: TimeRange = "7d",
    metrics: Annotated[list[str], Field(description="Names of figures, such as top_queries; all unless given")] = [],  # noqa: B006 - never changed
) -> ToolResult:
    """What was asked of the API descriptions: top, rising and fruitless queries, read rate, times, errors."""
    request = current()
    report = await request.services.apis.usage(request.caller, provider, time_range=time_range, metrics=metrics)
    return result(report, usage_text(report, metrics))


@tool(annotations=_READS)
async def suggest_api_improvements(
    provider: Annotated[str, Field(description="A provider's name; may be left out with endpoint_id")] = "",
    endpoint_id: Annotated[str, Field(description="op_...: only this operation")] = "",
    version: Version = "",
    feedback_type: FeedbackType | Literal["all"] = "all",
    min_severity: Severity = "hint",
    format: Literal["json", "markdown"] = "markdown",  # noqa: A002 - the name that people use
    patch: Annotated[PatchForm, Field(description="With a change of descriptions and examples that mends")] = "none",
    limit: Annotated[int, Field(ge=1, le=200, description="Findings at most")] = 20,
    cursor: Cursor = "",
) -> ToolResult:
    """What is wrong with an API's description, worst first: where, why, how to mend it; scores of 0 to 100."""
    request = current()
    found = await request.services.apis.improvements(
        request.caller,
        provider,
        endpoint_id=endpoint_id,
        version=version,
        feedback_types=() if feedback_type == "all" else (feedback_type,),
        min_severity=min_severity,
        limit=limit,
        cursor=cursor,
        patch=patch != "none",
        chat=request.chat,
    )
    answer = in_form(found, patch, _PATCH_CHARACTERS)
    texts = [findings_text(answer) if format == "json" else report_text(answer)]
    texts += [patch_text(answer.patch, patch)] if patch != "none" else []
    return result(answer, *texts)


@tool(annotations=_WRITES, tags={"admin"})
async def add_api(
    name: Annotated[str, Field(description="Short and lower case, such as jira")],
    sources: Annotated[list[str], Field(description="Absolute paths or http(s) URLs of OpenAPI descriptions")],
    display_name: Annotated[str, Field(description="As people write it")] = "",
    aliases: Annotated[list[str], Field(description="Other words for it in questions")] = [],  # noqa: B006 - never changed
    base_url: Annotated[str, Field(description="Where it is called, if the description does not say")] = "",
    version: Annotated[str, Field(description="What to call this version")] = "",
) -> ToolResult:
    """Make the operations of an API searchable from its OpenAPI or Swagger description; goes on in the background."""
    request = current()
    provider = await request.services.apis.add(
        request.caller,
        name,
        sources,
        display_name=display_name,
        aliases=aliases,
        base_url=base_url,
        version=version,
    )
    return _changed(provider)


@tool(annotations=_WRITES, tags={"admin"})
async def sync_api(provider: str, version: Version = "") -> ToolResult:
    """Read an API's description again from where it came; goes on in the background."""
    request = current()
    return _changed(await request.services.apis.sync(request.caller, provider, version))


@tool(annotations=_SETS, tags={"admin"})
async def enable_api(provider: str) -> ToolResult:
    """Let an API be found again."""
    request = current()
    return _changed(await request.services.apis.set_active(request.caller, provider, active=True))


@tool(annotations=_SETS, tags={"admin"})
async def disable_api(provider: str) -> ToolResult:
    """Keep an API, but let nobody find it."""
    request = current()
    return _changed(await request.services.apis.set_active(request.caller, provider, active=False))


@tool(annotations=_REMOVES, tags={"admin"})
async def remove_api(provider: str, version: Version = "") -> ToolResult:
    """Forget an API, or one of its versions; its description is left alone."""
    request = current()
    await request.services.apis.remove(request.caller, provider, version)
    what = f"{provider} {version}".strip()
    return result({"removed": what}, f"Removed '{what}'.")


def _changed(provider: Provider) -> ToolResult:
    return result(provider, providers_text((provider,)))
