"""`thresher chat` and `thresher threads`: conversations with the configured model, over everything that is installed.

Invariant: the output ends with a whole line, however the answer ends. Messages are never markup; characters that a
terminal would hide or obey are written out.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, cast
from uuid import uuid4

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.client import ask, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, dim_note, note, put, show
from thresher.cli.views import Row, moment, plain_table
from thresher.daemon import DaemonFailure

_SPEAKERS = {"user": ("you", "bold"), "assistant": ("assistant", "bold green"), "tool": ("tool", "dim")}

_TITLE = 60

_WORDS = 40

_UNCONFIGURED = "No model is configured"

_CONFIGURE = (
    "Name one: set THRESHER_LLM_URL and THRESHER_LLM_MODEL and run `thresher stop`, or run: "
    "thresher models add NAME --url URL --model MODEL"
)


def thread_list(page: Row) -> RenderableType:
    """One line for each thread: id, last change, title."""
    if not page["threads"]:
        return Text("No conversations yet. Start one: thresher chat")
    table = plain_table("thread", "last change", "title")
    for thread in page["threads"]:
        table.add_row(str(thread["id"]), moment(thread["updated_at"], seconds=True), Text(thread["title"][:_TITLE]))
    return table


def thread_card(thread: Row) -> RenderableType:
    """A thread without its messages."""
    lines = [Text(f"thread {thread['id']}  {thread['title']}", "bold")]
    started, changed = (moment(thread[name], seconds=True) for name in ("created_at", "updated_at"))
    lines.append(
        Text(
            f"started {started}, last change {changed}",
            "dim",
        )
    )
    if thread["forked_from"]:
        lines.append(Text(f"forked from {thread['forked_from']} at {thread['forked_at']}", "dim"))
    if thread["settings"]:
        lines.append(Text(f"settings: {json.dumps(thread['settings'], ensure_ascii=False)}", "dim"))
    return Group(*lines)


def thread_page(thread: Row) -> RenderableType:
    """A thread with its messages, the calls that wait, and its states."""
    entries = [_entry(entry) for entry in thread["messages"]]
    if thread.get("instruction"):
        entries.insert(0, Text(f"instruction: {thread['instruction']}", "dim"))
    states = [_state(state, thread["messages"]) for state in thread["states"]]
    return Group(thread_card(thread), *entries, *(waiting(one) for one in thread["approvals"]), *states)


def _state(state: Row, messages: Sequence[Row]) -> Text:
    """A state and the user's last message in it; an `input` state does not have the newest one yet."""
    reached = dt.datetime.fromisoformat(state["at"])
    sent = [one for one in messages if one["kind"] == "user" and one["at"]]
    before = [one["text"] for one in sent if dt.datetime.fromisoformat(one["at"]) <= reached]
    within = before[:-1] if state["source"] == "input" else before
    follows = f"  after: {_first_words(within[-1])}" if within else ""
    return Text(
        f"state {state['id']}  {moment(state['at'], seconds=True)}  {state['source']} {state['step']}{follows}", "dim"
    )


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 3]}..."


def _entry(entry: Row) -> RenderableType:
    speaker, style = _SPEAKERS[entry["kind"]]
    tool = f" {entry['tool']}" if entry["tool"] else ""
    when = f"  {moment(entry['at'], seconds=True)}" if entry["at"] else ""
    cut = "  (cut off)" if entry.get("cut") else ""
    head = Text.assemble("\n", (f"{speaker}{tool}", style), (when + cut, "dim"))
    lines = [head] + ([Text(entry["text"])] if entry["text"] else [])
    lines += [Text(f"-> {call['name']}({call['arguments']})", "dim") for call in entry["calls"]]
    lines += [Text(_place(passage), "dim") for passage in entry["passages"]]
    return Group(*lines)


def citations(report: Row) -> Sequence[Text]:
    """The passages that an answer cites."""
    return [Text(_place(one), "dim") for one in report["citations"]]


def noted(note: str) -> str:
    """A note of an answer, with what the user can do about it."""
    return f"{note} {_CONFIGURE}" if note.startswith(_UNCONFIGURED) else note


def waiting(approval: Row) -> RenderableType:
    """A call that waits for approval."""
    arguments = json.dumps(approval["arguments"], ensure_ascii=False, indent=2)
    head = Text.assemble("\n", ("waits for your approval: ", "bold yellow"), (approval["tool"], "bold"))
    return Group(head, Text(f"{approval['why']}  {approval['id']}", "dim"), Text(arguments))


def deleted(answer: Row) -> RenderableType:
    """What was deleted."""
    return Text(f"Deleted thread {answer['deleted']}.")


def _place(passage: Row) -> str:
    first, last = passage["lines"]
    heading = " > ".join(passage["heading"])
    number = passage["number"] if passage.get("used", True) else "not used"
    return f"[{number}] {passage['repository']} {passage['path']}:{first}-{last} {heading}".rstrip()


threads = new_group()

ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="A thread's id, as `threads list` shows it.")]


