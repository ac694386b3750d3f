"""The daemon's side of `thresher hook`: the rules of a prompt as a client's hook may print them.

Invariant: what does not fit the client's limit is named, with the way to it; only rules that were printed whole count
as given; nothing is printed where no rules fit. Whatever goes wrong, the answer is one line that says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from thresher.app import App
from thresher.context import Note, Prompt, prompt_text
from thresher.core import Caller, Rule, ThresherError, dumps, traced
from thresher.daemon.event import EVENT, WrongEvent, read_event
from thresher.daemon.hook import EVENT_LIMIT
from thresher.daemon.server.project import find_project

logger = logging.getLogger("thresher.daemon")

Rules = Callable[[str, str], Awaitable[str]]
"""The text to print for a prompt in a folder; empty where no rules fit."""

CHARACTERS = 10_000
"""Claude Code shows a model no more of a hook's output; the rest would go to a file."""
_TELLING = 400
"""Room for the note that is added when something is left out."""
_LARGE = 100_000
"""Bytes of an event from which on decoding it would hold the event loop up."""


def rules_for(app: App, caller: Caller) -> Rules:
    """What answers the hooks of one caller.

    Args:
        app: The running product.
        caller: For whom it works.
    """
    context, intents = app.services.context, app.services.intents

    async def rules(prompt: str, folder: str) -> str:
        # The caller has no connection: the model that reads this has one of its own, which nothing tells from others
        # of the same user and project. What it is given counts for all of them.
        asking = replace(caller, project=await asyncio.to_thread(find_project, folder))
        found = await context.process_prompt(asking, prompt, delivers=False)
        if found.passes_through:
            return ""
        text, whole = hook_text(found)
        intents.mark_given(asking, whole)
        return text

    return rules


async def serve_hook(rules: Rules, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one event; see `thresher.daemon.hook` for the form. A hook that has gone cancels the work.

    Args:
        rules: Finds them.
        reader: The hook's bytes, past the handshake.
        writer: To the hook.
    """
    form, _, size = (await reader.readline()).decode("ascii", "replace").strip().partition(" ")
    if not size.isdecimal() or int(size) > EVENT_LIMIT:
        return
    try:
        data = await reader.readexactly(int(size))
    except asyncio.IncompleteReadError:
        return
    work, gone = asyncio.create_task(_answer(rules, data, form)), asyncio.create_task(reader.read(1))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not work.done():
        work.cancel()
    with suppress(asyncio.CancelledError):
        writer.write((await work).encode("utf-8", "replace"))
        await writer.drain()


async def _answer(rules: Rules, data: bytes, form: str) -> str:
    with traced() as trace:
        try:
            event = await asyncio.to_thread(read_event, data) if len(data) > _LARGE else read_event(data)
            text = await rules(event.prompt, event.folder) if event.prompt.strip() else ""
        except WrongEvent as error:
            return f"!{error}"
        except ThresherError as error:
            return f"-{error.message} {error.hint}"
        except Exception:  # a face: whatever went wrong becomes one clear line
            logger.exception("hook failed")
            return f"-Something went wrong inside the daemon; its log holds the details (trace {trace})."
    return f"+{_formatted(text, form)}" if text else "+"


def _formatted(text: str, form: str) -> str:
    said = {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": text}}
    return (dumps(said) if form == "json" else text) + "\n"


def hook_text(prompt: Prompt, limit: int = CHARACTERS) -> tuple[str, tuple[str, ...]]:
    """A prompt as a hook prints it: without the request, which the model gets anyway, and within a client's limit.

    Tools are left out first, then whole rules from the last one, then the end of the best.

    Args:
        prompt: With rules.
        limit: Characters of the text.

    Returns:
        The text, and the packs whose rules are in it whole.
    """
    prompt = replace(prompt, request="")
    text = prompt_text(prompt)
    if len(text) > limit and prompt.tools:
        prompt = _noted(replace(prompt, tools=()), "tools left out for want of room: call find_tools", "")
        text = prompt_text(prompt)
    if len(text) <= limit:
        return text, tuple(rule.intent for rule in prompt.rules)
    around = len(text) - sum(len(rule.text) for rule in prompt.rules)
    rules, whole = _fitting(prompt.rules, limit - around - _TELLING)
    left = ", ".join(rule.intent for rule in prompt.rules if rule.intent not in whole)
    told = "left out for want of room (to read them, call process_prompt with the user's message)"
    return prompt_text(_noted(replace(prompt, rules=rules), told, left)), whole


def _fitting(rules: tuple[Rule, ...], room: int) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that have room, in their order, and those of them that are whole: of the best at least a part is."""
    kept: list[Rule] = []
    for rule in rules:
        if len(rule.text) <= room:
            kept.append(rule)
            room -= len(rule.text)
    if kept:
        return tuple(kept), tuple(rule.intent for rule in kept)
    return (replace(rules[0], text=_beginning(rules[0].text, room)),), ()


def _beginning(text: str, room: int) -> str:
    """The lines that have room."""
    cut = text[: max(room, 0)]
    return cut[: cut.rfind("\n") + 1].rstrip() or cut


def _noted(prompt: Prompt, said: str, quoted: str) -> Prompt:
    return replace(prompt, notes=(*prompt.notes, Note(said, quoted)))
