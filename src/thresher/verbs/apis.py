"""The verbs of APIs: providers, their operations, how they are used, and what would improve their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.apis import (
        ApiCredential,
        ApiHost,
        ApiReply,
        EndpointAnswer,
        FoundEndpoints,
        Improvements,
        Provider,
        UsageReport,
    )
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


@APIS.verb("call")
async def call_api_endpoint(
    request: Request,
    endpoint_id: Annotated[str, Doc("op_..., from search_api_docs")] = "",
    provider: Annotated[str, Doc("With method and path, or with operation_id")] = "",
    method: str = "",
    path: Annotated[str, Doc("As the description writes it, such as /users/{id}")] = "",
    operation_id: str = "",
    arguments: Annotated[Mapping[str, Any] | None, Doc("Parameters by name; the request body as `body`")] = None,
    budget: Annotated[int, Ge(0), Le(1_000_000), Doc("Most tokens of the answer's body; 0 for all of it")] = 0,
    pages: Annotated[int, Ge(1), Le(20), Doc("Most pages, where the API says how the next one is got")] = 1,
    dry_run: Annotated[bool, Doc("Return the request as it would be sent, and send nothing")] = False,
    server: Annotated[str, Doc("One of the description's servers, or another address; the first by default")] = "",
    server_variables: Annotated[
        Mapping[str, str] | None, Doc("Values of the variables in the server's address")
    ] = None,
    media_type: Annotated[str, Doc("Of the body, where the operation takes several")] = "",
    version: Version = "",
    timeout: Annotated[float, Ge(1), Le(120), Doc("Seconds, with retries and pages")] = 30.0,
    effect: Annotated[
        Literal["any", "read", "write"], Doc("read refuses what may change something, write what does not")
    ] = "any",
) -> ApiReply:
    """Call an operation of an HTTP API: arguments are checked first, credentials are added, the answer comes back.

    Raises:
        InvalidInput: It is not clear which operation is meant, or arguments do not fit; nothing was sent.
        NotFound: There is no such operation, its provider is switched off, or its description was not read yet.
        NotAllowed: Nobody has allowed the host, it is not public, or a credential is missing; nothing was sent.
        SourceUnavailable: The API cannot be reached, or is too slow.
    """
    reference = APIS.imported("EndpointReference")(endpoint_id, provider, method, path, operation_id, version)
    wanted = APIS.imported("CallRequest")(
        reference,
        arguments=arguments or {},
        server=server,
        server_variables=server_variables or {},
        media_type=media_type,
        pages=pages,
        budget=budget,
        seconds=timeout,
        dry_run=dry_run or request.is_rehearsal,
        effect=effect,
        client=request.client,
        thread=request.thread,
    )
    return await request.services.apis.call(request.caller, wanted)


@APIS.verb("read", key="hosts")
async def list_api_hosts(
    request: Request, provider: Annotated[str, Doc("An API; all unless given")] = ""
) -> tuple[ApiHost, ...]:
    """The hosts that calls of APIs may reach.

    Raises:
        NotFound: There is no such provider.
    """
    return await request.services.apis.access.list_hosts(request.caller, provider)


@APIS.verb("admin", idempotent=True)
async def allow_api_host(
    request: Request,
    provider: str,
    host: Annotated[str, Doc("Such as https://api.example.com, with the port if it has one")],
    private: Annotated[bool, Doc("Also if its addresses are not public: this machine, or the own network")] = False,
) -> ApiHost:
    """Let calls of an API reach a host, with the credentials of that API.

    Raises:
        InvalidInput: It is not a host.
        NotFound: There is no such provider.
        NotAllowed: A caller with a key may not allow addresses that are not public.
    """
    return await request.services.apis.access.allow_host(request.caller, provider, host, private=private)


@APIS.verb("admin", key="removed", destroys=True)
async def disallow_api_host(request: Request, provider: str, host: str) -> str:
    """Keep calls of an API from a host.

    Raises:
        InvalidInput: It is not a host.
        NotFound: There is no such provider, or the caller has not allowed the host.
    """
    return await request.services.apis.access.disallow_host(request.caller, provider, host)


@APIS.verb("read", key="credentials")
async def list_api_credentials(
    request: Request, provider: Annotated[str, Doc("An API; all unless given")] = ""
) -> tuple[ApiCredential, ...]:
    """The credentials that calls of APIs carry, without their secrets.

    Raises:
        NotFound: There is no such provider.
    """
    return await request.services.apis.access.list_credentials(request.caller, provider)


@APIS.verb("admin", idempotent=True)
async def set_api_credential(
    request: Request,
    provider: str,
    secret: Annotated[str, Doc("Key, password, token, or the client's secret")],
    scheme: Annotated[str, Doc("A security scheme of the description; its only one by default")] = "",
    type: Annotated[  # noqa: A002 - the name that people use
        Literal["", "key", "basic", "bearer", "oauth2"], Doc("How it is sent; as the scheme says by default")
    ] = "",
    user: Annotated[str, Doc("User name, or the client's id")] = "",
    name: Annotated[str, Doc("Header, parameter or cookie of a key, if the description does not say")] = "",
    place: Annotated[Literal["", "header", "query", "cookie"], Doc("Where a key is sent, likewise")] = "",
    token_url: Annotated[str, Doc("Where oauth2 fetches tokens, likewise")] = "",
    scopes: Annotated[Names, Doc("What oauth2 asks for")] = (),
) -> ApiCredential:
    """Store a credential that calls of an API carry: sealed, for the caller alone if it is a user.

    Raises:
        InvalidInput: It does not fit a security scheme of the description, or cannot be sent.
        NotFound: There is no such provider.
    """
    wanted = APIS.imported("CredentialRequest")(
        secret=secret,
        scheme=scheme,
        type=type or None,
        user=user,
        name=name,
        place=place or None,
        token_url=token_url,
        scopes=tuple(scopes),
    )
    return await request.services.apis.access.set_credential(request.caller, provider, wanted)


@APIS.verb("admin", key="removed", destroys=True)
async def remove_api_credential(
    request: Request,
    provider: str,
    scheme: Annotated[str, Doc("Of this security scheme alone; all of the API by default")] = "",
) -> str:
    """Forget the caller's credentials for an API, or one of them.

    Raises:
        NotFound: There is no such provider or credential.
    """
    removed = await request.services.apis.access.remove_credential(request.caller, provider, scheme or None)
    return f"{removed} of {provider}"


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
