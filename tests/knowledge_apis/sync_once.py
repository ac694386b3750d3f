"""A child process that imports a description until it is killed; prints each phase."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.search.encoders import WordEncoder
from thresher.core import Settings, Tenant
from thresher.knowledge.apis.ingestion.sync import DescriptionSync
from thresher.search import SearchIndex
from thresher.store import Database


async def main(url: str, tenant: int, version: int) -> None:
    """Do the work of a worker."""
    database = await Database.open(url)
    sync = DescriptionSync(database, SearchIndex(database, WordEncoder(), Settings()))
    await sync.run(Tenant(tenant, ""), version, lambda phase, *_: print(phase, flush=True))
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
