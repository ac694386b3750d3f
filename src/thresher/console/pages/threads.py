"""What is done with a conversation besides talking: title, settings, forks, its end, and what an answer cites."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Final

from starlette.responses import Response
from typing_extensions import Doc

from thresher.agent import ChatSettings
from thresher.console.declaration import Pages
from thresher.console.forms import Field, field_of, value_of
from thresher.console.pages.chat import Conversation, load, number_of, thread_of
from thresher.console.visit import Visit
from thresher.core import InvalidInput, NotFound, ThresherError
from thresher.foreign import visible
from thresher.verbs import DATABASES, DOCUMENTS, SETTINGS, THREADS, Parameter

PAGES = Pages()
UNTITLED: Final = "untitled"
"""What a conversation without a title is called."""
_MAIN: Final = ("model", "connection", "approval", "documents")
_AROUND: Final = 8
"""Lines of a document that are shown before and after a passage."""
_STATES: Final = 200
_SOURCES: Final = {"default": "as shipped", "owner": "your choice", "floor": "the least that is allowed here"}


@PAGES.get("/chat/{thread}/settings")
async def show_settings(visit: Visit) -> Response:
    """What holds in a conversation, its states, and its end."""
    return await _settings_page(visit)


@PAGES.post("/chat/{thread}/settings")
async def set_settings(visit: Visit) -> Response:
    """Choose for a conversation; an empty field takes a choice back."""
    thread, form = thread_of(visit), await visit.sent.form()
    given = {name: str(value) for name, value in form.items()}
    try:
        fields = await _fields(visit, str(thread))
        changes = {
            field.name: value_of(field, given[field.name]) if given[field.name].strip() else None
            for field, _ in fields
            if field.name in given
        }
        await visit.run(SETTINGS["set_settings"], changes=changes, thread=str(thread))
    except InvalidInput as error:
        return await _settings_page(visit, error=error, given=given)
    return visit.go(f"/chat/{thread}/settings", "The settings hold from the next message on.")


@PAGES.post("/chat/{thread}/rename")
async def rename(visit: Visit) -> Response:
    """Give a conversation another title."""
    thread, form = thread_of(visit), await visit.sent.form()
    try:
        await visit.run(THREADS["change_thread"], thread=str(thread), title=str(form.get("title", "")))
    except InvalidInput as error:
        return await _settings_page(visit, error=error)
    return visit.go(f"/chat/{thread}/settings", "The conversation has a new title.")


@PAGES.post("/chat/{thread}/fork")
async def fork(visit: Visit) -> Response:
    """Begin a conversation with what stands in another one up to a turn, or to one of its states."""
    conversation, form = await load(visit), await visit.sent.form()
    turn, at = str(form.get("turn", "")), str(form.get("at", ""))
    if not at and turn:
        at = await _state_after(visit, conversation, number_of(turn))
    title = f"{conversation.thread.title or UNTITLED} (fork)"[:200]
    made = await visit.run(THREADS["fork_thread"], thread=str(conversation.thread.id), at=at, title=title)
    return visit.go(f"/chat/{made.id}#end", "This is a fork. The other conversation stays as it is.")


@PAGES.post("/chat/{thread}/delete")
async def delete(visit: Visit) -> Response:
    """Remove a conversation whose title was written."""
    thread, form = thread_of(visit), await visit.sent.form()
    found = await visit.run(THREADS["show_thread"], thread=str(thread))
    title, written = found.title or UNTITLED, " ".join(str(form.get("confirm", "")).split())
    if written not in (title, visible(title)):
        error = InvalidInput("Nothing was removed: the title is not the same.", hint=f"Write: {title}")
        return await _settings_page(visit, error=error)
    await visit.run(THREADS["delete_thread"], thread=str(thread))
    return visit.go("/chat", f"The conversation '{title}' is gone.")


@PAGES.get("/chat/{thread}/passages/{turn}/{number}")
async def show_passage(visit: Visit) -> Response:
    """A passage that an answer cites, at its lines in the document, or as the model was given it."""
    conversation, wanted = await load(visit), visit.sent.path_params
    turn, number = number_of(wanted["turn"]), number_of(wanted["number"])
    turns = conversation.turns
    passage = turns[turn].passages.get(number) if 0 <= turn < len(turns) else None
    if passage is None:
        raise NotFound("The answer has no such passage.", hint="Its search of documents lists what was found.")
    first, last = passage["lines"]
    given = {"repository": passage["repository"], "path": passage["path"]}
    shown: dict[str, Any] = {"passage": passage, "first": first, "last": last, "number": number, "note": ""}
    begin = max(1, first - _AROUND)
    try:
        page = await visit.run(DOCUMENTS["read_document"], **given, lines=f"{begin}-{last + _AROUND}")
        shown |= {"lines": page.content.splitlines(), "begin": begin}
        if passage["text"].strip() not in page.content:
            shown["note"] = "The document has changed since the model was given this passage."
    except ThresherError as error:
        shown |= {"lines": passage["text"].splitlines(), "begin": first}
        shown["note"] = f"This is the passage as the model was given it. {error.message}"
    template = "part_passage.html" if visit.is_part else "chat_passage.html"
    return visit.page(template, thread=conversation.thread, turn=turn, **shown)


async def _settings_page(
    visit: Visit, *, error: ThresherError | None = None, given: dict[str, str] | None = None
) -> Response:
    thread = thread_of(visit)
    found = await visit.run(THREADS["show_thread"], thread=str(thread))
    fields = [(field, (given or {}).get(field.name, value)) for field, value in await _fields(visit, str(thread))]
    states = await visit.run(THREADS["list_states"], thread=str(thread), cursor=visit.query("cursor"))
    main = [one for one in fields if one[0].name in _MAIN]
    shown = {"thread": found, "main": main, "more": [one for one in fields if one not in main], "states": states}
    status = 200 if error is None else 422
    return visit.page("chat_settings.html", status, **shown, error=error, untitled=UNTITLED)


async def _fields(visit: Visit, thread: str) -> list[tuple[Field, str]]:
    """The settings as fields, each with the conversation's own choice."""
    view = await visit.run(SETTINGS["show_settings"], thread=thread)
    models = [one.name for one in await visit.run(SETTINGS["list_models"]) if one.enabled]
    connections = [one.name for one in await visit.run(DATABASES["sql_connection_list"])]
    known = {"model": tuple(models), "connection": tuple(connections)}
    found = list[tuple[Field, str]]()
    for name, about in ChatSettings.model_fields.items():
        annotation = Annotated[about.annotation, *about.metadata, Doc(about.description or "")]
        made, value, source = (
            field_of(Parameter(name, annotation, None)),
            getattr(view.settings, name),
            view.sources[name],
        )
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value if value is not None else "")
        kind, choices = ("choice", known[name]) if name in known else (made.kind, made.choices)
        default = "as elsewhere" if source == "thread" else f"{text or 'none'} ({_SOURCES[source]})"
        own = text if source == "thread" else ""
        field = Field(name, kind, False, made.description, default, choices, made.least, made.most)  # pyright: ignore[reportArgumentType] - of the type
        found.append((field, own))
    return found


async def _state_after(visit: Visit, conversation: Conversation, turn: int) -> str:
    """The id of the last state before the message after a turn; empty if the turn is the last one.

    Raises:
        NotFound: The conversation has no such turn, or no state is that old.
    """
    if not 0 <= turn < len(conversation.turns):
        raise NotFound("The conversation has no such turn.", hint="Load the page again.")
    following = conversation.turns[turn + 1].question if turn + 1 < len(conversation.turns) else None
    if following is None:
        return ""
    limit, cursor = following.at or dt.datetime.max.replace(tzinfo=dt.UTC), ""
    while True:
        page = await visit.run(THREADS["list_states"], thread=str(conversation.thread.id), cursor=cursor, limit=_STATES)
        if state := next((one for one in page.states if one.at < limit), None):
            return str(state.id)
        if not (cursor := page.cursor):
            raise NotFound("No state of this turn is kept.", hint="Fork the whole conversation.")
