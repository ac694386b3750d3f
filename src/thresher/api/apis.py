"""`/v1/apis` and the verbs of APIs, with the names and arguments that they have on every face."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Response

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.endpoint_models import (
    ActiveRequest,
    AddRequest,
    EndpointRequest,
    EndpointResponse,
    ImprovementsRequest,
    ImprovementsResponse,
    ProviderResponse,
    ProvidersResponse,
    SearchApisRequest,
    SearchApisResponse,
    SyncRequest,
    UsageRequest,
    UsageResponse,
)
from thresher.context import Readiness
from thresher.knowledge.apis import ApiService, improvements_markdown, in_form

_Name = Annotated[str, Path(description="The API's name.")]
_Version = Annotated[str | None, Query(min_length=1, description="Only this one; the whole API if left out.")]


def providers_router(apis: ApiService, readiness: Readiness) -> APIRouter:
    """The routes of providers.

    Args:
        apis: Keeps them.
        readiness: Is told when there may be one more, or one less.
    """
    router = APIRouter(prefix="/v1/apis", tags=["apis"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_api_providers(caller: Asking) -> ProvidersResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The APIs that you see, with their versions."""
        found = await apis.list_providers(caller)
        return ProvidersResponse(providers=[ProviderResponse.model_validate(one) for one in found])

    @router.post("", status_code=HTTPStatus.ACCEPTED)
    async def add_api(body: AddRequest, caller: Asking) -> ProviderResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Keep an API under a name; its descriptions are read in the background."""
        kept = await apis.add(caller, **body.model_dump())
        readiness.look_again()
        return ProviderResponse.model_validate(kept)

    @router.post("/{name}/sync", status_code=HTTPStatus.ACCEPTED)
    async def sync_api(  # pyright: ignore[reportUnusedFunction] - a route
        name: _Name, caller: Asking, body: Annotated[SyncRequest | None, Body()] = None
    ) -> ProviderResponse:
        """Read its descriptions again, in the background."""
        return ProviderResponse.model_validate(await apis.sync(caller, name, body.version if body else ""))

    @router.patch("/{name}")
    async def set_api_active(name: _Name, body: ActiveRequest, caller: Asking) -> ProviderResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Let it be found, or not."""
        kept = await apis.set_active(caller, name, body.active)
        readiness.look_again()
        return ProviderResponse.model_validate(kept)

    @router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove_api(name: _Name, caller: Asking, version: _Version = None) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Forget it, or one version of it; its description is left alone."""
        await apis.remove(caller, name, version or "")
        readiness.look_again()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def operations_router(apis: ApiService) -> APIRouter:
    """The routes of questions.

    Args:
        apis: Answers them.
    """
    router = APIRouter(prefix="/v1", tags=["apis"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/search_api_docs")
    async def search_api_docs(body: SearchApisRequest, caller: Asking) -> SearchApisResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Operations that do what is asked for, best first."""
        return SearchApisResponse.model_validate(await apis.search(caller, **body.model_dump()))

    @router.post("/get_api_endpoint")
    async def get_api_endpoint(body: EndpointRequest, caller: Asking) -> EndpointResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One operation in full, inside a token budget."""
        return EndpointResponse.model_validate(await apis.endpoint(caller, **body.model_dump()))

    @router.post("/analyze_api_usage")
    async def analyze_api_usage(body: UsageRequest, caller: Asking) -> UsageResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What was searched and read, and what found nothing."""
        return UsageResponse.model_validate(await apis.usage(caller, **body.model_dump()))

    @router.post("/suggest_api_improvements")
    async def suggest_api_improvements(body: ImprovementsRequest, caller: Asking) -> ImprovementsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What is wrong with a description, and a patch for what can be mended."""
        given = body.model_dump(exclude={"feedback_type", "format", "patch"})
        kinds = () if body.feedback_type == "all" else (body.feedback_type,)
        found = await apis.improvements(caller, **given, feedback_types=kinds, patch=body.patch != "none")
        answer = in_form(found, body.patch)
        response = ImprovementsResponse.model_validate(answer)
        response.markdown = improvements_markdown(answer) if body.format == "markdown" else ""
        return response

    return router
