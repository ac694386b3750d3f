"""`thresher docs` and `thresher index`: repositories of documents, what is in them, and bringing the index up to date.

Invariant: text of documents is never markup.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import absolute_source, bytes_of, given_path, path_option, schedule_of, text_of
from thresher.cli.client import ask, follow_job, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.knowledge.servers import refresh as refresh_servers
from thresher.cli.output import AsJson, for_command_line, show
from thresher.cli.views import Row, how_often, moment, plain_table, removed
from thresher.daemon import DaemonFailure
from thresher.verbs import DOCUMENTS

_STYLES = {"ready": "green", "failed": "red", "indexing": "bold", "waiting": "bold"}

_SKIPPED_SHOWN = 20

_DESCRIPTION = 80

_UNPACKED = 64 << 20
"""Most bytes of the files of a folder that is sent: what the daemon takes."""


def repository_list(repositories: Sequence[Row]) -> RenderableType:
    """One line for each repository."""
    if not repositories:
        return Text("No repositories yet. Index one: thresher index docs NAME SOURCE", "bold")
    table = plain_table("repository", "state", "documents", "tokens", "model", "version", "indexed", "about")
    for one in repositories:
        counts = f"{one['documents']:,}", f"{one['tokens']:,}"
        model = one["embedding_model"].partition("@")[0]
        when = moment(one["indexed_at"]), Text(shorten(one["description"], _DESCRIPTION, placeholder="..."))
        facts = *counts, Text(model), one["version"][:12], *when
        table.add_row(Text(one["name"], "bold"), _state(one), *facts)
    return table


def repository_card(one: Row) -> RenderableType:
    """A repository in full."""
    parts = [*_summary(one), *_left_out(one)]
    by = {"person": "written by hand", "model": "written by a model"}.get(one["guide_by"], "made from its structure")
    guide = [Text(f"\nguide ({by})", "dim"), Text(one["guide"].strip())] if one["guide"].strip() else []
    return Group(*parts, *guide)


def indexed(one: Row) -> RenderableType:
    """The state of a repository, before or after its job."""
    parts = _summary(one)
    if one["state"] in ("waiting", "indexing"):
        parts.append(Text(f"Job {one['job']} continues: thresher jobs show {one['job']} --wait", "dim"))
    return Group(*parts, *_left_out(one))


def guide_text(answer: Row) -> RenderableType:
    """The guide of a repository."""
    return Text(answer["guide"].strip() or "It has no guide yet.")


def retrieved(answer: Row) -> RenderableType:
    """The text that a model would read, then its tokens and the time."""
    parts = [Text(answer["content"])]
    if answer["hint"]:
        parts.insert(0, Text(for_command_line(answer["hint"]), "yellow"))
    of = f" of {answer['original_token_count']:,}" if answer["was_compressed"] else ""
    why = f" ({answer['why']})" if answer["why"] else ""
    where = f" of {answer['document']}{why}" if answer["document"] else ""
    summary = f"({answer['token_count']:,}{of} tokens{where}; {answer['timings'].get('total', 0):,.0f} ms)"
    parts += [Text(f"({answer['degraded']})", "yellow")] if answer["degraded"] else []
    return Group(*parts, Text(summary, "dim"))


def compared(answer: Row) -> RenderableType:
    """The text that a model would read, then why each document was chosen or left out."""
    parts = [Text(for_command_line(answer["hint"]), "yellow")] if answer["hint"] else []
    parts += [Text(answer["content"])] if answer["content"] else []
    parts += [Text(f"({answer['degraded']})", "yellow")] if answer["degraded"] else []
    for what, documents in (("chosen", answer["documents"]), ("left out", answer["left_out"])):
        parts += [Text(f"{what}: {one['repository']}/{one['document']} ({one['why']})", "dim") for one in documents]
    more = answer["left_out_count"] - len(answer["left_out"])
    parts += [Text(f"and {more:,} more documents", "dim")] if more > 0 else []
    summary = f"({answer['token_count']:,} tokens; {answer['timings'].get('total', 0):,.0f} ms)"
    return Group(*parts, Text(summary, "dim"))


def passages(answer: Row) -> RenderableType:
    """Passages, best first, each under its location."""
    parts: list[RenderableType] = []
    for one in answer["passages"]:
        part = one["part"]
        head = Text(f"{one['repository']}: {part['path']}, lines {part['first_line']}-{part['last_line']}", "bold")
        head.append("  " + " > ".join(part["heading_path"]), "dim")
        parts += [head, Text(one["text"].strip()), Text("")]
    if answer["hint"]:
        parts.append(Text(for_command_line(answer["hint"]), "yellow"))
    if answer["degraded"]:
        parts.append(Text(f"({answer['degraded']})", "yellow"))
    if answer["left_out_count"]:
        parts += _choice(answer)
    if answer["cursor"]:
        parts.append(Text(f"more: --cursor {answer['cursor']}", "dim"))
    return Group(*(parts or [Text("Nothing fits.")]))


def _choice(answer: Row) -> list[RenderableType]:
    """The repositories that were searched, and those that were not."""
    taken, others = (
        "; ".join(f"{one['name']} ({one['why']})" for one in answer[key]) for key in ("repositories", "left_out")
    )
    more = answer["left_out_count"] - len(answer["left_out"])
    others += f"; and {more:,} more" if more else ""
    return [Text(f"searched: {taken or 'none'}", "dim"), Text(f"left out: {others}", "dim")]


def page_text(answer: Row) -> RenderableType:
    """Lines of a document, then their location."""
    part = answer["part"]
    summary = f"({part['path']}, lines {part['first_line']}-{part['last_line']} of {answer['total_lines']:,})"
    more = [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer["cursor"] else []
    return Group(Text(answer["content"].rstrip("\n")), Text(summary, "dim"), *more)


def _summary(one: Row) -> list[Text]:
    head = Text(one["name"], "bold")
    head.append("  ").append_text(_state(one)).append(f"  {_source(one)}", "dim")
    meaning = "" if one["embedded"] >= one["chunks"] else f", {one['embedded']:,} of them with embeddings"
    meaning += f" (embedding model {one['embedding_model'].partition('@')[0]})" if one["embedding_model"] else ""
    counts = f"{one['documents']:,} documents, {one['chunks']:,} passages{meaning}, {one['tokens']:,} tokens"
    when = f", version {one['version'][:12]} of {moment(one['indexed_at'])}" if one["indexed_at"] else ""
    parts = [head, Text(counts + when)]
    return [*parts, Text(one["problem"], "red")] if one["problem"] else parts


def _left_out(one: Row) -> list[Text]:
    """The files that were not read: their number by reason, then the first of them."""
    if not one["skipped"]:
        return []
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(one["skipped"].items()))
    files = one.get("skipped_files", ())
    shown = [f"  {file['path']}: {file['detail'] or file['reason']}" for file in files[:_SKIPPED_SHOWN]]
    more = [f"  and {len(files) - _SKIPPED_SHOWN:,} more (--json has all)"] if len(files) > _SKIPPED_SHOWN else []
    return [Text("\n".join([f"not read: {counts}", *shown, *more]), "dim")]


def _state(one: Row) -> Text:
    return Text(one["state"], _STYLES.get(one["state"], ""))


def _source(one: Row) -> str:
    origin = one["origin"]
    return f"{origin['location']}@{origin['ref']}" if origin["ref"] else str(origin["location"])


docs = new_group()
index = new_group()

Name = Annotated[str, typer.Argument(metavar="NAME", help="A repository, as `docs list` names it.")]

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")]

FAILED = 1
"""Exit code if the indexing that was waited for failed."""


@index.command("docs")
@writes
def index_docs(
    name: Annotated[str, typer.Argument(help="A name for the repository.")],
    source: Annotated[str, typer.Argument(help="A folder, a file, or the address of a git repository.")],
    ref: Annotated[str | None, typer.Option(help="A branch, tag or commit; by default the files as they are.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only files that match this pattern; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files that match this pattern; repeatable.")] = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Index a folder, a file or a git repository; the next time only what has changed."""
    arguments = {"name": name, "source": _source_argument(source), "ref": ref, "include": include, "exclude": exclude}
    _finish(ask("index_documents", without_none(arguments)), wait, as_json)


