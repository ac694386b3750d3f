"""From settings to a running product; the only module that knows everybody.

Invariant: what was opened is closed in the opposite order, however the block ends; no server delays the start.

Uses: agent, audit, console, context, core, embedding, gateway, jobs, knowledge, llm, packs, search, services,
store, upstream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from thresher.agent import Conversations
from thresher.assembly import open_services, rehearsed_services
from thresher.core import Caller, InvalidInput, Settings, ThresherError, environment, event, why_keys
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway, http_app, serve_stream_session
from thresher.jobs import Supervisor
from thresher.knowledge.apis import TASK as SYNC_TASK
from thresher.knowledge.databases import EMBED_TASK, read_configured
from thresher.knowledge.documents import TASK
from thresher.knowledge.tools import purge_logs
from thresher.services import Services, open_conversations
from thresher.store import Database
from thresher.upstream import ServerConfig, ServerFile, parse_servers

logger = logging.getLogger("thresher.app")

SWEEP_SECONDS = 24 * 3600.0
TASKS = (TASK, EMBED_TASK, SYNC_TASK)
"""What workers can do; `worker.open_tasks` makes it."""


@dataclass(frozen=True, slots=True)
class App:
    """A running product.

    Attributes:
        services: What the faces call.
        open_door: Makes the door to the HTTP faces, once; their lifespan is already running.
        serve_stream: Serves one MCP session over a pair of byte streams, for a caller; None: the owner of this process.
        workers: The processes that do long work.
        conversations: Conversations with a model.
        indexing: Ends when every server that was known at the start has been listed, or has failed.
        preparing: Ends when the owner's router is at hand, or has failed.
        rehearsal: Whether nothing that is done with it lasts; see `rehearsed`.
    """

    services: Services
    open_door: Callable[[], ASGIApp]
    serve_stream: Callable[[asyncio.StreamReader, asyncio.StreamWriter, Caller | None], Awaitable[None]]
    workers: Supervisor
    conversations: Conversations
    indexing: asyncio.Task[None]
    preparing: asyncio.Task[None]
    rehearsal: bool = False

    @property
    def asgi(self) -> ASGIApp:
        """The door to the HTTP faces."""
        return self.open_door()


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    servers: Sequence[ServerConfig] = (),
    database: Database | None = None,
    served: asyncio.Event | None = None,
) -> AsyncGenerator[App]:
    """Open everything, and list the servers in the background.

    Args:
        settings: The settings.
        servers: Servers to add to the catalogue, such as those of `--config`.
        database: One that is open already and stays open; by default that of the settings is opened.
        served: Set when the background work may begin; by default it begins at once.

    Raises:
        ThresherError: The database or a key cannot be opened.
    """
    async with AsyncExitStack() as stack:
        services = await open_services(settings, stack, database)
        gateway = build_gateway(services)
        http = http_app(gateway)
        await stack.enter_async_context(http.router.lifespan_context(http))
        work = _Work(services, served)
        stack.push_async_callback(work.end)
        adding = work.begin(_add(services, servers), at_once=True)
        indexing = work.begin(_index(services, adding))
        preparing = work.begin(_prepare(services, services.caller))
        work.begin(_catch_up(services, services.caller))
        work.begin(_connect(services))
        work.begin(_provide(services, services.caller), at_once=True)  # it ends what a killed process had begun
        work.begin(services.components.follow())
        if not settings.encoder_url:  # a service charges for what nobody has asked
            work.begin(services.tools.health.run())
        work.begin(services.tools.questions.run())
        work.begin(services.keys.patrol())
        work.begin(services.documents.follow_sources())
        work.begin(services.apis.follow_sources())
        workers = Supervisor(services.database, settings, TASKS)
        work.begin(workers.run())
        conversations = open_conversations(services)
        stack.push_async_callback(conversations.close)
        work.begin(_sweep(services, indexing))

        async def serve_stream(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: Caller | None
        ) -> None:
            work.welcome(caller or services.caller)
            await serve_stream_session(gateway, reader, writer, caller)

        open_door = cache(partial(_open_door, services, conversations, http, work))
        yield App(services, open_door, serve_stream, workers, conversations, indexing, preparing)


@asynccontextmanager
async def rehearsed(app: App) -> AsyncGenerator[App]:
    """The product with services whose changes are seen inside the block alone, for dry runs.

    Rows are rolled back, files of workspaces are not written, and upstream servers must not be asked.
    """
    async with AsyncExitStack() as stack:
        yield replace(app, services=await rehearsed_services(app.services, stack), rehearsal=True)


class _Work:
    """What runs beside the answers, for as long as the product is open."""

    def __init__(self, services: Services, served: asyncio.Event | None) -> None:
        self._services = services
        self._served = served
        self._tasks: set[asyncio.Task[None]] = set()
        self._welcomed = {services.caller}

    def begin(self, work: Coroutine[Any, Any, object], *, at_once: bool = False) -> asyncio.Task[None]:
        """Start something, by default when the background work may begin; that it failed is logged."""
        task = asyncio.create_task(self._run(work, at_once))
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, work))
        return task

    def welcome(self, caller: Caller) -> None:
        """List the servers of a caller who was not seen since the start: of many tenants few may come."""
        if caller not in self._welcomed:
            self._welcomed.add(caller)
            self.begin(_refresh(self._services, caller))
            self.begin(_prepare(self._services, caller))
            self.begin(_catch_up(self._services, caller))
            self.begin(_provide(self._services, caller), at_once=True)

    async def _run(self, work: Coroutine[Any, Any, object], at_once: bool) -> None:
        if self._served is not None and not at_once:
            await self._served.wait()
        await work

    def _ended(self, work: Coroutine[Any, Any, object], task: asyncio.Task[None]) -> None:
        work.close()  # one that never began
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("background work failed", exc_info=error)

    async def end(self) -> None:
        """Cancel everything and wait until it has ended."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


