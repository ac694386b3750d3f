"""The whole product, opened from settings."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from tests.fakes.embedding_server import EmbeddingServer
from tests.support import eventually
from tests.support.product import CATALOGUE, ListedServer, listed
from thresher.agent import Threads
from thresher.app import open_app
from thresher.core import Caller, Settings
from thresher.services import Services
from thresher.upstream import ServerConfig

FAKE = Path(__file__).parent / "fakes" / "stdio_server.py"


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

    service.held = "Convert a time between time zones"  # the texts of the tools
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


async def test_a_hung_server_delays_neither_the_start_nor_the_first_answer(
    settings: Settings, open_folder: Path, tmp_path: Path
) -> None:
    """One of five servers never answers: what the others listed before is found while it is still being waited for."""
    given = settings.model_copy(update={"data_dir": open_folder / "hung-start", "upstream_connect_seconds": 600})
    good = [ListedServer.at(tmp_path, f"good{number}", listed(f"tool_{number}")) for number in range(4)]
    async with open_app(given, servers=[server.config for server in good]) as app:
        await app.indexing
        healthy = await app.services.tools.find_tools(app.services.caller, queries=["tool 1"], threshold=0)

    hung = ServerConfig("hung", "stdio", command=sys.executable, args=(str(FAKE), "hang"))
    async with open_app(given, servers=[hung]) as app:
        first = await app.services.tools.find_tools(app.services.caller, queries=["tool 1"], threshold=0)
        waiting = not app.indexing.done()
        tools, caller = app.services.tools, app.services.caller

        async def ready() -> set[str]:
            return {server.name for server in await tools.list_servers(caller) if server.state == "ready"}

        await eventually(lambda: _holds(ready, 4))
        still_waiting = not app.indexing.done()

    assert [tool.name for tool in first.tools] == [tool.name for tool in healthy.tools]
    assert waiting
    assert still_waiting


async def _holds(names: Callable[[], Awaitable[set[str]]], count: int) -> bool:
    return len(await names()) == count


_ROWS = "select (select count(*) from discovery) + (select count(*) from thread)"


async def test_old_log_rows_and_threads_go_after_the_start(settings: Settings, open_folder: Path) -> None:
    """By the daily sweep, which a daemon that lives for minutes must not miss."""
    given = settings.model_copy(update={"data_dir": open_folder / "sweep", "log_days": 1, "thread_days": 1})
    async with open_app(given) as app:
        caller = app.services.caller
        await app.services.tools.find_tools(caller, queries=["x"])
        await app.services.tools.settle()
        await Threads(app.services.database).create(caller)
        async with app.services.database.transaction(caller.tenant) as connection:
            await connection.exec_driver_sql("update discovery set at = now() - interval '2 days'")
            await connection.exec_driver_sql("update thread set updated_at = now() - interval '2 days'")
            assert (await connection.exec_driver_sql(_ROWS)).scalar_one() == 2

    async with open_app(given) as app:

        async def rows() -> int:
            async with app.services.database.transaction(app.services.caller.tenant) as connection:
                return (await connection.exec_driver_sql(_ROWS)).scalar_one()

        await eventually(lambda: _none(rows))


async def _none(count: Callable[[], Awaitable[int]]) -> bool:
    return await count() == 0


async def test_a_caller_who_comes_has_his_servers_listed(settings: Settings, open_folder: Path, tmp_path: Path) -> None:
    """The start lists the local tenant's servers; another tenant's when it first asks, in the background, once."""
    given = settings.model_copy(update={"data_dir": open_folder / "welcome"})
    server = ListedServer.at(tmp_path, "theirs", listed("old_tool"))
    async with open_app(given) as app:
        acme = Caller(await app.services.database.tenant("acme"))
        await app.services.tools.add_server(acme, server.config)
        key, _ = await app.services.keys.add(acme.tenant, "key")
        await app.indexing

        async def names() -> set[str]:
            return {tool.name for tool in await app.services.tools.list_tools(acme)}

        before = await names()
        scope = {"type": "http", "path": "/nowhere", "method": "GET", "query_string": b"", "server": ("127.0.0.1", 1)}
        scope["headers"] = [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())]

        async def receive() -> dict[str, object]:
            return {"type": "http.disconnect"}

        async def send(message: object) -> None:
            del message

        await app.asgi(scope, receive, send)
        await eventually(names)

    assert before == set()


async def test_an_encoder_service_that_refuses_connections_costs_a_message_no_waiting_until_it_is_back(
    settings: Settings, open_folder: Path
) -> None:
    """Words answer at once and say so; when the service runs again, meaning does, without a restart."""
    service = EmbeddingServer()
    port = httpx.URL(service.url).port or 0
    given = settings.model_copy(
        update={"data_dir": open_folder / "away", "port": 0, "encoder_url": service.url, "encoder_model": "fake"}
    )
    async with open_app(given) as app:
        await app.indexing
        context, tools, caller = app.services.context, app.services.tools, app.services.caller
        await tools.import_tools(caller, CATALOGUE)
        service.stop()

        started = time.monotonic()
        answer = await context.process_prompt(caller, "show me the commit history of this repository")
        found = await tools.find_tools(caller, message="show me the commit history of this repository")
        seconds = time.monotonic() - started

        restarted = EmbeddingServer(port)
        back = await eventually(lambda: _undegraded(app.services))
        restarted.stop()

    assert seconds < 5
    assert answer.decision.degraded
    assert "embedding service" in found.degraded
    assert back


async def _undegraded(services: Services) -> bool:
    found = await services.tools.find_tools(services.caller, message="show the commit history", threshold=0)
    return not found.degraded
