"""Verbs of the agent's prompts, with the names that they have on every face.

Invariant: as for every verb: the same arguments as over HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb


def prompt_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Prompts(app, caller)
    changes = (verbs.set_prompt, verbs.reset_prompt)
    shown = (verbs.list_prompts, verbs.show_prompt, verbs.list_prompt_versions, verbs.diff_prompt)
    return {verb.__name__: verb for verb in (*changes, *shown)}


class _Prompts:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._prompts = app.services.prompts
        self._caller = caller

    async def list_prompts(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._prompts.list(self._caller))

    async def show_prompt(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._prompts.get(self._caller, str(arguments["name"]), arguments.get("version")))

    async def set_prompt(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        name, text, expected = str(arguments["name"]), str(arguments["text"]), arguments.get("expected")
        return plain(await self._prompts.put(self._caller, name, text, expected=expected))

    async def reset_prompt(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._prompts.reset(self._caller, str(arguments["name"])))

    async def list_prompt_versions(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._prompts.versions(self._caller, str(arguments["name"])))

    async def diff_prompt(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        name, old, new = str(arguments["name"]), arguments.get("old", 0), arguments.get("new")
        return {"diff": await self._prompts.diff(self._caller, name, old, new)}
