"""The verbs of APIs: providers, their operations, how they are used, and what would improve their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.apis import EndpointAnswer, FoundEndpoints, Improvements, Provider, UsageReport
    from thresher.verbs.request import Request

APIS = Kind("apis", "thresher.knowledge.apis")

Names: TypeAlias = tuple[str, ...]
Cursor: TypeAlias = Annotated[str, Doc("Of the last answer: what it left out")]
Version: TypeAlias = Annotated[str, Doc("Label of one of the provider's versions")]
FeedbackType: TypeAlias = Literal["clarity", "examples", "structure", "errors", "security"]


@APIS.verb("read")
async def search_api_docs(
    request: Request,
    query: Annotated[str, Doc("What shall be done, in any words; empty lists a provider's tags")] = "",
    providers: Annotated[Names, Doc("Of providers; those that the query names unless given")] = (),
    methods: Annotated[Names, Doc("HTTP methods; all unless given")] = (),
    tags: Annotated[Names, Doc("Only operations of these tags; * lists those of all")] = (),
    limit: Annotated[int, Ge(1), Le(50)] = 10,
    cursor: Cursor = "",
    rerank: Annotated[bool, Doc("Slower, reads the best candidates closely")] = False,
) -> FoundEndpoints:
    """Operations of HTTP APIs (REST endpoints) that do what is asked for, best first, with how each is used.

    Raises:
        InvalidInput: A method is not valid.
        InvalidCursor: The cursor belongs to another query.
        NotFound: There is no such provider, it is switched off, or no operation has such a tag.
    """
    return await request.services.apis.search(
        request.caller,
        query,
        providers=providers,
        methods=methods,
        tags=tags,
        limit=limit,
        cursor=cursor,
        rerank=rerank,
    )


@APIS.verb("read")
async def get_api_endpoint(
    request: Request,
    endpoint_id: Annotated[str, Doc("op_..., from search_api_docs")] = "",
    provider: Annotated[str, Doc("With method and path, or with operation_id")] = "",
    method: str = "",
    path: Annotated[str, Doc("Such as /users/{id}, or with values filled in")] = "",
    operation_id: Annotated[str, Doc("As the description names it")] = "",
    version: Version = "",
    budget: Annotated[int, Ge(1), Le(100_000), Doc("Most tokens of the answer")] = 4_000,
) -> EndpointAnswer:
    """One operation in full: parameters, request and answers with examples, sign-in, schemas, curl and Python.

    Raises:
        InvalidInput: It is not clear which operation is meant.
        NotFound: There is no such operation, its provider is switched off, or its description was not read yet.
    """
    return await request.services.apis.endpoint(
        request.caller,
        endpoint_id,
        provider=provider,
        method=method,
        path=path,
        operation_id=operation_id,
        version=version,
        budget=budget,
    )


@APIS.verb("read", key="providers")
async def list_api_providers(request: Request) -> tuple[Provider, ...]:
    """The APIs that are known: names, aliases, versions, how many operations, whether switched on."""
    return await request.services.apis.list_providers(request.caller)


@APIS.verb("read")
async def analyze_api_usage(
    request: Request,
    provider: Annotated[str, Doc("A provider's name, such as jira; all unless given")] = "",
    time_range: Literal["1d", "7d", "30d", "90d"] = "7d",
    metrics: Annotated[Names, Doc("Names of figures, such as top_queries; all unless given")] = (),
) -> UsageReport:
    """What was asked of the API descriptions: top, rising and fruitless queries, read rate, times, errors.

    Raises:
        InvalidInput: A metric is not valid.
        NotFound: There is no such provider, and nothing is known of an earlier one.
    """
    return await request.services.apis.usage(request.caller, provider, time_range=time_range, metrics=metrics)


@APIS.verb("read")
async def suggest_api_improvements(
    request: Request,
    provider: Annotated[str, Doc("A provider's name; may be left out with endpoint_id")] = "",
    endpoint_id: Annotated[str, Doc("op_...: only this operation")] = "",
    version: Version = "",
    feedback_type: FeedbackType | Literal["all"] = "all",
    min_severity: Literal["error", "warning", "info", "hint"] = "hint",
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - the name that people use
    patch: Annotated[
        Literal["none", "overlay", "diff"], Doc("With a change of descriptions and examples that mends")
    ] = "none",
    limit: Annotated[int, Ge(1), Le(500), Doc("Findings at most")] = 50,
    cursor: Cursor = "",
) -> Improvements:
    """What is wrong with an API's description, worst first: where, why, how to mend it; scores of 0 to 100.

    Raises:
        InvalidInput: No provider is named and there are several.
        InvalidCursor: The cursor belongs to another request, or the description has changed.
        NotFound: There is no such provider, version or operation, or its description was not read yet.
    """
    apis = request.services.apis
    found = await apis.improvements(
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
    return apis.in_form(found, patch, request.longest, markdown=format == "markdown")


@APIS.verb("admin")
async def add_api(
    request: Request,
    sources: Annotated[Names, Doc("Absolute paths or http(s) URLs of OpenAPI descriptions")],
    name: Annotated[str, Doc("Short and lower case, such as jira; the description's title by default")] = "",
    display_name: Annotated[str, Doc("As people write it")] = "",
    aliases: Annotated[Names, Doc("Other words for it in questions")] = (),
    base_url: Annotated[str, Doc("Where it is called, if the description does not say")] = "",
    version: Annotated[str, Doc("What to call this version")] = "",
    replace: Annotated[bool, Doc("Give an existing name these sources")] = False,
) -> Provider:
    """Make the operations of an API searchable from its OpenAPI or Swagger description; goes on in the background.

    Raises:
        InvalidInput: An argument is not valid, or a source cannot be read.
        NotFound: There is nothing at a source.
        Conflict: The name, an alias or the version is taken.
        NotAllowed: The caller may not read this source.
        SourceUnavailable: A server does not answer.
    """
    added = await request.services.apis.add(
        request.caller,
        name,
        sources,
        display_name=display_name,
        aliases=aliases,
        base_url=base_url,
        version=version,
        replace=replace,
    )
    request.services.context.readiness.look_again()
    return added


@APIS.verb("admin")
async def sync_api(request: Request, provider: str, version: Version = "") -> Provider:
    """Read an API's description again from where it came; goes on in the background.

    Raises:
        InvalidInput: None of the sources can be read.
        NotFound: There is no such provider or version, or nothing at its source.
        NotAllowed: It belongs to the tenant and the caller is a user, or the caller may not read this source.
        SourceUnavailable: No server answers.
    """
    return await request.services.apis.sync(request.caller, provider, version)


@APIS.verb("admin")
async def schedule_api(
    request: Request,
    provider: str,
    seconds: Annotated[int | None, Ge(0), Le(2_592_000), Doc("Between two checks, 10 or more; 0: never; null: as set")],
) -> Provider:
    """Say how often an API's sources are checked for changes by themselves.

    Raises:
        InvalidInput: The number is out of bounds.
        NotFound: There is no such provider.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.apis.set_schedule(request.caller, provider, seconds)


@APIS.verb("admin")
async def set_api_active(request: Request, provider: str, active: bool) -> Provider:
    """Let an API be found, or not.

    Raises:
        NotFound: There is no such provider.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    switched = await request.services.apis.set_active(request.caller, provider, active)
    request.services.context.readiness.look_again()
    return switched


@APIS.verb("admin", key="removed", destroys=True)
async def remove_api(request: Request, provider: str, version: Version = "") -> str:
    """Forget an API, or one of its versions; its description is left alone.

    Raises:
        NotFound: There is no such provider or version.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    await request.services.apis.remove(request.caller, provider, version)
    request.services.context.readiness.look_again()
    return f"{provider} {version}".strip()
