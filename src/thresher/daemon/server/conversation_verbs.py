"""Verbs that answer: threads and their turns, `ask` without a model, `process_prompt` and `get_context`.

Invariant: a client that closes its connection cancels its turn. `ask` takes the arguments and gives the answer of
`/v1/ai/query`. Rules that a command prints for a person have not been given to a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, cast
from uuid import UUID, uuid4

from thresher.agent import ChatCall, Decision, Delta, Step, Thread, TurnReport, thread_id
from thresher.app import App
from thresher.context import prompt_data
from thresher.core import Caller, InvalidInput, NotFound, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.llm import Message

_KNOWN = frozenset({"query", "context", "session_id"})


def asking_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verb by its name.

    Args:
        app: The running product.
        caller: For whom it works, and in which project.
    """

    async def ask(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        if unknown := sorted(set(arguments) - _KNOWN):
            raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(_KNOWN))}.")
        return plain(await app.assistant.ask(caller, **{"query": "", **arguments}))

    return {"ask": ask}


_PROMPT = frozenset({"prompt", "history", "queries", "files"})
_CONTEXT = frozenset({"message", "budget", "history", "queries", "files", "cursor"})


def enriching_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
    """
    context = app.services.context

    async def process_prompt(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        prompt = await context.process_prompt(caller, **_known(arguments, "prompt", _PROMPT), delivers=False)
        return {**prompt_data(prompt), "text": prompt.text}

    async def get_context(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        pack = await context.get_context(caller, **_known(arguments, "message", _CONTEXT), delivers=False)
        return {**pack.data, "text": pack.text, "budget": pack.budget}

    return {"process_prompt": process_prompt, "get_context": get_context}


def _known(arguments: Mapping[str, Any], needed: str, known: frozenset[str]) -> dict[str, Any]:
    if unknown := sorted(set(arguments) - known):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(known))}.")
    return {needed: "", **arguments}


def conversing_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
    """
    verbs = _Conversing(app, caller)
    named = (
        verbs.list_threads,
        verbs.show_thread,
        verbs.rename_thread,
        verbs.fork_thread,
        verbs.delete_thread,
        verbs.chat,
    )
    return {verb.__name__: verb for verb in named}


class _Conversing:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._threads = app.threads
        self._conversations = app.conversations
        self._caller = caller

    async def list_threads(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._threads.list(self._caller, **arguments))

    async def show_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = await self._threads.get(self._caller, str(arguments["thread"]))
        limit = int(arguments.get("states") or 0)
        points = (await self._threads.history(self._caller, thread.id, limit=limit)).points if limit else ()
        said = await self._conversations.history(self._caller, thread.id)
        waiting = await self._conversations.pending(self._caller, thread.id)
        instruction = await self._conversations.instruction(self._caller, thread.id)
        shown = {"instruction": instruction, "messages": said, "approvals": waiting, "states": points}
        return _row(thread) | plain(shown)

    async def rename_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return _row(await self._threads.rename(self._caller, **arguments))

    async def fork_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = (await self._threads.get(self._caller, str(arguments["thread"]))).id
        hint = f"Its states: thresher threads show {thread} --states 20"
        if (at := arguments.get("at")) and not _is_id(at):
            raise InvalidInput(f"'{str(at)[:40]}' is no state's id.", hint=hint)
        try:
            return _row(await self._threads.fork(self._caller, **arguments))
        except NotFound as error:
            raise NotFound(error.message, hint=hint) from error

    async def delete_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = str(arguments["thread"])
        await self._threads.delete(self._caller, thread)
        return {"deleted": thread}

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


def _row(thread: Thread) -> dict[str, Any]:
    return cast("dict[str, Any]", plain(thread))
