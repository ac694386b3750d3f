"""The product as it runs, on a data folder of its own, with one throw-away tenant for each pool."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from thresher.app import open_app
from thresher.core import Caller, Tool, load_settings
from thresher.services import Services


@asynccontextmanager
async def running(**overrides: object) -> AsyncGenerator[Services]:
    """Open the app with the embedded database in a temporary folder that any account may enter."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-", dir="/tmp", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)  # noqa: PTH101 - the account that runs the database must enter
        settings = load_settings(data_dir=Path(name) / "data", **overrides)
        async with open_app(settings) as app:
            yield app.services


@asynccontextmanager
async def pool(
    services: Services, name: str, tools: Sequence[Tool], descriptions: Mapping[str, str]
) -> AsyncGenerator[Caller]:
    """Import a pool into a tenant of its own and remove it afterwards."""
    tenant = await services.database.tenant(f"bench-{name}")
    caller = Caller(tenant)
    try:
        await services.tools.import_tools(caller, tools, descriptions)
        yield caller
    finally:
        await asyncio.shield(services.database.drop_tenant(tenant))
