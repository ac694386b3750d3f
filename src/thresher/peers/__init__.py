"""The other end of a connection: whose process it is, by the word of the operating system and not of the request.

Invariant: a peer whose user cannot be determined is not the daemon's own user.

Uses: nothing.
"""

from thresher.peers.peer import PEER, Peer, user_name

__all__ = ["PEER", "Peer", "user_name"]
