"""`thresher index docs` and `thresher docs`: repositories of documents, and what stands in them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.client import ask, follow_job
from thresher.cli.document_views import (
    guide_text,
    indexed,
    page_text,
    passages,
    removed,
    repository_card,
    repository_list,
    retrieved,
)
from thresher.cli.dry_run import writes
from thresher.cli.files import given_path, placed, text_of
from thresher.cli.output import AsJson, show

commands = typer.Typer(help="Ask and manage repositories of documents.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A repository, as `docs list` names it.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")]
Budget = Annotated[int | None, typer.Option("--budget", "-b", help="Tokens at most.")]
Cursor = Annotated[str | None, typer.Option(help="Of the last answer: what it left out.")]

FAILED = 1
"""Exit code where the indexing that was waited for did not end well."""


class SearchType(StrEnum):
    """How chunks are found."""

    hybrid = "hybrid"
    text = "text"
    semantic = "semantic"


class Mode(StrEnum):
    """How an answer comes about."""

    extractive = "extractive"
    abstractive = "abstractive"


Search = Annotated[SearchType | None, typer.Option("--search-type", "-t", help="hybrid unless told.")]


def register(index: typer.Typer) -> None:
    """Add `docs` to the group `index`."""
    index.command("docs")(writes(index_docs))


def index_docs(
    name: Annotated[str, typer.Argument(help="What the repository is called from now on.")],
    source: Annotated[str, typer.Argument(help="A folder, a file, or the address of a git repository.")],
    ref: Annotated[str | None, typer.Option(help="Branch, tag or commit, in place of the files as they lie.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only files of this pattern; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files of this pattern; repeatable.")] = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Index documents under a name; a second time only what has changed."""
    arguments = {"name": name, "source": _placed(source), "ref": ref, "include": include, "exclude": exclude}
    _finish(ask("index_documents", _given(arguments)), wait, as_json)


@commands.command("list")
def list_repositories(as_json: AsJson = False) -> None:
    """List the repositories: what each is about, how much is in it, and how it stands."""
    show(ask("list_repositories"), as_json, repository_list)


@commands.command("show")
def show_repository(name: Name, as_json: AsJson = False) -> None:
    """Show one repository: source, counts, files that were not read and why, guide."""
    show(ask("show_repository", {"name": name}), as_json, repository_card)


@commands.command("guide")
@writes
def guide(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Option("--set", parser=given_path, metavar="FILE", help="Take this file's text; - is standard input."),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Take the one that is made from the documents.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the guide that tells models what is in a repository, or write it yourself."""
    if rebuild and file is not None:
        raise typer.BadParameter("Give --set or --rebuild, not both.")
    if rebuild or file is not None:
        answer = ask("set_guide", {"name": name, "text": None if file is None else text_of(file)})
    else:
        answer = ask("show_repository", {"name": name})
    show({key: answer[key] for key in ("name", "guide", "guide_by")}, as_json, guide_text)


@commands.command("refresh")
@writes
def refresh(name: Name, wait: Wait = True, as_json: AsJson = False) -> None:
    """Take in what has changed at a repository's source."""
    _finish(ask("refresh_repository", {"name": name}), wait, as_json)


@commands.command("remove")
@writes
def remove(name: Name, as_json: AsJson = False) -> None:
    """Forget a repository and all that was indexed of it; its source is left alone."""
    show(ask("remove_repository", {"name": name}), as_json, removed)


@commands.command("retrieve")
def retrieve(
    name: Name,
    query: Annotated[str, typer.Argument(help="The question, in any words.")],
    budget: Budget = None,
    search_type: Search = None,
    context: Annotated[str | None, typer.Option(help="What the conversation is about.")] = None,
    document: Annotated[str | None, typer.Option(help="A path: only this document.")] = None,
    rerank: Annotated[bool, typer.Option("--rerank", help="Read the best candidates closely; slower.")] = False,
    mode: Annotated[Mode | None, typer.Option(help="extractive unless told.")] = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Print the text that answers a question: a document, or the passages of it that fit the budget."""
    arguments = {"repository": name, "query": query, "budget": budget, "search_type": search_type, "context": context}
    more = {"document": document, "rerank": rerank or None, "mode": mode, "cursor": cursor}
    show(ask("retrieve_document", _given(arguments | more)), as_json, retrieved)


@commands.command("search")
def search(
    query: Annotated[str, typer.Argument(help="Any words.")],
    name: Annotated[str | None, typer.Option("--repository", "-r", help="Only this one.")] = None,
    limit: Annotated[int | None, typer.Option(help="Passages at most, 1 to 50 (8).")] = None,
    search_type: Search = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Print the passages that fit best, of one repository or of those that the query means."""
    arguments = {"query": query, "repository": name, "limit": limit, "search_type": search_type, "cursor": cursor}
    show(ask("search_documents", _given(arguments)), as_json, passages)


@commands.command("read")
def read(
    name: Name,
    path: Annotated[str, typer.Argument(help="Of the document inside the repository.")],
    lines: Annotated[str | None, typer.Option(help="Such as 210-233, 210- or 210.")] = None,
    section: Annotated[str | None, typer.Option(help="A heading.")] = None,
    budget: Budget = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Print a document page by page, or some lines or a section of it."""
    arguments = {"repository": name, "path": path, "lines": lines, "section": section}
    show(ask("read_document", _given(arguments | {"budget": budget, "cursor": cursor})), as_json, page_text)


def _finish(repository: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Follow the job of a repository to its end, if that is wanted, and show how the repository stands then."""
    job: dict[str, Any] = {}
    if wait and repository["job"]:
        job = follow_job(repository["job"], "Indexing", as_json=as_json)
        repository = ask("show_repository", {"name": repository["name"]})
    show(repository, as_json, indexed)
    if job and job["state"] != "done":
        raise typer.Exit(FAILED)


def _placed(source: str) -> str:
    """The source as the daemon understands it; git has addresses without a scheme, too: `git@host:team/handbook`."""
    address = ":" in source and not Path(source).expanduser().exists()
    return source if address else placed(source)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
