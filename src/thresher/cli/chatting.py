"""`thresher chat`: a conversation with the model that is configured, over everything that is installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer

from thresher.cli.output import AsJson, ReaderGone, show
from thresher.cli.thread_views import citations, seen, waiting
from thresher.daemon import ask

FAILED = 1
"""Exit code where no model could answer."""
WAITING = 4
"""Exit code where a call waits for a person, and none was there to ask."""

Ids = list[str] | None


def register(application: typer.Typer) -> None:
    """Add the command."""
    application.command("chat")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="What you say; lines of standard input unless given.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Go on with this conversation.")] = None,
    model: Annotated[str | None, typer.Option(help="A registered model, for now.")] = None,
    approve: Annotated[Ids, typer.Option(metavar="ID", help="Let a call that waits be made.")] = None,
    decline: Annotated[Ids, typer.Option(metavar="ID", help="Do not let it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Talk with the model: one message, or line by line; what it says comes as it is said."""
    talk = _Talk(thread, model, as_json)
    if decisions := _decided(approve, True) + _decided(decline, False):
        talk.say(approvals=decisions)
    for line in [message] if message is not None else () if decisions else _lines(as_json):
        talk.say(message=line)
    talk.end()


class _Talk:
    """A conversation from here."""

    def __init__(self, thread: str | None, model: str | None, as_json: bool) -> None:
        self._thread = thread
        self._settings = {"model": model} if model is not None else {}
        self._as_json = as_json
        self._last: Mapping[str, Any] = {}

    def say(self, **what: Any) -> None:
        """One turn, with the questions that it leads to."""
        asked: dict[str, Any] = what
        while asked:
            self._last = self._turn(asked)
            self._thread = self._last["thread"]
            waits = self._last["approvals"]
            asked = {"approvals": [_decision(one) for one in waits]} if waits and self._is_attended() else {}

    def _turn(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        named = {"thread": self._thread} if self._thread else {}
        arguments = {**asked, **named, "settings": self._settings}
        if self._as_json:
            return ask("chat", arguments)
        report = ask("chat", arguments, progress=_tell)
        _write("\n")
        for line in (*citations(report), *(seen(note) for note in report["notes"])):
            sys.stderr.write(f"{line}\n")
        return report

    def _is_attended(self) -> bool:
        return not self._as_json and sys.stdin.isatty()

    def end(self) -> None:
        """Say how to go on, and how it ended."""
        if not self._last:
            return
        if self._as_json:
            show(self._last, self._as_json, str)
        else:
            self._point_on()
        if self._last["approvals"]:
            raise typer.Exit(WAITING)
        if self._last["finish"] == "error":
            raise typer.Exit(FAILED)

    def _point_on(self) -> None:
        for one in self._last["approvals"]:
            show(one, False, waiting)
        named = f"--thread {self._thread}"
        sys.stderr.write(
            f"(go on with: {named}{' --approve ID, or --decline ID' if self._last['approvals'] else ''})\n"
        )


def _tell(event: Mapping[str, Any]) -> None:
    """Show what a turn tells: its words here, its steps to whoever looks."""
    if text := event.get("delta"):
        _write(seen(text))
    elif (step := event.get("step")) and sys.stderr.isatty():
        sys.stderr.write(f"\x1b[2m[{seen(' '.join((step, event.get('detail', ''))).strip())}]\x1b[0m\n")


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


def _lines(as_json: bool) -> Iterator[str]:
    """What is said, line by line, until the input ends."""
    attended = sys.stdin.isatty() and not as_json
    while True:
        if attended:
            sys.stderr.write("> ")
            sys.stderr.flush()
        if not (line := sys.stdin.readline()):
            return
        if line.strip():
            yield line.strip()


def _decided(ids: Ids, approved: bool) -> list[dict[str, Any]]:
    return [{"id": one, "approved": approved} for one in ids or ()]


def _decision(approval: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a person about a call: yes, no, or yes with other arguments."""
    show(approval, False, waiting)
    said = typer.prompt("Make this call? [y]es, [n]o, [e]dit its arguments", default="n", err=True).strip().lower()
    if said.startswith("e"):
        return {"id": approval["id"], "approved": True, "arguments": _edited()}
    if said.startswith("y"):
        return {"id": approval["id"], "approved": True}
    reason = typer.prompt("Why not? The model is told", default="", show_default=False, err=True)
    return {"id": approval["id"], "approved": False, "reason": reason}


def _edited() -> dict[str, Any]:
    while True:
        try:
            arguments = json.loads(typer.prompt("Arguments, as one line of JSON", err=True))
        except ValueError as error:
            sys.stderr.write(f"That is no JSON: {error}.\n")
            continue
        if isinstance(arguments, dict):
            return cast("dict[str, Any]", arguments)
        sys.stderr.write("Arguments are an object: {...}.\n")
