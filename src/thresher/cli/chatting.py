"""`thresher chat`: a conversation with the model that is configured, over everything that is installed.

Invariant: the output ends with a whole line, however the answer ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final, cast
from uuid import uuid4

import typer

from thresher.cli.client import ask
from thresher.cli.output import AsJson, dim_note, note, put, show
from thresher.cli.threads import citations, noted, waiting
from thresher.daemon import DaemonFailure

_WAITS: Final = "(Waits for your approval: "
"""How an answer ends for clients that show nothing but words; here each call that waits is shown in full."""

_UNSHOWN: Final = ("called", "usage")
"""Steps that are of use to programs alone."""


class Telling:
    """What a person sees of one answer.

    Args:
        apart: Whether another answer stands above it, with nothing between.

    Attributes:
        begun: Whether anything was told.
    """

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._held = ""
        self._open = False
        self.begun = False

    def tell(self, event: Mapping[str, Any]) -> None:
        """Show what a turn tells."""
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
        """Write what is left.

        Args:
            waits: Whether calls wait, which are shown besides.
        """
        if waits:
            self._held = ""
        self._release()
        if self._open:
            self._write("\n")


FAILED = 1
"""Exit code where the model failed in a turn after it had said or done something."""
WAITING = 4
"""Exit code where a call waits for a person, and none was there to ask."""
_DECIDING = "--approve, --decline"

Ids = list[str] | None


def register(application: typer.Typer) -> None:
    """Add the command."""
    application.command("chat")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="What you say; lines of standard input unless given.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Go on with this conversation.")] = None,
    model: Annotated[str | None, typer.Option(help="A registered model, for now.")] = None,
    approve: Annotated[Ids, typer.Option(metavar="ID", help="Let a call that waits be made.")] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="With --approve: ask no more about this tool as it is defined now.")
    ] = False,
    decline: Annotated[Ids, typer.Option(metavar="ID", help="Do not let it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Talk with the model: one message, or line by line; what it says comes as it is said."""
    decisions = _decided(approve, approved=True, remember=remember) + _decided(decline, approved=False)
    _check(decisions, thread)
    if remember and not approve:
        raise typer.BadParameter("it says what becomes of a call: name one with --approve", param_hint="--remember")
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
        raise typer.BadParameter("a decision belongs to a thread: name the thread with --thread", param_hint=_DECIDING)
    approved = {one["id"] for one in decisions if one["approved"]}
    if both := sorted(approved & {one["id"] for one in decisions if not one["approved"]}):
        raise typer.BadParameter(f"{', '.join(both)}: decide one way, not both", param_hint=_DECIDING)


class _Talk:
    """A conversation from here."""

    def __init__(self, thread: str | None, model: str | None, as_json: bool) -> None:
        self._thread = thread or str(uuid4())
        self._named, self._begun = bool(thread), False
        self._settings = {"model": model} if model is not None else {}
        self._as_json = as_json
        self._last: Mapping[str, Any] = {}
        self._failed = False

    @property
    def waits(self) -> bool:
        """Whether a call waits, and nobody was here to decide about it: to say more would decline it."""
        return bool(self._last.get("approvals"))

    def say(self, what: Mapping[str, Any]) -> None:
        """One turn, with the questions that it leads to."""
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
        telling = Telling(apart=bool(self._last) and not self._is_attended())
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
        """Say how to go on, should what is done within be broken off."""
        try:
            yield
        except (KeyboardInterrupt, typer.Abort, DaemonFailure) as error:
            refused = isinstance(error, DaemonFailure)
            if not self._as_json and (self._begun or (self._named and not refused)):
                note("", end="\n" if sys.stderr.isatty() and not refused else "")  # after ^C, or a question
                self._point_on()
            raise

    def end(self, *, lines_follow: bool) -> None:
        """Say how to go on, and how it ended.

        Args:
            lines_follow: Whether more lines may stand in the input.
        """
        if not self._last:
            return
        if not self._as_json:
            for one in self._last["approvals"]:
                show(one, False, waiting)
        if self.waits and lines_follow:
            note("Lines that follow in the input were not said: decide about what waits first.")
        if not self._as_json:
            self._point_on()
        if self.waits:
            raise typer.Exit(WAITING)
        if self._failed:
            raise typer.Exit(FAILED)

    def _point_on(self) -> None:
        deciding = " --approve ID, or --decline ID" if self._last.get("approvals") else ""
        note(f"(go on with: --thread {self._thread}{deciding})")


def _lines(as_json: bool) -> Iterator[str]:
    """What is said, line by line, until the input ends."""
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
    """Ask a person about a call: yes, no, yes with other arguments, or always where that can be remembered."""
    show(approval, False, waiting)
    always = "[a]lways this tool, " if approval["definition"] else ""
    question = f"Make this call? [y]es, {always}[n]o, [e]dit its arguments"
    while True:
        said = typer.prompt(question, default="n", err=True).strip().lower()
        if said.startswith("a") and always:
            return {"id": approval["id"], "approved": True, "remember": True}
        if said.startswith("y"):
            return {"id": approval["id"], "approved": True}
        if not said.startswith("e"):
            reason = typer.prompt("Why not? The model is told", default="", show_default=False, err=True)
            return {"id": approval["id"], "approved": False, "reason": reason}
        if (arguments := _edited()) is not None:
            return {"id": approval["id"], "approved": True, "arguments": arguments}


def _edited() -> dict[str, Any] | None:
    """Arguments that a person wrote; None where he goes back."""
    asked = "Arguments, as one line of JSON; an empty line goes back"
    while line := typer.prompt(asked, default="", show_default=False, err=True).strip():
        try:
            arguments = json.loads(line)
        except ValueError as error:
            note(f"That is no JSON: {error}.")
            continue
        if isinstance(arguments, dict):
            return cast("dict[str, Any]", arguments)
        note("Arguments are an object: {...}.")
    return None
