"""Verbs of the intents kind: what is decided and why, thresholds, figures.

Invariant: explaining a message changes nothing and records nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.intents import Decision, IntentInfo

Whom = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]
"""For whom a verb with a `tenant` among its arguments works, and the other arguments."""


def intent_verbs(app: App, caller: Caller, whom: Whom) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
        whom: Says for whom a verb works that takes a tenant.
    """
    verbs = _Intents(app, caller, whom)
    named = (verbs.list_intents, verbs.explain_intents, verbs.set_threshold, verbs.intent_stats)
    return {verb.__name__: verb for verb in named}


class _Intents:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller, whom: Whom) -> None:
        self._intents = app.services.intents
        self._caller = caller
        self._whom = whom

    async def list_intents(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._intents.prepare(self._caller)
        packs = await self._intents.packs(self._caller)
        active = {pack.name: pack for pack in packs.active}
        rows = [
            intent_row(info) | {"applies": _applies(active[info.name].always, active[info.name].globs)}
            for info in await self._intents.intents(self._caller)
            if info.name in active
        ]
        inert = [
            {"name": held.pack.name, "path": str(held.pack.path), "reason": held.reason, "hint": held.hint}
            for held in packs.inert
        ]
        return plain({"intents": rows, "inert": inert, "problems": packs.problems})

    async def explain_intents(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return decision_row(await self._intents.explain(self._caller, **arguments))

    async def set_threshold(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        name = str(arguments["name"])
        await self._intents.set_threshold(self._caller, name, arguments.get("value"))
        infos = await self._intents.intents(self._caller)
        return next((intent_row(info) for info in infos if info.name == name), {"name": name, "threshold": None})

    async def intent_stats(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        caller, given = await self._whom(arguments)
        return plain(await self._intents.stats(caller, **given))


def intent_row(info: IntentInfo) -> dict[str, Any]:
    """An intent as data, with the threshold that holds."""
    return cast("dict[str, Any]", plain(info)) | {"threshold": info.threshold}


def _applies(always: bool, globs: tuple[str, ...]) -> str:
    """Without what a message says: `always`, `by file`, or empty."""
    return "always" if always else "by file" if globs else ""


def decision_row(decision: Decision) -> dict[str, Any]:
    """A decision as data, with the margin of each score."""
    scores = [cast("dict[str, Any]", plain(score)) | {"margin": score.margin} for score in decision.scores]
    matched = [score.intent for score in decision.matched]
    return cast("dict[str, Any]", plain(decision)) | {
        "pass_through": decision.passes_through,
        "matched": matched,
        "scores": scores,
    }