@docs.command("show")
def show_repository(name: Name, as_json: AsJson = False) -> None:
    """Show a repository: source, counts, files that were not read and why, guide."""
    show(_shown(name), as_json, repository_card)


@docs.command("guide")
@writes
def guide(
    name: Name,
    file: Annotated[Path | None, path_option("Use the text of this file; - is standard input.", "--set")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Use the guide that is made from the documents.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the guide that tells models what a repository contains, or replace it."""
    if rebuild and file is not None:
        raise typer.BadParameter("Give --set or --rebuild, not both.")
    if rebuild or file is not None:
        answer = ask("set_guide", {"repository": name, "text": None if file is None else text_of(file)})
    else:
        answer = ask("show_repository", {"repository": name})
    show({key: answer[key] for key in ("name", "guide", "guide_by")}, as_json, guide_text)


@docs.command("refresh")
@writes
def refresh(name: Name, wait: Wait = True, as_json: AsJson = False) -> None:
    """Index what has changed at the source of a repository."""
    _finish(ask("refresh_repository", {"repository": name}), wait, as_json)


@docs.command("upload")
@writes
def upload(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A repository of uploads; added if it does not exist.")],
    source: Annotated[
        Path, typer.Argument(help="A file, an archive (.zip, .tar, .tgz) or a folder.", parser=given_path)
    ],
    path: Annotated[str | None, typer.Option("--as", metavar="PATH", help="Its path in the repository.")] = None,
    wait: Wait = True,
    as_json: AsJson = False,
) -> None:
    """Store a file, or the files of an archive or a folder, in the database, and index them."""
    folder = source.is_dir()
    data, target = (_packed(source), f"{source.resolve().name}.zip") if folder else (bytes_of(source), source.name)
    content = b64encode(data).decode()
    arguments = {"repository": name, "path": path or target, "content": content, "encoding": "base64"}
    answer = ask("upload_document", arguments)
    job = follow_job(answer["job"], "Indexing", as_json=as_json) if wait and answer["job"] else {"state": "done"}
    show(answer, as_json, _uploaded)
    if job["state"] != "done":
        raise typer.Exit(FAILED)


def _packed(folder: Path) -> bytes:
    """A folder as an archive; links and what begins with a dot are left out.

    Raises:
        DaemonFailure: A file cannot be read or has a name that cannot be sent, or they are too large.
    """
    packed, left = BytesIO(), _UNPACKED
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            below = path.relative_to(folder)
            if not path.is_file() or path.is_symlink() or any(step.startswith(".") for step in below.parts):
                continue
            left -= path.stat().st_size
            if left < 0:
                raise _unsendable(f"{folder} has more than {_UNPACKED >> 20} MiB.", "Upload folders of it one by one.")
            try:
                archive.writestr(below.as_posix(), bytes_of(path))
            except UnicodeEncodeError:
                raise _unsendable(f"The name of {str(below)!a} cannot be sent.", "Rename it.") from None
    return packed.getvalue()


def _unsendable(message: str, hint: str) -> DaemonFailure:
    return DaemonFailure(message, hint=hint, code="invalid_input", exit_code=2)


def _uploaded(one: Row) -> RenderableType:
    """What an upload, or a removal, has changed."""
    counts = [f"{len(one[key]):,} {key}" for key in ("stored", "removed") if one[key]]
    counts += [f"{one['unchanged']:,} unchanged"] if one["unchanged"] else []
    parts = [Text(one["repository"], "bold").append(f": {', '.join(counts) or 'nothing changed'}", "not bold")]
    parts += [
        Text(f"  {file['path']}: {file['detail'] or file['reason']}", "dim") for file in one["skipped"][:_SKIPPED_SHOWN]
    ]
    more = len(one["skipped"]) - _SKIPPED_SHOWN
    parts += [Text(f"  and {more:,} more that were not stored (--json has all)", "dim")] if more > 0 else []
    if one["job"]:
        parts.append(Text(f"Job {one['job']} indexes it: thresher jobs show {one['job']} --wait", "dim"))
    return Group(*parts)


@docs.command("schedule")
@writes
def schedule(
    name: Name,
    every: Annotated[int | None, typer.Option(metavar="SECONDS", min=10, help="Check every so many seconds.")] = None,
    never: Annotated[bool, typer.Option("--never", help="Do not check at all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how often a repository's source is checked for changes; without an option, as the settings say."""
    arguments = {"repository": name, "seconds": schedule_of(every, never)}
    show(ask("schedule_repository", arguments), as_json, _scheduled)


@docs.command("webhook")
@writes
def webhook(
    name: Name,
    remove: Annotated[bool, typer.Option("--remove", help="Take it away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let another program have a repository indexed again by signed calls; an earlier webhook ends."""
    if remove:
        show(ask("remove_webhook", {"repository": name}), as_json, removed)
    else:
        show(ask("make_webhook", {"repository": name}), as_json, _webhook)


def _webhook(one: Row) -> RenderableType:
    """Where a webhook is called, and its secret."""
    shown = Text("The secret is shown this once; how calls are signed: docs/howto/index-documents.md", "dim")
    return Group(Text(f"POST {one['path']}", "bold"), Text(f"secret: {one['secret']}"), shown)


def _scheduled(one: Row) -> RenderableType:
    """When the source of a repository is checked."""
    often = f"its source is checked {how_often(one['check_seconds'])}"
    if one["check_seconds"] is None:
        often = "a folder is watched, other sources are checked as THRESHER_CHECK_SECONDS says"
    return Text(one["name"], "bold").append(f": {often}", "not bold")


def _finish(repository: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Wait for the job of a repository, if wanted, and show the repository."""
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


def _source_argument(source: str) -> str:
    """The source as the daemon understands it; git also has addresses without a scheme: `git@host:team/handbook`."""
    address = ":" in source and not Path(source).expanduser().exists()
    return source if address else absolute_source(source)


_SEARCH_TYPE = "--search-type -t: How passages are found"

_NAME = {"repository": "NAME: A repository, as `docs list` names it"}

add_command(docs, "list", DOCUMENTS["list_repositories"], repository_list)

add_command(docs, "remove", DOCUMENTS["remove_repository"], removed, arguments=_NAME)

add_command(
    docs,
    "remove-upload",
    DOCUMENTS["remove_upload"],
    _uploaded,
    arguments=_NAME | {"path": "PATH: An uploaded file, an archive or a folder"},
)

add_command(
    docs,
    "retrieve",
    DOCUMENTS["retrieve_document"],
    retrieved,
    arguments=_NAME | {"query": "QUERY"},
    flags={"budget": "-b", "search_type": _SEARCH_TYPE, "mode": "--mode: How the answer is made"},
)

add_command(
    docs,
    "compare",
    DOCUMENTS["retrieve_documents"],
    compared,
    arguments={"query": "QUERY"},
    flags={
        "repositories": "--repository -r: Only this repository; repeatable",
        "documents": "--document: Only the document of this path; repeatable",
        "budget": "-b",
        "search_type": _SEARCH_TYPE,
    },
)

add_command(
    docs,
    "search",
    DOCUMENTS["search_documents"],
    passages,
    arguments={"query": "QUERY: Any words"},
    flags={
        "repository": "--repository -r: Only this repository; by default those that fit the query",
        "search_type": _SEARCH_TYPE,
        "limit": "--limit: The most passages",
    },
)

add_command(
    docs,
    "read",
    DOCUMENTS["read_document"],
    page_text,
    arguments=_NAME | {"path": "PATH: The path of the document in the repository"},
    flags={"budget": "-b"},
)


@index.command("tools")
@writes
def index_tools(
    server: Annotated[list[str] | None, typer.Option("--server", "-s", help="Only this server; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tools of servers again, and index what changed."""
    refresh_servers(server, as_json)
