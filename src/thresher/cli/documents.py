"""`thresher index docs` and `thresher docs`: repositories of documents, and what stands in them."""

from __future__ import annotations

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
from thresher.cli.verbs import add_command
from thresher.verbs import DOCUMENTS

commands = typer.Typer(help="Ask and manage repositories of documents.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A repository, as `docs list` names it.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")]

FAILED = 1
"""Exit code where the indexing that was waited for did not end well."""


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


@commands.command("show")
def show_repository(name: Name, as_json: AsJson = False) -> None:
    """Show one repository: source, counts, files that were not read and why, guide."""
    show(_shown(name), as_json, repository_card)


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
        answer = ask("set_guide", {"repository": name, "text": None if file is None else text_of(file)})
    else:
        answer = ask("show_repository", {"repository": name})
    show({key: answer[key] for key in ("name", "guide", "guide_by")}, as_json, guide_text)


@commands.command("refresh")
@writes
def refresh(name: Name, wait: Wait = True, as_json: AsJson = False) -> None:
    """Take in what has changed at a repository's source."""
    _finish(ask("refresh_repository", {"repository": name}), wait, as_json)


def _finish(repository: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Follow the job of a repository to its end, if that is wanted, and show how the repository stands then."""
    job: dict[str, Any] = {}
    if wait and repository["job"]:
        job = follow_job(repository["job"], "Indexing", as_json=as_json)
        repository = _shown(repository["name"])
    show(repository, as_json, indexed)
    if job and job["state"] != "done":
        raise typer.Exit(FAILED)


def _shown(name: str) -> dict[str, Any]:
    """A repository with the files that were not read."""
    repository, skipped = (ask(verb, {"repository": name}) for verb in ("show_repository", "skipped_files"))
    return {**repository, "skipped_files": skipped["files"]}


def _placed(source: str) -> str:
    """The source as the daemon understands it; git has addresses without a scheme, too: `git@host:team/handbook`."""
    address = ":" in source and not Path(source).expanduser().exists()
    return source if address else placed(source)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


_SEARCH_TYPE = "--search-type -t: How passages are found"
_NAME = {"repository": "NAME: A repository, as `docs list` names it"}

add_command(commands, "list", DOCUMENTS["list_repositories"], repository_list)
add_command(commands, "remove", DOCUMENTS["remove_repository"], removed, arguments=_NAME)
add_command(
    commands,
    "retrieve",
    DOCUMENTS["retrieve_document"],
    retrieved,
    arguments=_NAME | {"query": "QUERY"},
    flags={"budget": "-b", "search_type": _SEARCH_TYPE, "mode": "--mode: How the answer comes about"},
)
add_command(
    commands,
    "search",
    DOCUMENTS["search_documents"],
    passages,
    arguments={"query": "QUERY: Any words"},
    flags={
        "repository": "--repository -r: Only this one; those that the query means by default",
        "search_type": _SEARCH_TYPE,
        "limit": "--limit: Most passages",
    },
)
add_command(
    commands,
    "read",
    DOCUMENTS["read_document"],
    page_text,
    arguments=_NAME | {"path": "PATH: Of the document inside the repository"},
    flags={"budget": "-b"},
)
