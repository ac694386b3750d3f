"""The other end of one connection: asked about once, and remembered when it has shown who it is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from thresher.peers.ends import end

if sys.platform == "linux":
    from thresher.peers.kernel import is_own_socket, user_name
else:
    from thresher.peers.processes import is_own_socket, user_name

__all__ = ["PEER", "Peer", "user_name"]

PEER = "thresher.peer"
"""Where the state of a connection holds its `Peer`."""


class Peer:
    """The other end of one connection.

    Args:
        theirs: Address and port of the other end.
        ours: Address and port of this end.
        recognised: Called once, when the other end has shown a valid key or is the owner's.
    """

    def __init__(
        self, theirs: tuple[str, int], ours: tuple[str, int], recognised: Callable[[], None] | None = None
    ) -> None:
        self._theirs = theirs
        self._ours = ours
        self._recognised = recognised
        self._own: bool | None = None

    async def is_own_user(self) -> bool:
        """Return whether it is a process of this process's own user on this machine; decided once."""
        if self._own is None:
            self._own = await asyncio.to_thread(self._look)
        return self._own

    def recognise(self) -> None:
        """Note that the other end has shown a valid key or is the owner's; again is harmless."""
        if self._recognised is not None:
            recognised, self._recognised = self._recognised, None
            recognised()

    def _look(self) -> bool:
        try:
            theirs, ours = end(*self._theirs), end(*self._ours)
        except ValueError:  # a server that is not ours may name an end by something else
            return False
        return theirs[0].is_loopback and is_own_socket(theirs, ours)
