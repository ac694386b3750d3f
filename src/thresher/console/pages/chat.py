"""Chat: what does it know and do? Conversations, as they are written.

A message begins a turn that belongs to no browser: it goes on when the page is closed. A page follows it by what is
stored, so that any process can serve it, and a lost connection goes on where it was. Without script the answer to a
form comes when the turn has ended.

Invariant: what a page shows of a conversation is read for the visit's caller, whose thread it is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast
from uuid import UUID, uuid4

from starlette.responses import HTMLResponse, Response, StreamingResponse

from thresher.agent import ChatCall, Decision, Thread, TurnProgress
from thresher.api import WATCHED
from thresher.console.conversation import TurnView, turns_of
from thresher.console.declaration import Pages
from thresher.console.rendering import render
from thresher.console.visit import Visit
from thresher.core import Conflict, InvalidInput, NotFound, ThresherError
from thresher.llm import Message
from thresher.verbs import DATABASES, SETTINGS, THREADS

PAGES = Pages()
LISTED: Final = 50
_BESIDE: Final = 30
"""Conversations that are listed beside one."""
_LOOK_SECONDS: Final = 0.2
"""Between two looks at a turn; its words are stored as often."""
_BEAT_LOOKS: Final = 50
"""Looks without news after which a comment is sent: proxies close connections that are silent for long."""
_SEEN: Final = re.compile(r"([0-9a-f-]{36})?\.(\d{1,9})")
_LINES: Final = re.compile(r"\r\n|\r|\n")
_FIRST_CHOICES: Final = ("model", "connection", "approval")
"""Settings that can be chosen with the first message."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stored conversation.

    Attributes:
        thread: The thread.
        turns: Its turns.
        progress: How far the last one is.
        last: The id of the last message that is whole; empty if there is none.
    """

    thread: Thread
    turns: Sequence[TurnView]
    progress: TurnProgress
    last: str

    @property
    def draft(self) -> str:
        """The words so far of the answer that is being written."""
        return self.progress.text if self.progress.is_running and self.progress.answers == self.last else ""

    @property
    def seen(self) -> str:
        """What a page that shows it has seen, in the words of its stream."""
        return f"{self.progress.checkpoint or ''}.{len(self.draft)}"

    @property
    def unsettled(self) -> int:
        """The number of the first turn that may still change."""
        return len(self.turns) - 1 if self.turns and not self.turns[-1].is_settled else len(self.turns)


@PAGES.get("/chat")
async def list_conversations(visit: Visit) -> Response:
    """The caller's conversations, and a field for the first message of a new one."""
    return await _start_page(visit)


@PAGES.post("/chat")
async def start(visit: Visit) -> Response:
    """Begin a conversation with its first message."""
    form = await visit.sent.form()
    text, thread = str(form.get("message", "")), _id(str(form.get("thread", "")))
    chosen: dict[str, Any] = {name: str(value) for name in _FIRST_CHOICES if (value := form.get(name))}
    if form.get("documents") == "no":
        chosen["documents"] = False
    try:
        await _begin(visit, ChatCall((Message("user", text),), thread, settings=chosen))
        if chosen:
            await visit.run(SETTINGS["set_settings"], changes=chosen, thread=str(thread))
    except Conflict:
        pass  # sent twice: the conversation is there
    except ThresherError as error:
        return await _start_page(visit, error=error, text=text, given=chosen)
    return await _to_conversation(visit, thread)


@PAGES.get("/chat/{thread}")
async def show_conversation(visit: Visit) -> Response:
    """A conversation, with the others beside it."""
    return await _page(visit, await load(visit))


@PAGES.post("/chat/{thread}")
async def say(visit: Visit) -> Response:
    """Send a message."""
    before, form = await load(visit), await visit.sent.form()
    text, known = str(form.get("message", "")), str(form.get("turns", ""))
    last = before.turns[-1].question if before.turns else None
    was_sent = len(before.turns) > number_of(known, len(before.turns)) and last is not None and last.text == text
    first = len(before.turns) - 1 if was_sent else before.unsettled
    try:
        if not was_sent:
            await _begin(visit, ChatCall((Message("user", text),), before.thread.id))
    except ThresherError as error:
        return await _not_sent(visit, before, error, text)
    return await _begun(visit, before, first, text)


