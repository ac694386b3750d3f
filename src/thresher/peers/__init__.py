"""The process at the other end of a connection, as the operating system reports it, whatever the request claims.

Invariant: a peer whose user cannot be determined is not the daemon's own user. psutil is imported only where the kernel
has no table that names the users of sockets.

Uses: nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from thresher.peers.sockets import end

if sys.platform == "linux":
    from thresher.peers.sockets import is_own_socket, user_name
else:
    from thresher.peers.processes import is_own_socket, user_name

__all__ = ["PEER", "ConnectionPeer", "user_name"]

PEER = "thresher.peer"
"""The key of a connection's `ConnectionPeer` in its state."""


class ConnectionPeer:
    """The other end of one connection.

    Args:
        theirs: Address and port of the other end.
        ours: Address and port of this end.
        recognised: Called once, when the other end has shown a valid key or belongs to the owner.
    """

    def __init__(
        self, theirs: tuple[str, int], ours: tuple[str, int], recognised: Callable[[], None] | None = None
    ) -> None:
        self._theirs = theirs
        self._ours = ours
        self._recognised = recognised
        self._own: bool | None = None

    async def is_own_user(self) -> bool:
        """Return whether it is a local process of this process's own user; determined once."""
        if self._own is None:
            self._own = await asyncio.to_thread(self._look)
        return self._own

    def recognise(self) -> None:
        """Note that the other end has shown a valid key or belongs to the owner; later calls have no effect."""
        if self._recognised is not None:
            recognised, self._recognised = self._recognised, None
            recognised()

    def _look(self) -> bool:
        try:
            theirs, ours = end(*self._theirs), end(*self._ours)
        except ValueError:  # another ASGI server may name an end differently
            return False
        return theirs[0].is_loopback and is_own_socket(theirs, ours)