@threads.command("list")
def list_threads(
    limit: Annotated[int, typer.Option(help="The most threads to list.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the last page, to get the next one.")] = None,
    query: Annotated[str | None, typer.Option(help="Words of the title: list only these.")] = None,
    as_json: AsJson = False,
) -> None:
    """List your conversations, the latest first."""
    page = ask("list_threads", without_none({"limit": limit, "cursor": cursor, "query": query}))
    show(page, as_json, thread_list)
    if page["cursor"] and not as_json:
        note(f"(more with: --cursor {page['cursor']})")


@threads.command("show")
def show_thread(
    thread: ThreadId,
    states: Annotated[int, typer.Option(help="Also show this many states, newest first, for `fork --at`.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Print a conversation, with the passages and tools of its answers and the calls that wait for approval."""
    show(ask("show_thread", {"thread": thread, "states": states}), as_json, thread_page)


@threads.command("rename")
@writes
def rename_thread(
    thread: ThreadId,
    title: Annotated[str, typer.Argument(help="The new title, one line.")],
    as_json: AsJson = False,
) -> None:
    """Change the title of a conversation."""
    show(ask("rename_thread", {"thread": thread, "title": title}), as_json, thread_card)


@threads.command("fork")
@writes
def fork_thread(
    thread: ThreadId,
    at: Annotated[str | None, typer.Option(help="One of its states; the last one by default.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of the copy; that of the original by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a copy of a conversation, up to one of its states."""
    show(ask("fork_thread", without_none({"thread": thread, "at": at, "title": title})), as_json, thread_card)


@threads.command("delete")
@writes
def delete_thread(thread: ThreadId, as_json: AsJson = False) -> None:
    """Delete a conversation with everything stored of it; forks of it remain."""
    show(ask("delete_thread", {"thread": thread}), as_json, deleted)


_WAITS: Final = "(Waits for your approval: "
"""How an answer ends for clients that show text only; here each waiting call is shown in full."""

_UNSHOWN: Final = ("called", "usage")
"""Steps that only programs need."""


class AnswerStream:
    """Prints one answer as it arrives.

    Args:
        apart: Whether to print an empty line first, since another answer is above.

    Attributes:
        begun: Whether an event has arrived.
    """

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._held = ""
        self._open = False
        self.begun = False

    def tell(self, event: Mapping[str, Any]) -> None:
        """Print an event of a turn."""
        self.begun = True
        if text := event.get("delta"):
            self._say(text)
        elif (step := event.get("step")) and step not in _UNSHOWN and sys.stderr.isatty():
            dim_note(" ".join((step, event.get("detail", ""))).strip())

    def _say(self, text: str) -> None:
        self._release()
        if text.lstrip().startswith(_WAITS):
            self._held = text
        else:
            self._write(text)

    def _release(self) -> None:
        held, self._held = self._held, ""
        if held:
            self._write(held)

    def _write(self, text: str) -> None:
        parting, self._apart = "\n" if self._apart else "", False
        self._open = not text.endswith("\n")
        put(parting + text)

    def end(self, *, waits: bool = False) -> None:
        """Write the rest of the answer.

        Args:
            waits: Whether calls wait for approval; they are shown separately.
        """
        if waits:
            self._held = ""
        self._release()
        if self._open:
            self._write("\n")


FAILED = 1
"""Exit code if the model failed after it had said or done something."""

WAITING = 4
"""Exit code if a call waits for approval and no user could be asked."""

_DECIDING = "--approve, --decline"

Ids = list[str] | None


def chat(
    message: Annotated[str | None, typer.Argument(help="Your message; lines of standard input by default.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Continue this conversation.")] = None,
    model: Annotated[str | None, typer.Option(help="Use this registered model, for this run.")] = None,
    approve: Annotated[Ids, typer.Option(metavar="ID", help="Approve a waiting call.")] = None,
    remember: Annotated[
        bool,
        typer.Option(
            "--remember", help="With --approve: do not ask again about this tool, until its definition changes."
        ),
    ] = False,
    decline: Annotated[Ids, typer.Option(metavar="ID", help="Decline a waiting call.")] = None,
    as_json: AsJson = False,
) -> None:
    """Talk with the model: one message, or one per line of input.

    Answers are printed as they arrive.
    """
    decisions = _decided(approve, approved=True, remember=remember) + _decided(decline, approved=False)
    _check(decisions, thread)
    if remember and not approve:
        raise typer.BadParameter("name the call with --approve", param_hint="--remember")
    talk = _Talk(thread, model, as_json)
    turns: list[dict[str, Any]] = [{"approvals": decisions}] if decisions else []
    turns += [{"message": message}] if message is not None else []
    with talk.pointing_on():
        for asked in turns or ({"message": line} for line in _lines(as_json)):
            talk.say(asked)
            if talk.waits:
                break
    talk.end(lines_follow=not turns)


def _check(decisions: list[dict[str, Any]], thread: str | None) -> None:
    if decisions and not thread:
        raise typer.BadParameter("name the thread of the call with --thread", param_hint=_DECIDING)
    approved = {one["id"] for one in decisions if one["approved"]}
    if both := sorted(approved & {one["id"] for one in decisions if not one["approved"]}):
        raise typer.BadParameter(f"{', '.join(both)}: approve or decline, not both", param_hint=_DECIDING)


class _Talk:
    """A conversation at the command line."""

    def __init__(self, thread: str | None, model: str | None, as_json: bool) -> None:
        self._thread = thread or str(uuid4())
        self._named, self._begun = bool(thread), False
        self._settings = {"model": model} if model is not None else {}
        self._as_json = as_json
        self._last: Mapping[str, Any] = {}
        self._failed = False

    @property
    def waits(self) -> bool:
        """Whether a call waits for approval; another message would decline it."""
        return bool(self._last.get("approvals"))

    def say(self, what: Mapping[str, Any]) -> None:
        """Run a turn, and ask about the calls that wait in it."""
        asked = what
        while asked:
            self._last = self._turn(asked)
            self._failed = self._failed or self._last["finish"] == "error"
            waits = self._last["approvals"]
            asked = {"approvals": [_decision(one) for one in waits]} if waits and self._is_attended() else {}

    def _turn(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        arguments = {**asked, "thread": self._thread, "settings": self._settings}
        if self._as_json:
            report = ask("chat", arguments)
            show(report, True, str)
            return report
        telling = AnswerStream(apart=bool(self._last) and not self._is_attended())
        waits = False
        try:
            report = ask("chat", arguments, progress=telling.tell)
            waits = bool(report["approvals"])
        finally:
            self._begun = self._begun or telling.begun
            telling.end(waits=waits)
        for line in (*citations(report), *map(noted, report["notes"])):
            note(str(line))
        return report

    def _is_attended(self) -> bool:
        return not self._as_json and sys.stdin.isatty()

    @contextmanager
    def pointing_on(self) -> Generator[None]:
        """If the block is interrupted, print how to continue."""
        try:
            yield
        except (KeyboardInterrupt, typer.Abort, DaemonFailure) as error:
            refused = isinstance(error, DaemonFailure)
            if not self._as_json and (self._begun or (self._named and not refused)):
                note("", end="\n" if sys.stderr.isatty() and not refused else "")  # after ^C, or a question
                self._point_on()
            raise

    def end(self, *, lines_follow: bool) -> None:
        """Print how to continue, and end with an exit code if needed.

        Args:
            lines_follow: Whether the input may have more lines.
        """
        if not self._last:
            return
        if not self._as_json:
            for one in self._last["approvals"]:
                show(one, False, waiting)
        if self.waits and lines_follow:
            note("The remaining lines of the input were not sent: decide about the waiting call first.")
        if not self._as_json:
            self._point_on()
        if self.waits:
            raise typer.Exit(WAITING)
        if self._failed:
            raise typer.Exit(FAILED)

    def _point_on(self) -> None:
        deciding = " --approve ID, or --decline ID" if self._last.get("approvals") else ""
        note(f"(continue with: --thread {self._thread}{deciding})")


def _lines(as_json: bool) -> Iterator[str]:
    """The lines of the input that are not empty."""
    attended = sys.stdin.isatty() and not as_json
    while True:
        if attended:
            note("> ", end="")
        if not (line := sys.stdin.readline()):
            return
        if line.strip():
            yield line.strip()


def _decided(ids: Ids, *, approved: bool, remember: bool = False) -> list[dict[str, Any]]:
    return [{"id": one, "approved": approved} | ({"remember": True} if remember else {}) for one in ids or ()]


def _decision(approval: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the user about a call: yes, no, yes with other arguments, or always, if that can be remembered."""
    show(approval, False, waiting)
    always = "[a]lways this tool, " if approval["definition"] else ""
    question = f"Make this call? [y]es, {always}[n]o, [e]dit its arguments"
    while True:
        reply = typer.prompt(question, default="n", err=True).strip().lower()
        if reply.startswith("a") and always:
            return {"id": approval["id"], "approved": True, "remember": True}
        if reply.startswith("y"):
            return {"id": approval["id"], "approved": True}
        if not reply.startswith("e"):
            reason = typer.prompt("Why not? The model will see this", default="", show_default=False, err=True)
            return {"id": approval["id"], "approved": False, "reason": reason}
        if (arguments := _edited()) is not None:
            return {"id": approval["id"], "approved": True, "arguments": arguments}


def _edited() -> dict[str, Any] | None:
    """Arguments that the user entered; None to go back."""
    asked = "Arguments, as one line of JSON; an empty line goes back"
    while line := typer.prompt(asked, default="", show_default=False, err=True).strip():
        try:
            arguments = json.loads(line)
        except ValueError as error:
            note(f"That is not valid JSON: {error}.")
            continue
        if isinstance(arguments, dict):
            return cast("dict[str, Any]", arguments)
        note("Arguments must be an object: {...}.")
    return None
