"""From settings to a running product; the only module that knows everybody.

Invariant: what was opened is closed in the opposite order, however the block ends; no server delays the start.

Uses: api, core, embedding, gateway, knowledge, search, services, store, upstream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Receive, Scope, Send

from thresher.api import CALLER, KEY, Door, Origins, http_api, is_loopback
from thresher.core import Caller, InvalidInput, Settings, ThresherError, environment, event
from thresher.embedding import Encoder, open_encoder
from thresher.gateway import Expose, build_gateway, http_app, serve_stream_session
from thresher.knowledge.tools import ToolService
from thresher.search import SearchIndex
from thresher.services import Services
from thresher.store import Keys, SecretBox, open_store
from thresher.upstream import ServerConfig, ServerFile, Upstreams, parse_servers

logger = logging.getLogger("thresher.app")

LOCAL_TENANT = "local"


@dataclass(frozen=True, slots=True)
class App:
    """A running product.

    Attributes:
        services: What the faces call.
        asgi: The door to the HTTP faces; their lifespan is already running.
        serve_stream: Serves one MCP session over a pair of byte streams, for a caller; None: the owner of this process.
        indexing: Ends when every server that was known at the start has been listed, or has failed.
    """

    services: Services
    asgi: ASGIApp
    serve_stream: Callable[[asyncio.StreamReader, asyncio.StreamWriter, Caller | None], Awaitable[None]]
    indexing: asyncio.Task[None]


@asynccontextmanager
async def open_app(
    settings: Settings, *, servers: Sequence[ServerConfig] = (), expose: Expose = "meta"
) -> AsyncGenerator[App]:
    """Open everything, and list the servers in the background.

    Args:
        settings: The settings.
        servers: Servers to add to the catalogue, such as those of `--config`.
        expose: What `tools/list` shows: `meta`-tools and core tools, or `all` tools too.

    Raises:
        ThresherError: The database or a key cannot be opened.
    """
    async with AsyncExitStack() as stack:
        services = await _open_services(settings, stack)
        gateway = build_gateway(services, expose=expose)
        http = http_app(gateway)
        await stack.enter_async_context(http.router.lifespan_context(http))
        indexing = asyncio.create_task(_index(services, servers))
        indexing.add_done_callback(_report)
        stack.push_async_callback(_cancel, indexing)
        stack.push_async_callback(_cancel, asyncio.create_task(services.keys.patrol()))
        yield App(services, _door(services, http), partial(serve_stream_session, gateway), indexing)


async def _open_services(settings: Settings, stack: AsyncExitStack) -> Services:
    database = await stack.enter_async_context(open_store(settings))
    keys = Keys(database)
    stack.push_async_callback(keys.settle)
    secrets = SecretBox.from_settings(settings)
    encoder = open_encoder(settings)
    stack.push_async_callback(encoder.close)
    previous = _previous(settings)
    if previous is not None:
        stack.push_async_callback(previous.close)
    index = SearchIndex(database, encoder, settings, previous=previous)
    stack.push_async_callback(index.close)
    upstreams = Upstreams(settings)
    stack.push_async_callback(upstreams.close)
    tools = ToolService(database, index, upstreams, secrets, settings)
    stack.push_async_callback(tools.settle)
    return Services(
        settings=settings,
        database=database,
        encoder=encoder,
        index=index,
        upstreams=upstreams,
        tools=tools,
        secrets=secrets,
        caller=Caller(await database.tenant(LOCAL_TENANT)),
        keys=keys,
    )


def _previous(settings: Settings) -> Encoder | None:
    """The packaged model where another encoder is configured: what it has indexed, it serves until that is embedded."""
    packaged = {name: Settings.model_fields[name].default for name in ("model", "model_dir", "encoder_url")}
    former = settings.model_copy(update=packaged)
    return None if former == settings else open_encoder(former)


async def _index(services: Services, servers: Sequence[ServerConfig]) -> None:
    for server in servers:
        try:
            await services.tools.add_server(services.caller, server, replace=True)
        except ThresherError as error:
            event(logger, "server not added", level=logging.WARNING, server=server.name, reason=str(error))
    with suppress(ThresherError):  # search says `degraded` for as long as there is no encoder
        await services.encoder.warm()
    try:
        done = await services.tools.refresh(services.caller)
        event(logger, "servers listed", embedded=done.embedded, kept=done.kept, failed=sorted(done.failures))
    except ThresherError as error:
        event(logger, "servers not listed", level=logging.WARNING, reason=str(error))


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("background indexing failed", exc_info=error)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def _door(services: Services, mcp: ASGIApp) -> Door:
    """What the port is given to; only on a loopback address is anybody served without a key."""
    settings = services.settings
    owner = services.caller if is_loopback(settings.host) else None
    origins = Origins.of(settings.allowed_hosts, settings.allowed_origins)
    return Door(_owned(mcp), http_api(services), services.keys, origins, owner)


def _owned(mcp: ASGIApp) -> ASGIApp:
    """MCP whose sessions belong to the key that opened them: to any other key they are not there."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if key := scope.get(KEY):
            subject = scope[CALLER].user
            scope["user"] = AuthenticatedUser(AccessToken(token=key, client_id=key, scopes=[], subject=subject))
        await mcp(scope, receive, send)

    return serve


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
