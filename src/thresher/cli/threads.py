"""`thresher threads`: conversations, what was said in them, and forks of them."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, note, show
from thresher.cli.thread_views import deleted, thread_card, thread_list, thread_page

commands = typer.Typer(
    help="See and manage conversations; `thresher chat` goes on with one.", no_args_is_help=True, rich_markup_mode=None
)

ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="A thread's id, as `threads list` shows it.")]


@commands.command("list")
def list_threads(
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Of the last page: those after it.")] = None,
    as_json: AsJson = False,
) -> None:
    """List your conversations, those that went on last first."""
    page = ask("list_threads", given({"limit": limit, "cursor": cursor}))
    show(page, as_json, thread_list)
    if page["cursor"] and not as_json:
        note(f"(more with: --cursor {page['cursor']})")


@commands.command("show")
def show_thread(
    thread: ThreadId,
    states: Annotated[int, typer.Option(help="So many states too, newest first, for `fork --at`.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print what was said, with the documents and tools behind it, and what waits for you."""
    show(ask("show_thread", {"thread": thread, "states": states}), as_json, thread_page)


@commands.command("rename")
@writes
def rename_thread(
    thread: ThreadId,
    title: Annotated[str, typer.Argument(help="One line.")],
    as_json: AsJson = False,
) -> None:
    """Give a conversation another title."""
    show(ask("rename_thread", {"thread": thread, "title": title}), as_json, thread_card)


@commands.command("fork")
@writes
def fork_thread(
    thread: ThreadId,
    at: Annotated[str | None, typer.Option(help="One of its states; the last one unless told.")] = None,
    title: Annotated[str | None, typer.Option(help="Of the new one; the former's unless told.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a conversation that begins with what this one has come to."""
    show(ask("fork_thread", given({"thread": thread, "at": at, "title": title})), as_json, thread_card)


@commands.command("delete")
@writes
def delete_thread(thread: ThreadId, as_json: AsJson = False) -> None:
    """Remove a conversation and all that is kept of it; forks of it stay."""
    show(ask("delete_thread", {"thread": thread}), as_json, deleted)
