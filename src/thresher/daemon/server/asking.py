"""The verb of questions: `ask`.

Invariant: the same arguments and the same answer as `/v1/ai/query`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, InvalidInput, plain
from thresher.daemon.server.control import Progress, Verb

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
