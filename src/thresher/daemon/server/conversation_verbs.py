"""What only commands do with conversations: show a thread with its messages, fork one, run a turn.

Invariant: a client that closes its connection cancels its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import UUID, uuid4

from thresher.agent import ChatCall, Decision, Delta, Step, TurnReport, thread_id
from thresher.app import App
from thresher.core import Caller, InvalidInput, NotFound, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.llm import Message


def conversing_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
    """
    verbs = _Conversing(app, caller)
    return {verb.__name__: verb for verb in (verbs.show_thread, verbs.fork_thread, verbs.chat)}


class _Conversing:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._threads = app.services.threads
        self._conversations = app.conversations
        self._caller = caller

    async def show_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = await self._threads.get(self._caller, str(arguments["thread"]))
        limit = int(arguments.get("states") or 0)
        points = (await self._threads.history(self._caller, thread.id, limit=limit)).states if limit else ()
        said = await self._conversations.history(self._caller, thread.id)
        waiting = await self._conversations.pending(self._caller, thread.id)
        instruction = await self._conversations.instruction(self._caller, thread.id)
        shown = {"instruction": instruction, "messages": said, "approvals": waiting, "states": points}
        return plain(thread) | plain(shown)

    async def fork_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = (await self._threads.get(self._caller, str(arguments["thread"]))).id
        hint = f"Its states: thresher threads show {thread} --states 20"
        if (at := arguments.get("at")) and not _is_id(at):
            raise InvalidInput(f"'{str(at)[:40]}' is no state's id.", hint=hint)
        try:
            return plain(await self._threads.fork(self._caller, **arguments))
        except NotFound as error:
            raise NotFound(error.message, hint=hint) from error

    async def chat(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Run a turn of a thread, a new one where none is named; tells its words and steps, returns its report."""
        report: TurnReport | None = None
        async with aclosing(self._conversations.talk(self._caller, _call(arguments))) as events:
            async for event in events:
                match event:
                    case Delta():
                        tell({"delta": event.text})
                    case Step():
                        tell({"step": event.name, "detail": event.detail, "data": plain(event.data)})
                    case TurnReport():
                        report = event
        return plain(report)


def _call(arguments: Mapping[str, Any]) -> ChatCall:
    message, approvals = str(arguments.get("message") or ""), arguments.get("approvals") or ()
    try:
        decisions = tuple(Decision(**one) for one in approvals)
    except TypeError:
        raise InvalidInput(
            "A decision is {id, approved, arguments, reason}.", hint="Name the call by its id."
        ) from None
    return ChatCall(
        messages=(Message("user", message),) if message or not decisions else (),
        thread=thread_id(arguments.get("thread") or uuid4()),
        settings=arguments.get("settings") or {},
        decisions=decisions,
    )


def _is_id(text: object) -> bool:
    try:
        UUID(str(text))
    except ValueError:
        return False
    return True
