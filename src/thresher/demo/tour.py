"""The steps of the demo: connect servers, index tools, find tools, rules and passages, call tools.

Invariant: every result comes from the product's own services and gateway. However the tour ends, it leaves no process
and no file but its database and log. A failed call is a result, never an exception.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from fastmcp import Client
from mcp_types import CallToolResult

from thresher.app import App, open_app
from thresher.calling import RULES_META
from thresher.core import Caller, Settings, UpstreamError
from thresher.demo.catalogue import Catalogue
from thresher.demo.folder import DemoFolder, demo_settings
from thresher.demo.messages import MESSAGES, PROMPTS, QUESTIONS, LocalCall, local_calls
from thresher.demo.report import (
    CallRecord,
    DemoReport,
    IndexingResult,
    LiveServer,
    PassageResult,
    RulesResult,
    ToolsResult,
)
from thresher.demo.servers import MissingServer, choose_servers, prepare_folder
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway
from thresher.knowledge.documents import Origin
from thresher.knowledge.tools import Refreshed
from thresher.packs import BUILT_IN
from thresher.upstream import ServerConfig

_ANSWER_LINES = 13
_ANSWER_CHARACTERS = 800


def definition_tokens(tool: Any) -> int:
    """Tokens of a listed tool, counted as all definitions are: name, description, input schema, no white space."""
    whole = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
    kept = {name: whole.get(name) for name in ("name", "description", "inputSchema")}
    return count_tokens(json.dumps(kept, ensure_ascii=False, separators=(",", ":")))


async def call_tool(client: Client[Any], call: LocalCall) -> CallRecord:
    """Call a tool through the gateway's `call_tool`."""
    arguments = {"name": f"{call.server}_{call.tool}", "arguments": dict(call.arguments)}
    began = time.perf_counter()
    result = await client.call_tool_mcp("call_tool", arguments)
    rules: tuple[str, ...] = tuple((result.meta or {}).get(RULES_META) or ())
    tokens = 0
    if rules:
        tokens, began = count_tokens(_text(result)), time.perf_counter()
        result = await client.call_tool_mcp("call_tool", arguments)
    milliseconds = (time.perf_counter() - began) * 1000
    return CallRecord(call, beginning(_text(result)), result.is_error, milliseconds, rules, tokens)


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def beginning(text: str) -> str:
    """The first lines of an answer; JSON on one line."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        text = "\n".join(line for line in text.splitlines() if line.strip())
    kept = "\n".join(text.splitlines()[:_ANSWER_LINES])[:_ANSWER_CHARACTERS]
    return kept if kept == text else f"{kept.rstrip()} ..."


REPOSITORY = "rules"
PASSAGE_TOKENS = 300


class TourObserver(Protocol):
    """Follows the tour."""

    def started(self, seconds: float, folder: Path) -> None:
        """The database is ready."""
        ...

    def connected(self, servers: Sequence[LiveServer], left_out: Sequence[MissingServer]) -> None:
        """The real servers have answered, or failed."""
        ...

    def indexed(self, done: int, total: int) -> None:
        """`done` of `total` tools are indexed."""
        ...

    def ready(self, indexing: IndexingResult, encoder: str) -> None:
        """All tools are indexed."""
        ...

    def answered(self, answer: ToolsResult) -> None:
        """Tools were found for a message."""
        ...

    def guided(self, guided: RulesResult) -> None:
        """Rules were found for a message, or rightly none."""
        ...

    def called(self, called: CallRecord) -> None:
        """A tool was called."""
        ...

    def consulted(self, consulted: PassageResult) -> None:
        """Passages were found for a question, or rightly none."""
        ...


async def tour(settings: Settings, folder: DemoFolder, catalogue: Catalogue, show: TourObserver) -> DemoReport:
    """Run the whole demo.

    Args:
        settings: The user's settings.
        folder: The demo's folder.
        catalogue: Tool definitions besides those of the real servers.
        show: Follows the tour.

    Raises:
        ThresherError: The database or the encoder cannot be used.
    """
    began = time.perf_counter()
    async with open_app(demo_settings(settings, folder)) as app:
        app.indexing.cancel()  # the tour lists the servers itself; nothing has begun yet
        started = time.perf_counter() - began
        show.started(started, folder.root)
        async with _work_folder(folder):  # another demo in this folder would have locked the database
            report = await _steps(_Tour(app, show), folder, catalogue)
    return replace(report, start_seconds=started, total_seconds=time.perf_counter() - began)


async def _steps(guide: _Tour, folder: DemoFolder, catalogue: Catalogue) -> DemoReport:
    live, left_out = await guide.connect(folder.world)
    configs = [config for config, _ in live]
    indexing = await guide.index(configs, sum(server.tools for _, server in live), catalogue)
    answers = await guide.ask()
    guided = await guide.advise()
    calls, meta_tokens = await guide.call(local_calls(folder.world / "repository"), [config.name for config in configs])
    consulted = await guide.consult()
    return DemoReport(
        servers=tuple(server for _, server in live),
        left_out=tuple(left_out),
        catalogue=catalogue.package,
        vendors=len(catalogue.vendors),
        indexing=indexing,
        answers=answers,
        guided=guided,
        calls=calls,
        consulted=consulted,
        encoder=guide.encoder,
        meta_tokens=meta_tokens,
        folder=str(folder.root),
    )


@asynccontextmanager
async def _work_folder(folder: DemoFolder) -> AsyncGenerator[None]:
    await asyncio.to_thread(shutil.rmtree, folder.world, ignore_errors=True)
    try:
        await asyncio.to_thread(prepare_folder, folder.world)
        yield
    finally:
        shutil.rmtree(folder.world, ignore_errors=True)


class _Tour:
    """The steps, on one running product."""

    def __init__(self, app: App, show: TourObserver) -> None:
        self._app = app
        self._show = show
        self._tools = app.services.tools
        self._caller: Caller = app.services.caller
        self.encoder = app.services.encoder.model.id

    async def connect(self, world: Path) -> tuple[list[tuple[ServerConfig, LiveServer]], list[MissingServer]]:
        """Start the real servers in parallel; one that fails is left out."""
        cast = await asyncio.to_thread(choose_servers, world)
        outcomes = await asyncio.gather(*(self._start(config) for config in cast.servers))
        live = [
            (config, server)
            for config, server in zip(cast.servers, outcomes, strict=True)
            if isinstance(server, LiveServer)
        ]
        left_out = [*cast.left_out, *(absent for absent in outcomes if isinstance(absent, MissingServer))]
        await self._forget({absent.name for absent in left_out})
        self._show.connected([server for _, server in live], left_out)
        return live, left_out

    async def _start(self, config: ServerConfig) -> LiveServer | MissingServer:
        began = time.perf_counter()
        try:
            listing = await self._app.services.upstreams.list_tools(config)
        except UpstreamError as error:
            await self._app.services.upstreams.disconnect(config.tenant, config.name, owner=config.owner)
            return MissingServer(config.name, error.message)
        return LiveServer(config.name, listing.version, len(listing.tools), round(time.perf_counter() - began, 3))

    async def _forget(self, absent: set[str]) -> None:
        """Remove the servers of an earlier run that this run lacks."""
        for known in await self._tools.list_servers(self._caller):
            if known.name in absent:
                await self._tools.remove_server(self._caller, known.name)

    async def index(self, live: Sequence[ServerConfig], expected: int, catalogue: Catalogue) -> IndexingResult:
        """Index the tools of the real servers and the catalogue.

        Args:
            live: The real servers.
            expected: How many tools they have listed.
            catalogue: The other tools.
        """
        began = time.perf_counter()
        total = expected + len(catalogue.tools)
        self._show.indexed(0, total)
        own = [await self._index_live(config) for config in live]
        offset = sum(done.embedded + done.kept for done in own)
        self._show.indexed(offset, total)
        counts = await self._tools.import_tools(
            self._caller,
            catalogue.tools,
            {vendor.server: vendor.description for vendor in catalogue.vendors},
            lambda done, _: self._show.indexed(offset + done, total),
        )
        embedded = sum(done.embedded for done in own) + counts.embedded
        kept = sum(done.kept for done in own) + counts.kept
        indexing = IndexingResult(embedded + kept, embedded, kept, time.perf_counter() - began)
        self._show.ready(indexing, self.encoder)
        return indexing

    async def _index_live(self, config: ServerConfig) -> Refreshed:
        await self._tools.add_server(self._caller, config, replace=True, trusted=True)
        return await self._tools.refresh(self._caller, config.name)

    async def ask(self) -> tuple[ToolsResult, ...]:
        """Find tools for each message, after one search that loads what the first search loads."""
        await self._tools.find_tools(self._caller, message="warm up the encoder")
        known = frozenset(tool.name for tool in await self._tools.list_tools(self._caller))
        answers: list[ToolsResult] = []
        for message in MESSAGES:
            result = await self._tools.find_tools(self._caller, message=message.text)
            answers.append(ToolsResult(message, result, known.intersection(message.wants)))
            self._show.answered(answers[-1])
        return tuple(answers)

    async def advise(self) -> tuple[RulesResult, ...]:
        """Find rules for each message. They do not count as given to a model."""
        services = self._app.services
        await services.intents.prepare(self._caller)
        guided: list[RulesResult] = []
        for message in PROMPTS:
            prompt = await services.context.process_prompt(self._caller, message.text, delivers=False)
            guided.append(RulesResult(message, prompt, count_tokens(prompt.text)))
            self._show.guided(guided[-1])
        return tuple(guided)

    async def call(self, calls: Sequence[LocalCall], live: Sequence[str]) -> tuple[tuple[CallRecord, ...], int]:
        """Call local tools through the gateway, as a client does.

        Returns:
            The calls, and the tokens of the definitions that a client sends in every request.
        """
        made: list[CallRecord] = []
        # A new session: this run's model has not read the rules that an earlier run was given.
        session = replace(self._caller, client=uuid4().hex)
        async with Client(build_gateway(replace(self._app.services, caller=session))) as client:
            tools = await client.list_tools()
            for call in calls:
                if call.server in live:
                    made.append(await call_tool(client, call))
                    self._show.called(made[-1])
        return tuple(made), sum(definition_tokens(tool) for tool in tools)

    async def consult(self) -> tuple[PassageResult, ...]:
        """Index documents, ask them, and remove them, so that the next run offers no tools for them."""
        documents = self._app.services.documents
        origin = Origin("folder", str(BUILT_IN), include=("*/SKILL.md",))
        await documents.index_here(self._caller, REPOSITORY, origin)
        consulted: list[PassageResult] = []
        for message in QUESTIONS:
            answer = await documents.retrieve_document(self._caller, message.text, REPOSITORY, budget=PASSAGE_TOKENS)
            consulted.append(PassageResult(message, answer, PASSAGE_TOKENS))
            self._show.consulted(consulted[-1])
        await documents.remove_repository(self._caller, REPOSITORY)
        return tuple(consulted)
