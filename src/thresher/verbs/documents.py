"""The verbs of documents: repositories, and answers out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.documents import (
        DocumentPage,
        MultiRetrieval,
        Passages,
        Repository,
        Retrieval,
        Skipped,
        Upload,
        Webhook,
    )
    from thresher.verbs.request import Request

DOCUMENTS = Kind("documents", "thresher.knowledge.documents")

SearchType: TypeAlias = Literal["hybrid", "text", "semantic"]
Budget: TypeAlias = Annotated[int, Ge(1), Le(200_000), Doc("Most tokens of the answer")]
Cursor: TypeAlias = Annotated[str, Doc("Of the last answer: what it left out")]


@DOCUMENTS.verb("read")
async def retrieve_document(
    request: Request,
    query: Annotated[str, Doc("The question, in any words")],
    repository: str,
    search_type: SearchType = "hybrid",
    budget: Budget = 8000,
    context: Annotated[str, Doc("What the conversation is about")] = "",
    cursor: Cursor = "",
    rerank: Annotated[bool, Doc("Slower, reads the best candidates closely")] = False,
    document: Annotated[str, Doc("Path: only this document")] = "",
    mode: Literal["extractive", "abstractive"] = "extractive",
) -> Retrieval:
    """The text that answers a question, verbatim, from the best document of a repository, within a token budget.

    Raises:
        InvalidInput: An argument is out of bounds.
        InvalidCursor: The cursor belongs to another question.
        NotFound: There is no such repository or document.
    """
    return await request.services.documents.retrieve_document(
        request.caller,
        query,
        repository,
        search_type=search_type,
        budget=budget,
        context=context or None,
        cursor=cursor or None,
        rerank=rerank,
        document=document or None,
        mode=mode,
        chat=request.chat,
    )


@DOCUMENTS.verb("read")
async def retrieve_documents(
    request: Request,
    query: Annotated[str, Doc("The question; names in it choose what is compared")],
    repositories: Annotated[tuple[str, ...], Doc("Else those that the query means")] = (),
    documents: Annotated[tuple[str, ...], Doc("Paths; else those that the query names, or that answer")] = (),
    budget: Budget = 8000,
    search_type: SearchType = "hybrid",
) -> MultiRetrieval:
    """Passages of several documents in one token budget, for comparisons: each document's best before any second one.

    Raises:
        InvalidInput: An argument is out of bounds.
        NotFound: There is no such repository or document.
    """
    return await request.services.documents.retrieve_documents(
        request.caller, query, repositories, documents, budget=budget, search_type=search_type
    )


@DOCUMENTS.verb("read")
async def search_documents(
    request: Request,
    query: str,
    repository: Annotated[str, Doc("Else those that the query means")] = "",
    search_type: SearchType = "hybrid",
    limit: Annotated[int, Ge(1), Le(50), Doc("Of all together")] = 8,
    cursor: Cursor = "",
) -> Passages:
    """Ranked passages, each with its place, of one document repository or of those that it chooses, and says why.

    Raises:
        InvalidInput: An argument is out of bounds.
        InvalidCursor: The cursor belongs to another search.
        NotFound: There is no such repository.
    """
    return await request.services.documents.search_documents(
        request.caller, query, repository or None, search_type=search_type, limit=limit, cursor=cursor or None
    )


@DOCUMENTS.verb("read")
async def read_document(
    request: Request,
    repository: str,
    path: str,
    lines: Annotated[str, Doc("Such as 120-180")] = "",
    section: Annotated[str, Doc("A heading")] = "",
    cursor: Annotated[str, Doc("Of the last page: the next")] = "",
    budget: Budget = 8000,
) -> DocumentPage:
    """A document page by page, or some lines or a section of it, verbatim.

    Raises:
        InvalidInput: The lines are not valid, or more than one of lines, section and cursor is given.
        InvalidCursor: The cursor belongs to another document, or this one has changed.
        NotFound: There is no such repository, document, line or section.
    """
    return await request.services.documents.read_document(
        request.caller,
        repository,
        path,
        lines=lines or None,
        section=section or None,
        cursor=cursor or None,
        budget=budget,
    )


@DOCUMENTS.verb("read", key="repositories")
async def list_repositories(request: Request) -> tuple[Repository, ...]:
    """The document repositories: name, description, guide to what is in it, counts, embedding model, version, date."""
    return await request.services.documents.list_repositories(request.caller)


@DOCUMENTS.verb("read")
async def show_repository(request: Request, repository: str) -> Repository:
    """One repository.

    Raises:
        NotFound: There is no such repository.
    """
    return await request.services.documents.repository(request.caller, repository)


@DOCUMENTS.verb("read", key="files")
async def skipped_files(request: Request, repository: str) -> tuple[Skipped, ...]:
    """Files that the last run did not read, and why; of very many the first.

    Raises:
        NotFound: There is no such repository.
    """
    return await request.services.documents.skipped_files(request.caller, repository)


@DOCUMENTS.verb("admin")
async def index_documents(
    request: Request,
    name: Annotated[str, Doc("Of the repository")],
    source: Annotated[str, Doc("Absolute path or git URL")],
    ref: Annotated[str, Doc("Branch, tag or commit")] = "",
    include: Annotated[tuple[str, ...], Doc("Globs; all files unless given")] = (),
    exclude: Annotated[tuple[str, ...], Doc("Globs")] = (),
) -> Repository:
    """Make a folder, file or git repository searchable; goes on in the background.

    Raises:
        InvalidInput: The name, the source or a pattern is not valid.
        NotFound: There is nothing at this path.
        Conflict: The name stands for another source.
        NotAllowed: The caller may not index this source.
    """
    repository = await request.services.documents.index_source(
        request.caller, name, source, ref=ref, include=include, exclude=exclude
    )
    request.services.context.readiness.look_again()
    return repository


@DOCUMENTS.verb("admin")
async def upload_document(
    request: Request,
    repository: Annotated[str, Doc("Added if it does not exist")],
    path: Annotated[str, Doc("In the repository, such as guides/start.md; .zip, .tar, .tgz: its files are stored")],
    content: Annotated[str, Doc("The text, or the bytes in base64")],
    encoding: Literal["text", "base64"] = "text",
) -> Upload:
    """Store a file or an archive's files in a repository of uploads, in place of earlier ones, and index them.

    Raises:
        InvalidInput: The path or the content is not valid, or is refused.
        Conflict: The repository is indexed from a source.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    data = DOCUMENTS.imported("bytes_of")(content, encoding)
    upload = await request.services.documents.upload(request.caller, repository, path, data)
    request.services.context.readiness.look_again()
    return upload


