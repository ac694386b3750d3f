"""A process that opens the intents service over a folder of packs and says what its router rests on.

`python -m tests.knowledge_intents.start DATABASE_URL TENANT FOLDER MESSAGE` prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.support.product import opened
from thresher.core import Settings
from thresher.embedding import open_encoder
from thresher.knowledge.intents import Sources
from thresher.store import Database


async def main(url: str, tenant: str, folder: str, message: str) -> None:
    """Fit, or find the fit; route one message."""
    settings = Settings(data_dir=Path(tempfile.gettempdir()) / "unused", allow_root=True)
    database, encoder = await Database.open(url), open_encoder(settings)
    known = await database.tenant(tenant)
    async with opened(database, known, settings, encoder, Sources(configured=(Path(folder),))) as services:
        state = await services.intents.router(services.caller)
        decision = await services.intents.route(services.caller, message)
        matched = [score.intent for score in decision.matched]
        print(json.dumps(asdict(state) | {"matched": matched, "degraded": decision.degraded}), flush=True)
    await encoder.close()
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
