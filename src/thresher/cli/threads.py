"""`thresher threads`: conversations, what was said in them, and forks of them.

Invariant: messages are never markup; characters that a terminal would hide or obey are written out.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, note, show

Row = Mapping[str, Any]

_SPEAKERS = {"user": ("you", "bold"), "assistant": ("assistant", "bold green"), "tool": ("tool", "dim")}
_TITLE = 60
_WORDS = 40
_UNCONFIGURED = "No model is configured"
_CONFIGURE = (
    "Name one: set THRESHER_LLM_URL and THRESHER_LLM_MODEL and run `thresher stop`, or run: "
    "thresher models add NAME --url URL --model MODEL"
)


def thread_list(page: Row) -> RenderableType:
    """One line a thread: id, when it went on last, title."""
    if not page["threads"]:
        return Text("No conversation yet. Begin one: thresher chat")
    table = Table("thread", "went on", "title", box=None, pad_edge=False, header_style="dim")
    for thread in page["threads"]:
        table.add_row(str(thread["id"]), _moment(thread["updated_at"]), Text(thread["title"][:_TITLE]))
    return table


def thread_card(thread: Row) -> RenderableType:
    """A thread without what was said in it."""
    lines = [Text(f"thread {thread['id']}  {thread['title']}", "bold")]
    lines.append(Text(f"begun {_moment(thread['created_at'])}, went on {_moment(thread['updated_at'])}", "dim"))
    if thread["forked_from"]:
        lines.append(Text(f"forked from {thread['forked_from']} at {thread['forked_at']}", "dim"))
    if thread["settings"]:
        lines.append(Text(f"settings: {json.dumps(thread['settings'], ensure_ascii=False)}", "dim"))
    return Group(*lines)


def thread_page(thread: Row) -> RenderableType:
    """A thread with its messages, what waits, and its states."""
    said = [_entry(entry) for entry in thread["messages"]]
    if thread.get("instruction"):
        said.insert(0, Text(f"instruction: {thread['instruction']}", "dim"))
    states = [_state(state, thread["messages"]) for state in thread["states"]]
    return Group(thread_card(thread), *said, *(waiting(one) for one in thread["approvals"]), *states)


def _state(state: Row, messages: Sequence[Row]) -> Text:
    """A state, and the last message of the person that is in it: at an `input`, the newest one is not yet."""
    reached = dt.datetime.fromisoformat(state["at"])
    said = [one for one in messages if one["kind"] == "user" and one["at"]]
    before = [one["text"] for one in said if dt.datetime.fromisoformat(one["at"]) <= reached]
    within = before[:-1] if state["source"] == "input" else before
    follows = f"  after: {_first_words(within[-1])}" if within else ""
    return Text(f"state {state['id']}  {_moment(state['at'])}  {state['source']} {state['step']}{follows}", "dim")


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 3]}..."


def _entry(entry: Row) -> RenderableType:
    speaker, style = _SPEAKERS[entry["kind"]]
    tool = f" {entry['tool']}" if entry["tool"] else ""
    when = f"  {_moment(entry['at'])}" if entry["at"] else ""
    cut = "  (cut off)" if entry.get("cut") else ""
    head = Text.assemble("\n", (f"{speaker}{tool}", style), (when + cut, "dim"))
    lines = [head] + ([Text(entry["text"])] if entry["text"] else [])
    lines += [Text(f"-> {call['name']}({call['arguments']})", "dim") for call in entry["calls"]]
    lines += [Text(_place(passage), "dim") for passage in entry["passages"]]
    return Group(*lines)


def citations(report: Row) -> Sequence[Text]:
    """The passages that an answer names."""
    return [Text(_place(one), "dim") for one in report["citations"]]


def noted(note: str) -> str:
    """A note of an answer, and what a person can do about it here."""
    return f"{note} {_CONFIGURE}" if note.startswith(_UNCONFIGURED) else note


def waiting(approval: Row) -> RenderableType:
    """A call that waits for a person."""
    arguments = json.dumps(approval["arguments"], ensure_ascii=False, indent=2)
    head = Text.assemble("\n", ("waits for you: ", "bold yellow"), (approval["tool"], "bold"))
    return Group(head, Text(f"{approval['why']}  {approval['id']}", "dim"), Text(arguments))


def deleted(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Deleted thread {answer['deleted']}.")


def _place(passage: Row) -> str:
    first, last = passage["lines"]
    heading = " > ".join(passage["heading"])
    number = passage["number"] if passage.get("used", True) else "not used"
    return f"[{number}] {passage['repository']} {passage['path']}:{first}-{last} {heading}".rstrip()


def _moment(text: str) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


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