async def _add(services: Services, servers: Sequence[ServerConfig]) -> None:
    """Take servers in: the first command may name one of them."""
    for server in servers:
        try:
            await services.tools.add_server(services.caller, server, replace=True)
        except ThresherError as error:
            event(logger, "server not added", level=logging.WARNING, server=server.name, reason=str(error))


async def _index(services: Services, adding: asyncio.Task[None]) -> None:
    """List all servers of the local tenant."""
    await asyncio.wait([adding])
    with suppress(ThresherError):  # search says `degraded` for as long as there is no encoder
        await services.encoder.warm()
    await asyncio.to_thread(count_tokens, "")  # reads its tables
    await _refresh(services, services.caller)


async def _refresh(services: Services, caller: Caller) -> None:
    tenant, user = caller.tenant.id, caller.user
    try:
        done = await services.tools.refresh(caller)
    except ThresherError as error:
        event(logger, "servers not listed", level=logging.WARNING, reason=str(error), tenant=tenant, user=user)
        return
    counts = {"embedded": done.embedded, "kept": done.kept, "failed": sorted(done.failures)}
    event(logger, "servers listed", tenant=tenant, user=user, counts=counts)


async def _prepare(services: Services, caller: Caller) -> None:
    """Have the caller's router at hand before the first message."""
    try:
        await services.intents.prepare(caller)
    except ThresherError as error:
        event(logger, "router not ready", level=logging.WARNING, reason=str(error), tenant=caller.tenant.id)


async def _catch_up(services: Services, caller: Caller) -> None:
    """Have documents and operations embedded that lack vectors of the running model, such as after a change of it."""
    try:
        if await services.documents.sees_any(caller):
            await services.encoder.warm()
            behind = await services.documents.catch_up(caller)
            event(logger, "documents caught up", tenant=caller.tenant.id, repositories=behind)
        if await services.apis.sees_any(caller):
            await services.encoder.warm()
            behind = await services.apis.catch_up(caller)
            event(logger, "APIs caught up", tenant=caller.tenant.id, versions=behind)
    except ThresherError as error:
        event(logger, "not caught up", level=logging.WARNING, reason=str(error), tenant=caller.tenant.id)


async def _connect(services: Services) -> None:
    """Have those connections to databases that the settings' file names, and no others of an earlier file."""
    path, wanted, wrong = services.settings.databases, [], {}
    try:
        if path is not None:
            wanted, wrong = await asyncio.to_thread(read_configured, path, environment())
        wrong = {**wrong, **await services.databases.configure(services.caller, wanted)}
    except ThresherError as error:
        event(logger, "connections not read", level=logging.WARNING, reason=str(error))
    for name, reason in wrong.items():
        event(logger, "connection not added", level=logging.WARNING, connection=name, reason=reason)


async def _provide(services: Services, caller: Caller) -> None:
    """Have the column information of the caller's workspaces at hand as connections, after what was interrupted."""
    try:
        await services.solutions.provide_schemas(caller)
    except ThresherError as error:
        event(logger, "workspaces not read", level=logging.WARNING, reason=str(error), tenant=caller.tenant.id)


async def _sweep(services: Services, indexing: asyncio.Task[None]) -> None:
    """Remove what logs and conversations have kept for long enough: once after the start, then daily."""
    await asyncio.wait([indexing])
    while True:
        try:
            purged = await purge_logs(services.database, services.settings.log_days)
            ended = await services.assistant.sessions.purge()
            old = await services.threads.purge(services.settings.thread_days)
            counts = {"rows": purged.rows, "embeddings": purged.embeddings, "conversations": ended, "threads": old}
            event(logger, "logs purged", counts=counts)
        except ThresherError as error:
            event(logger, "logs not purged", level=logging.WARNING, reason=str(error))
        await asyncio.sleep(SWEEP_SECONDS)


def _open_door(services: Services, conversations: Conversations, mcp: ASGIApp, work: _Work) -> ASGIApp:
    """The application that serves the port."""
    from thresher.console import http_door  # noqa: PLC0415 - a second that a daemon without a port saves

    owner = None if why_keys(services.settings) else services.caller
    door = http_door(services, conversations, mcp, owner, work.welcome)
    work.begin(door.warm())
    return door


def read_servers(path: Path) -> ServerFile:
    """Read an `mcpServers` file, variables from the environment filled in.

    Raises:
        InvalidInput: It cannot be read, or is not such a file.
    """
    try:
        document = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", hint="Correct the path.") from None
    return parse_servers(document, environment())
