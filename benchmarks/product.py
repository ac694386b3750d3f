"""The product as it runs, on a data folder of its own, with one throw-away tenant for each pool."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from thresher.app import App, open_app
from thresher.core import Caller, Tool, load_settings
from thresher.services import Services


@contextmanager
def folder() -> Generator[Path]:
    """A temporary data folder that the account of the database may enter."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)  # noqa: PTH101 - the account that runs the database must enter
        yield Path(name) / "data"


@asynccontextmanager
async def opened(path: Path | None = None, **overrides: object) -> AsyncGenerator[App]:
    """Open the app with the embedded database, in a given folder or a temporary one."""
    with ExitStack() as stack:
        settings = load_settings(data_dir=path or stack.enter_context(folder()), **overrides)
        async with open_app(settings) as app:
            await app.indexing
            yield app


@asynccontextmanager
async def running(path: Path | None = None, **overrides: object) -> AsyncGenerator[Services]:
    """The same, for those who ask its services alone."""
    async with opened(path, **overrides) as app:
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