@PAGES.post("/chat/{thread}/decisions")
async def decide(visit: Visit) -> Response:
    """Decide about the calls that wait, all at once."""
    before, form = await load(visit), await visit.sent.form()
    waiting = before.turns[-1].waiting if before.turns else ()
    given = {name: value for name, value in form.items() if isinstance(value, str)}
    try:
        if not waiting:
            raise Conflict("Nothing waits for approval in this conversation.", hint="It was decided before.")
        decisions = tuple(_decision(one.id, one.arguments, given) for one in waiting)
        await _begin(visit, ChatCall(thread=before.thread.id, decisions=decisions))
    except ThresherError as error:
        now = await load(visit)
        if visit.is_part and now.turns:
            return visit.page("part_undecided.html", conversation=now, decided=given, error=error)
        return await _page(visit, now, error=error, decided=given)
    return await _begun(visit, before, before.unsettled, replaces=False)


@PAGES.post("/chat/{thread}/stop")
async def stop(visit: Visit) -> Response:
    """End the turn that is in progress."""
    thread = thread_of(visit)
    await visit.conversations.stop(visit.caller, thread)
    return HTMLResponse("") if visit.is_part else visit.go(f"/chat/{thread}#end")


@PAGES.get("/chat/{thread}/events")
async def follow(visit: Visit) -> Response:
    """The turns from one on as they change, as server-sent events: see `frontend/src/live-region.js`."""
    seen = visit.query("last-event-id") or visit.sent.headers.get("last-event-id", "")
    events = _events(visit, thread_of(visit), number_of(visit.query("turn"), 0), seen)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _begin(visit: Visit, call: ChatCall) -> None:
    """Begin a turn, which ends early if the caller's key is revoked; raises as `Conversations.begin`."""
    key: str | bytes = visit.sent.scope.get(WATCHED, "")
    until = partial(visit.services.keys.watched, key) if key else nullcontext
    await visit.conversations.begin(visit.caller, call, until)


async def load(visit: Visit) -> Conversation:
    """The conversation that the address names.

    Raises:
        NotFound: The caller has no such conversation.
    """
    return await _load(visit, thread_of(visit))


async def _load(visit: Visit, thread: UUID) -> Conversation:
    found = await visit.run(THREADS["show_thread"], thread=str(thread))
    progress = await visit.conversations.progress(visit.caller, thread)
    entries = [*await visit.conversations.history(visit.caller, thread)]
    if progress.is_running and entries and entries[-1].cut:
        entries.pop()  # what is being written is shown apart
    waiting = () if progress.is_running else await visit.conversations.pending(visit.caller, thread)
    last = next((one.id for one in reversed(entries) if not one.cut), "")
    failure = progress.failure if progress.answers == last and not progress.is_running else ""
    return Conversation(
        found, turns_of(entries, waiting, is_running=progress.is_running, failure=failure), progress, last
    )


def thread_of(visit: Visit) -> UUID:
    """The id of the conversation that the address names.

    Raises:
        NotFound: It is not an id.
    """
    try:
        return UUID(visit.sent.path_params["thread"])
    except ValueError:
        raise NotFound("There is no such conversation.", hint="Chat lists yours.") from None


def number_of(text: str, otherwise: int = -1) -> int:
    """The number of a turn or a passage that an address or a form names."""
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return uuid4()


async def _start_page(
    visit: Visit, *, error: ThresherError | None = None, text: str = "", given: Mapping[str, Any] | None = None
) -> Response:
    query, cursor = visit.query("q"), visit.query("cursor")
    listed = await visit.run(THREADS["list_threads"], cursor=cursor, limit=LISTED, query=query)
    view = await visit.run(SETTINGS["show_settings"])
    connections = await visit.run(DATABASES["sql_connection_list"])
    shown = {"listed": listed, "query": query, "view": view, "connections": connections, "new": uuid4()}
    shown |= {"error": error, "text": text, "given": given or {}} | await _model(visit)
    status = 200 if error is None else 422
    if visit.is_part and error is not None:
        return visit.page("part_error.html", message=error.message, hint=error.hint, trace="")
    return visit.page("chat.html", status, **shown)


async def _model(visit: Visit, thread: UUID | None = None) -> dict[str, Any]:
    """The model that answers; its name is empty if there is none."""
    view = await visit.run(SETTINGS["show_settings"], thread=str(thread) if thread else None)
    models = [one for one in await visit.run(SETTINGS["list_models"]) if one.enabled]
    names = [view.settings.model, *(one.name for one in models if one.chosen), *(one.name for one in models[:1])]
    return {"models": models, "model": next((name for name in names if name), "") if models else ""}


async def _page(
    visit: Visit,
    conversation: Conversation,
    *,
    error: ThresherError | None = None,
    text: str = "",
    decided: Mapping[str, str] | None = None,
) -> Response:
    beside = await visit.run(THREADS["list_threads"], limit=_BESIDE)
    shown = {"conversation": conversation, "beside": beside.threads, "error": error, "text": text}
    shown |= {"decided": decided or {}} | await _model(visit, conversation.thread.id)
    return visit.page("chat_conversation.html", 200 if error is None else 422, **shown)


