"""The tools of documents: thin functions around the verbs of the documents kind.

Invariant: what a model reads never costs more than the budget; programs find the whole record as structured content.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastmcp.tools import ToolResult, tool
from pydantic import Field

from thresher.context import Situation
from thresher.core import one_line
from thresher.knowledge.documents import MOST_PASSAGES, PASSAGES, Repository, origin_of
from thresher.packs import current
from thresher.packs.answers import (
    BORDERS,
    PAGE_MARK,
    page_text,
    passages_text,
    repositories_line,
    repositories_text,
    retrieval_text,
)
from thresher.packs.results import result

PREFIX = False
LISTED = (
    *("retrieve_document", "search_documents", "read_document", "list_repositories"),
    *("index_documents", "refresh_repository", "remove_repository"),
)

_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True}
_REMOVES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}

Search = Literal["hybrid", "text", "semantic"]
Budget = Annotated[int, Field(ge=1, le=200_000, description="Most tokens of the answer")]
Cursor = Annotated[str, Field(description="Of the last answer: what it left out")]


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is a repository to ask, or where the client may make one."""
    services = current().services
    return services.settings.admin_tools or await services.documents.sees_any(situation.caller)


async def _repositories(situation: Situation) -> str | None:
    return repositories_line(await current().services.documents.list_repositories(situation.caller))


VARIABLES = {"REPOSITORIES": _repositories}


@tool(annotations=_READS)
async def retrieve_document(
    query: Annotated[str, Field(description="The question, in any words")],
    repository: str,
    search_type: Search = "hybrid",
    budget: Budget = 8000,
    context: Annotated[str, Field(description="What the conversation is about")] = "",
    cursor: Cursor = "",
    rerank: Annotated[bool, Field(description="Slower, reads the best candidates closely")] = False,
    document: Annotated[str, Field(description="Path: only this document")] = "",
    mode: Literal["extractive", "abstractive"] = "extractive",
) -> ToolResult:
    """The text that answers a question, verbatim, from the best document of a repository, within a token budget."""
    request = current()
    answer = await request.services.documents.retrieve_document(
        request.caller,
        query,
        repository,
        search_type=search_type,
        budget=max(budget - BORDERS, budget // 2, 1),
        context=context or None,
        cursor=cursor or None,
        rerank=rerank,
        document=document or None,
        mode=mode,
        chat=request.chat,
    )
    return result(answer, retrieval_text(answer, budget))


@tool(annotations=_READS)
async def search_documents(
    query: str,
    repository: Annotated[str, Field(description="Else those that the query means")] = "",
    search_type: Search = "hybrid",
    limit: Annotated[int, Field(ge=1, le=MOST_PASSAGES, description="Of all together")] = PASSAGES,
    cursor: Cursor = "",
) -> ToolResult:
    """Ranked passages, each with its place, of one document repository or of those that it chooses, and says why."""
    request = current()
    found = await request.services.documents.search_documents(
        request.caller,
        query,
        repository=repository or None,
        search_type=search_type,
        limit=limit,
        cursor=cursor or None,
    )
    return result(found, passages_text(found))


@tool(annotations=_READS)
async def read_document(
    repository: str,
    path: str,
    lines: Annotated[str, Field(description="Such as 120-180")] = "",
    section: Annotated[str, Field(description="A heading")] = "",
    cursor: Annotated[str, Field(description="Of the last page: the next")] = "",
    budget: Budget = 8000,
) -> ToolResult:
    """A document page by page, or some lines or a section of it, verbatim."""
    request = current()
    page = await request.services.documents.read_document(
        request.caller,
        repository,
        path,
        lines=lines or None,
        section=section or None,
        cursor=cursor or None,
        budget=max(budget - PAGE_MARK, budget // 2, 1),
    )
    return result(page, page_text(page, budget))


@tool(annotations=_READS)
async def list_repositories() -> ToolResult:
    """The document repositories: name, description, guide to what is in it, counts, embedding model, version, date."""
    request = current()
    found = await request.services.documents.list_repositories(request.caller)
    return result({"repositories": found}, repositories_text(found))


@tool(annotations=_WRITES, tags={"admin"})
async def index_documents(
    name: Annotated[str, Field(description="Of the repository")],
    source: Annotated[str, Field(description="Absolute path or git URL")],
    ref: Annotated[str, Field(description="Branch, tag or commit")] = "",
    include: Annotated[list[str], Field(description="Globs; all files unless given")] = [],  # noqa: B006 - never changed
    exclude: Annotated[list[str], Field(description="Globs")] = [],  # noqa: B006 - as above
) -> ToolResult:
    """Make a folder, file or git repository searchable; goes on in the background."""
    request = current()
    origin = origin_of(source, ref=ref, include=include, exclude=exclude, caller=request.caller)
    return _begun(await request.services.documents.index(request.caller, name, origin))


@tool(annotations=_WRITES, tags={"admin"})
async def refresh_repository(repository: str) -> ToolResult:
    """Take in what has changed at a repository's source; goes on in the background."""
    request = current()
    return _begun(await request.services.documents.refresh(request.caller, repository))


@tool(annotations=_REMOVES, tags={"admin"})
async def remove_repository(repository: str) -> ToolResult:
    """Forget a repository and everything that was indexed of it; its source is left alone."""
    request = current()
    await request.services.documents.remove_repository(request.caller, repository)
    return result({"removed": repository}, f"Removed '{one_line(repository)}'.")


def _begun(repository: Repository) -> ToolResult:
    text = f"'{one_line(repository.name)}' is being indexed (job {repository.job}); what is read can be found at once."
    return result(repository, text)
