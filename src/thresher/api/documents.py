"""`/v1/repositories` and the verbs of documents, with the names and arguments that they have on every face."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.document_models import (
    GuideRequest,
    IndexRequest,
    ReadRequest,
    ReadResponse,
    RepositoriesResponse,
    RepositoryResponse,
    RetrieveRequest,
    RetrieveResponse,
    SearchRequest,
    SearchResponse,
    SkippedFile,
    SkippedResponse,
)
from thresher.context import Readiness
from thresher.core import Caller
from thresher.knowledge.documents import DocumentService, Origin, Repository, origin_of

_Name = Annotated[str, Path(description="The repository's name.")]


def documents_router(documents: DocumentService) -> APIRouter:
    """The routes of questions.

    Args:
        documents: Answers them.
    """
    router = APIRouter(prefix="/v1", tags=["documents"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/retrieve_document")
    async def retrieve_document(body: RetrieveRequest, caller: Asking) -> RetrieveResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The text that answers a question: the best document, whole, or what of it fits into the budget."""
        return RetrieveResponse.model_validate(await documents.retrieve_document(caller, **body.model_dump()))

    @router.post("/search_documents")
    async def search_documents(body: SearchRequest, caller: Asking) -> SearchResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Ranked passages of one repository, or of those that the query means."""
        return SearchResponse.model_validate(await documents.search_documents(caller, **body.model_dump()))

    @router.post("/read_document")
    async def read_document(body: ReadRequest, caller: Asking) -> ReadResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """A document page by page, or some lines or a section of it, verbatim."""
        return ReadResponse.model_validate(await documents.read_document(caller, **body.model_dump()))

    return router


def repositories_router(documents: DocumentService, readiness: Readiness) -> APIRouter:
    """The routes of repositories.

    Args:
        documents: Keeps them.
        readiness: Is told when there may be one more, or one less.
    """
    router = APIRouter(
        prefix="/v1/repositories", tags=["documents"], responses=PROBLEMS, dependencies=[Depends(BEARER)]
    )

    @router.get("")
    async def list_repositories(caller: Asking) -> RepositoriesResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The repositories that you see, with their descriptions, guides and embedding models."""
        return RepositoriesResponse(repositories=[_response(one) for one in await documents.list_repositories(caller)])

    @router.post("", status_code=HTTPStatus.ACCEPTED)
    async def index_documents(body: IndexRequest, caller: Asking) -> RepositoryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Index a source under a name, in the background; what is read can be found at once."""
        origin = await _origin(caller, body)
        repository = await documents.index(caller, body.name, origin)
        readiness.look_again()
        return _response(repository)

    @router.get("/{name}")
    async def show_repository(name: _Name, caller: Asking) -> RepositoryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One repository."""
        return _response(await documents.repository(caller, name))

    @router.get("/{name}/skipped")
    async def skipped_files(name: _Name, caller: Asking) -> SkippedResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Files that the last run did not read, and why."""
        files = await documents.skipped_files(caller, name)
        return SkippedResponse(files=[SkippedFile.model_validate(file) for file in files])

    @router.post("/{name}/refresh", status_code=HTTPStatus.ACCEPTED)
    async def refresh_repository(name: _Name, caller: Asking) -> RepositoryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Take in what has changed at its source, in the background."""
        return _response(await documents.refresh(caller, name))

    @router.post("/{name}/guide")
    async def set_guide(name: _Name, body: GuideRequest, caller: Asking) -> RepositoryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Write its guide by hand, or have it made from the documents again."""
        return _response(await documents.set_guide(caller, name, body.text))

    @router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove_repository(name: _Name, caller: Asking) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Forget it and all that was indexed of it; its source is left alone."""
        await documents.remove_repository(caller, name)
        readiness.look_again()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


async def _origin(caller: Caller, body: IndexRequest) -> Origin:
    """Where a source lies; to look costs a few accesses to the disk."""
    return await asyncio.to_thread(
        lambda: origin_of(body.source, ref=body.ref, include=body.include, exclude=body.exclude, caller=caller)
    )


def _response(repository: Repository) -> RepositoryResponse:
    return RepositoryResponse.model_validate(repository)
