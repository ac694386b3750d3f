"""Verbs that put rules and tools in front of a model: `process_prompt` and `get_context`.

Invariant: the same arguments and the same answers as on every other face. Commands call these, and a person reads what
they print: rules that a terminal shows have not been given to a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.context import prompt_data
from thresher.core import Caller, InvalidInput
from thresher.daemon.server.control import Progress, Verb

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
