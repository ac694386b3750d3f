"""What the tools of a session were found for: the question that a large result is read with.

Invariant: bounded; nothing of it is written down or logged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final, cast

from cachetools import LRUCache

from thresher.core import JSON, Caller

_SESSIONS: Final = 1_024
_EACH: Final = 8
_LONGEST: Final = 2_000


class Searches:
    """The last searches of each session; one per process."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[Any, ...], deque[tuple[str, frozenset[str]]]] = LRUCache(_SESSIONS)

    def note(self, caller: Caller, given: Mapping[str, Any], answer: JSON) -> None:
        """Remember a search.

        Args:
            caller: Who searched.
            given: The arguments of the meta-tool.
            answer: Its structured content, which names the tools.
        """
        tools = cast("list[Mapping[str, Any]]", answer.get("tools") or [])
        if not tools:
            return
        queries: Any = given.get("queries") or ()
        asked = (
            given.get("prompt") or given.get("message") or " ".join([queries] if isinstance(queries, str) else queries)
        )
        names = frozenset(str(tool.get("name", "")) for tool in tools)
        self._known.setdefault(_session(caller), deque(maxlen=_EACH)).append((asked[:_LONGEST], names))

    def focus(self, caller: Caller, tool: str) -> str:
        """The last words that found a tool in the caller's session; empty if none did."""
        searches = self._known.get(_session(caller), ())
        return next((asked for asked, names in reversed(searches) if tool in names), "")


def _session(caller: Caller) -> tuple[Any, ...]:
    return caller.tenant.id, caller.user, caller.key, caller.client
