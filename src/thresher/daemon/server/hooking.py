"""The verb behind `thresher hook`: the rules of a prompt as a client's hook may print them.

Invariant: what does not fit the client's limit is named, with the way to it; only rules that were printed whole count
as given; nothing is printed where no rules fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thresher.app import App
from thresher.context import Note, Prompt, prompt_text
from thresher.core import Caller, Rule
from thresher.daemon.server.control import Progress, Verb

CHARACTERS = 10_000
"""Claude Code shows a model no more of a hook's output; the rest would go to a file."""
_TELLING = 400
"""Room for the note that is added when something is left out."""


def hook_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verb by its name.

    Args:
        app: The running product.
        caller: For whom it works, and in which project.
    """
    context, intents = app.services.context, app.services.intents

    async def answer_hook(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        # The caller has no connection: the model that reads this has one of its own, which nothing tells from others
        # of the same user and project. What it is given counts for all of them.
        prompt = await context.process_prompt(caller, str(arguments["prompt"]), delivers=False)
        if prompt.passes_through:
            return {"text": ""}
        text, whole = hook_text(prompt)
        intents.mark_given(caller, whole)
        return {"text": text}

    return {"answer_hook": answer_hook}


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