@DOCUMENTS.verb("admin", destroys=True)
async def remove_upload(
    request: Request, repository: str, path: Annotated[str, Doc("Of a file, an archive or a folder")]
) -> Upload:
    """Remove an uploaded file, all files of an archive, or all below a folder.

    Raises:
        InvalidInput: The path is not valid.
        NotFound: There is no such repository or upload.
        Conflict: The repository is indexed from a source.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.documents.remove_upload(request.caller, repository, path)


@DOCUMENTS.verb("admin")
async def refresh_repository(request: Request, repository: str) -> Repository:
    """Take in what has changed at a repository's source; goes on in the background.

    Raises:
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.documents.refresh(request.caller, repository)


@DOCUMENTS.verb("admin")
async def schedule_repository(
    request: Request,
    repository: str,
    seconds: Annotated[
        int | None,
        Ge(0),
        Le(2_592_000),
        Doc("Between two checks, 10 or more; 0: never; null: folders are watched, others as set"),
    ],
) -> Repository:
    """Say how often a repository's source is checked for changes by itself.

    Raises:
        InvalidInput: The number is out of bounds.
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.documents.set_schedule(request.caller, repository, seconds)


@DOCUMENTS.verb("admin")
async def make_webhook(request: Request, repository: str) -> Webhook:
    """Let a program without a key have a repository indexed again by signed calls; the secret is shown once.

    Raises:
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.documents.make_webhook(request.caller, repository)


@DOCUMENTS.verb("admin", key="removed", destroys=True)
async def remove_webhook(request: Request, repository: str) -> str:
    """Take a repository's webhook away; its calls are refused at once.

    Raises:
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    await request.services.documents.remove_webhook(request.caller, repository)
    return repository


@DOCUMENTS.verb("write")
async def set_guide(
    request: Request,
    repository: str,
    text: Annotated[str | None, Doc("Markdown; null: the guide that is made from the documents")],
) -> Repository:
    """Write a repository's guide by hand, or have it made from the documents again.

    Raises:
        InvalidInput: The text is empty or too long.
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    return await request.services.documents.set_guide(request.caller, repository, text)


@DOCUMENTS.verb("admin", key="removed", destroys=True)
async def remove_repository(request: Request, repository: str) -> str:
    """Forget a repository and everything that was indexed of it; its source is left alone.

    Raises:
        NotFound: There is no such repository.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    await request.services.documents.remove_repository(request.caller, repository)
    request.services.context.readiness.look_again()
    return repository
