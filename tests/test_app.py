"""The whole product, opened from settings."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.embedding_server import EmbeddingServer
from tests.support.product import CATALOGUE
from thresher.app import open_app
from thresher.core import Settings
from thresher.services import Services


async def _model(services: Services) -> str:
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql("select model from collection where kind = 'tool'")
        return str(found.scalar_one())


async def test_after_a_change_of_model_the_old_index_serves_until_the_new_one_is_there(
    settings: Settings, open_folder: Path
) -> None:
    """Nobody waits for the embedding, and no answer is worse for it."""
    service = EmbeddingServer()
    first = settings.model_copy(update={"data_dir": open_folder / "model-change", "port": 0})
    async with open_app(first) as app:
        await app.indexing
        await app.services.tools.import_tools(app.services.caller, CATALOGUE)
        former = await _model(app.services)

    service.script.extend(["good", "slow"])  # the probe of the model, then the texts of the tools
    async with open_app(first.model_copy(update={"encoder_url": service.url, "encoder_model": "fake"})) as app:
        tools, caller = app.services.tools, app.services.caller
        await asyncio.to_thread(service.reached.wait, 60)
        serving = await _model(app.services)
        between = await tools.find_tools(caller, queries=["show commit history"], threshold=0)
        service.release.set()
        await app.indexing
        latter = await _model(app.services)
        afterwards = await tools.find_tools(caller, queries=["show commit history"], threshold=0)
    service.stop()

    assert serving == former
    assert between.degraded == ""
    assert between.tools[0].name == "git_git_log"
    assert between.tools[0].why.dense.rank == 1
    assert latter != former
    assert afterwards.degraded == ""