async def _not_sent(visit: Visit, before: Conversation, error: ThresherError, text: str) -> Response:
    """The message again, with why it was not sent."""
    if not visit.is_part:
        return await _page(visit, before, error=error, text=text)
    shown: dict[str, Any] = {"conversation": before, "error": error, "text": text} | await _model(
        visit, before.thread.id
    )
    answer = visit.page("part_composer.html", **shown)
    answer.headers["hx-retarget"], answer.headers["hx-reswap"] = "#composer", "outerHTML"
    return answer


async def _begun(visit: Visit, before: Conversation, first: int, text: str = "", *, replaces: bool = True) -> Response:
    """What a page shows of a turn that has begun; without script, the page once it has ended.

    Args:
        visit: Of whom.
        before: The conversation before it.
        first: The first turn to be followed.
        text: The message.
        replaces: Whether a page that shows this turn already is to remove it; else the turn itself is the target.
    """
    thread = before.thread.id
    if not visit.is_part:
        return await _to_conversation(visit, thread)
    now = await _load(visit, thread)
    shown = {"conversation": now, "first": first, "text": text, "had": replaces and first < len(before.turns)}
    return visit.page("part_begun.html", **shown, **await _model(visit, thread))


async def _to_conversation(visit: Visit, thread: UUID) -> Response:
    """Go to a conversation; without script, when its turn has ended."""
    if visit.is_part:
        answer = Response()
        answer.headers["hx-redirect"] = f"/chat/{thread}#end"
        return answer
    while (await visit.conversations.progress(visit.caller, thread)).is_running:  # noqa: ASYNC110 - any process may run it
        await asyncio.sleep(_LOOK_SECONDS)
    return visit.go(f"/chat/{thread}#end")


def _decision(call: str, arguments: Any, form: Mapping[str, str]) -> Decision:
    """What a form says about a call.

    Raises:
        InvalidInput: It says nothing, or its arguments are not a JSON object.
    """
    verdict = form.get("all") or form.get(f"verdict-{call}", "")
    if verdict not in ("approve", "decline"):
        raise InvalidInput("Not every call is decided.", hint="Approve or decline each.")
    if verdict == "decline":
        return Decision(call, approved=False, reason=form.get(f"reason-{call}", ""))
    written = form.get(f"arguments-{call}", "")
    try:
        edited: Any = json.loads(written) if written.strip() else arguments
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The arguments are not JSON: {error}.", hint="Correct them; nothing was run.") from None
    if not isinstance(edited, dict):
        raise InvalidInput("The arguments are not a JSON object.", hint="Correct them; nothing was run.")
    changed = cast("dict[str, Any]", edited) if edited != arguments else None
    return Decision(call, approved=True, arguments=changed, remember=form.get(f"remember-{call}") == "yes")


async def _events(visit: Visit, thread: UUID, first: int, seen: str) -> AsyncGenerator[str]:
    """The events of a stream: `message` has the turns as they are, `append` further words, `end` is the last one."""
    known = _SEEN.fullmatch(seen)
    checkpoint, sent = (known[1] or "", int(known[2])) if known else (None, 0)
    last, looks = "", 0
    try:
        while not await visit.has_ended():
            progress = await visit.conversations.progress(visit.caller, thread)
            now = str(progress.checkpoint or "")
            if not progress.is_running or now != checkpoint:
                conversation = await _load(visit, thread)
                checkpoint, last, sent, looks = now, conversation.last, len(conversation.draft), 0
                shown = {"visit": visit, "conversation": conversation, "first": first, "text": ""}
                yield _event("message", render("part_following.html", shown), f"{now}.{sent}")
                if not conversation.progress.is_running:
                    break
            elif progress.answers and not last:
                last = (await _load(visit, thread)).last
                continue
            elif progress.answers == last and len(progress.text) > sent:
                words, sent, looks = progress.text[sent:], len(progress.text), 0
                yield _event("append", render("part_words.html", {"words": words}), f"{now}.{sent}")
            elif (looks := looks + 1) % _BEAT_LOOKS == 0:
                yield ": still here\n\n"
            await asyncio.sleep(_LOOK_SECONDS)
    except ThresherError as error:
        said = {"message": error.message, "hint": error.hint, "trace": ""}
        yield _event("message", render("part_error.html", said), "")
    yield _event("end", "", "")


def _event(name: str, data: str, seen: str) -> str:
    """One event; an empty `seen` leaves what the browser has seen as it was."""
    lines = "".join(f"data: {line}\n" for line in _LINES.split(data))
    return f"event: {name}\n{f'id: {seen}' + chr(10) if seen else ''}{lines}\n"
