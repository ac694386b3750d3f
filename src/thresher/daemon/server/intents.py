"""What only commands do with intents: packs beside the list, thresholds, a tenant's figures.

Invariant: explaining a message changes nothing and records nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.verbs import INTENTS, Request, checked

Whom = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]
"""For whom a verb with a `tenant` among its arguments works, and the other arguments."""


def intent_verbs(app: App, caller: Caller, whom: Whom) -> Mapping[str, Verb]:
    """What only commands do with intents, by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
        whom: Finds for whom a verb works that takes a tenant.
    """
    intents = app.services.intents

    async def list_intents(_arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The intents in use, with the packs that are found and not used."""
        await intents.prepare(caller)
        packs = await intents.packs(caller)
        active = {pack.name: pack for pack in packs.active}
        rows = [
            plain(info) | {"applies": _applies(active[info.name].always, active[info.name].globs)}
            for info in await intents.intents(caller)
            if info.name in active
        ]
        inert = [
            {"name": held.pack.name, "path": str(held.pack.path), "reason": held.reason, "hint": held.hint}
            for held in packs.inert
        ]
        return plain({"intents": rows, "inert": inert, "problems": packs.problems})

    async def explain_intents(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """A decision, with the names of the intents that matched."""
        verb = INTENTS["explain_intents"]
        decision = await verb.run(Request(app.services, caller), checked(verb, arguments))
        return plain(decision) | {"matched": [score.intent for score in decision.matched]}

    async def set_threshold(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Set or reset the least score that matches."""
        name = str(arguments["name"])
        await intents.set_threshold(caller, name, arguments.get("value"))
        infos = await intents.intents(caller)
        return next((plain(info) for info in infos if info.name == name), {"name": name, "threshold": None})

    async def intent_stats(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The figures of the caller, or of a tenant."""
        verb = INTENTS["intent_stats"]
        of, given = await whom(arguments)
        return plain(await verb.run(Request(app.services, of), checked(verb, given)))

    verbs = (list_intents, explain_intents, set_threshold, intent_stats)
    return {verb.__name__: verb for verb in verbs}


def _applies(always: bool, globs: tuple[str, ...]) -> str:
    """How an intent applies whatever a message says: `always`, `by file`, or empty."""
    return "always" if always else "by file" if globs else ""
