"""A child process that puts entries batch by batch until it is killed; prints one line per batch."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.search.encoders import WordEncoder
from tests.search.samples import random_entries
from thresher.core import Settings, Tenant
from thresher.search import SearchIndex
from thresher.store import Database


async def main(url: str, tenant: int, model: str) -> None:
    """Put the same 2,000 entries that the test puts afterwards."""
    database = await Database.open(url)
    index = SearchIndex(database, WordEncoder(model), Settings())
    await index.put(Tenant(tenant, ""), "tool", random_entries(2000), progress=lambda done, _: print(done, flush=True))
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
