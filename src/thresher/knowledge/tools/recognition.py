"""Knows a listing again that was judged and stored before, so that a start does not judge thousands of tools anew.

Invariant: two listings have one digest only where judging and storing them would do the same: the same definitions,
beside the same tools of other servers, under the same policy, by the same code.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping

from thresher import __version__
from thresher.core import plain
from thresher.knowledge.tools.catalogue import Catalogue
from thresher.knowledge.tools.queries import ServerRow
from thresher.knowledge.tools.trust import AutoApprove
from thresher.upstream import Listing

EDITION = 1
"""To be raised when what is derived from a definition changes (scanner, enrichment, line, token count) between two
versions of the package, so that every server's next listing is judged and stored anew."""

_STEP = 8
"""Tools hashed without a pause: a millisecond or two."""


class Recognition:
    """Digests of listings; keeps what the last snapshot of the catalogue comes to."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._sums: Mapping[int, bytes] = {}

    async def digest(self, catalogue: Catalogue, server: ServerRow, listing: Listing, policy: AutoApprove) -> bytes:
        """SHA-256 of a listing and of all that judging it hangs on.

        Args:
            catalogue: The tools beside it.
            server: Whose listing; with the description that will be stored.
            listing: What it listed.
            policy: Which changes are taken over without a person.
        """
        sums = await self._summed(catalogue)
        others = b"".join(sorted(part for number, part in sums.items() if number != server.id))
        hashed = hashlib.sha256(others)
        said = [__version__, EDITION, server.name, server.description, policy, listing.problems]
        hashed.update(json.dumps(said).encode())
        for start in range(0, len(listing.tools), _STEP):
            hashed.update(json.dumps(plain(listing.tools[start : start + _STEP])).encode())
            await asyncio.sleep(0)
        return hashed.digest()

    async def _summed(self, catalogue: Catalogue) -> Mapping[int, bytes]:
        """What the scanner compares with, a hash for each server."""
        if self._catalogue is catalogue:
            return self._sums
        lines: defaultdict[int, list[str]] = defaultdict(list)
        for number, tool in enumerate(catalogue.tools):
            lines[tool.row.server_id].append(f"{tool.row.server}\0{tool.row.name}\0{tool.row.line}\0")
            if number % 1000 == 0:
                await asyncio.sleep(0)
        sums = {server: hashlib.sha256("".join(mine).encode()).digest() for server, mine in lines.items()}
        self._catalogue, self._sums = catalogue, sums
        return sums
