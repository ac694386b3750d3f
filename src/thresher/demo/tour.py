"""The demo's course: connect, index, find, advise, call.

Invariant: everything shown goes through the product's own services and gateway; whatever ends the tour, no process
and no file stays but the demo's own database. A failed call is a result that says so, never an exception.
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
from thresher.demo.messages import MESSAGES, PROMPTS, QUESTIONS, LocalCall, local_calls
from thresher.demo.place import Place, demo_settings
from thresher.demo.report import Answer, Called, Consulted, Guided, Indexing, LiveServer, Report
from thresher.demo.servers import LeftOut, choose_servers, prepare_folder
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


async def call_tool(client: Client[Any], call: LocalCall) -> Called:
    """Call one tool through the gateway's `call_tool`."""
    arguments = {"name": f"{call.server}_{call.tool}", "arguments": dict(call.arguments)}
    began = time.perf_counter()
    result = await client.call_tool_mcp("call_tool", arguments)
    rules, tokens = _rules(result), 0
    if rules:
        tokens, began = count_tokens(_text(result)), time.perf_counter()
        result = await client.call_tool_mcp("call_tool", arguments)
    milliseconds = (time.perf_counter() - began) * 1000
    return Called(call, beginning(_text(result)), result.is_error, milliseconds, rules, tokens)


def _rules(result: CallToolResult) -> tuple[str, ...]:
    """The packs whose rules came in place of an answer."""
    return tuple((result.meta or {}).get(RULES_META) or ())


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def beginning(text: str) -> str:
    """The first lines of an answer; JSON in one line."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        text = "\n".join(line for line in text.splitlines() if line.strip())
    kept = "\n".join(text.splitlines()[:_ANSWER_LINES])[:_ANSWER_CHARACTERS]
    return kept if kept == text else f"{kept.rstrip()} ..."


REPOSITORY = "rules"
PASSAGE_TOKENS = 300


class Show(Protocol):
    """What the tour tells while it goes on."""

    def started(self, seconds: float, folder: Path) -> None:
        """The database is ready."""
        ...

    def connected(self, servers: Sequence[LiveServer], left_out: Sequence[LeftOut]) -> None:
        """The real servers have answered, or not."""
        ...

    def indexed(self, done: int, total: int) -> None:
        """So many tools are in the index."""
        ...

    def ready(self, indexing: Indexing, encoder: str) -> None:
        """All tools are in the index."""
        ...

    def answered(self, answer: Answer) -> None:
        """Tools were found for a message."""
        ...

    def guided(self, guided: Guided) -> None:
        """Rules were found for a message, or rightly none."""
        ...

    def called(self, called: Called) -> None:
        """A tool was called."""
        ...

    def consulted(self, consulted: Consulted) -> None:
        """Passages were found for a question, or rightly none."""
        ...


async def tour(settings: Settings, place: Place, catalogue: Catalogue, show: Show) -> Report:
    """Run the whole demo.

    Args:
        settings: The user's settings.
        place: The demo's own folders.
        catalogue: Tool definitions beside those of the real servers.
        show: Told as things happen.

    Raises:
        ThresherError: The database or the encoder cannot be used.
    """
    began = time.perf_counter()
    async with open_app(demo_settings(settings, place)) as app:
        app.indexing.cancel()  # the tour lists the servers itself, step by step; nothing has begun yet
        started = time.perf_counter() - began
        show.started(started, place.root)
        async with _world(place):  # only now is the folder surely ours: another demo's database would be locked
            report = await _lead(_Guide(app, show), place, catalogue)
    return replace(report, start_seconds=started, total_seconds=time.perf_counter() - began)


async def _lead(guide: _Guide, place: Place, catalogue: Catalogue) -> Report:
    live, left_out = await guide.connect(place.world)
    configs = [config for config, _ in live]
    indexing = await guide.index(configs, sum(server.tools for _, server in live), catalogue)
    answers = await guide.ask()
    guided = await guide.advise()
    calls, meta_tokens = await guide.call(local_calls(place.world / "repository"), [config.name for config in configs])
    consulted = await guide.consult()
    return Report(
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
        folder=str(place.root),
    )


@asynccontextmanager
async def _world(place: Place) -> AsyncGenerator[None]:
    await asyncio.to_thread(shutil.rmtree, place.world, ignore_errors=True)
    try:
        await asyncio.to_thread(prepare_folder, place.world)
        yield
    finally:
        shutil.rmtree(place.world, ignore_errors=True)


class _Guide:
    """Leads through one run of the product."""

    def __init__(self, app: App, show: Show) -> None:
        self._app = app
        self._show = show
        self._tools = app.services.tools
        self._caller: Caller = app.services.caller
        self.encoder = app.services.encoder.model.id

    async def connect(self, world: Path) -> tuple[list[tuple[ServerConfig, LiveServer]], list[LeftOut]]:
        """Start the real servers, all at once; one that fails is left out."""
        cast = await asyncio.to_thread(choose_servers, world)
        outcomes = await asyncio.gather(*(self._start(config) for config in cast.servers))
        live = [
            (config, server)
            for config, server in zip(cast.servers, outcomes, strict=True)
            if isinstance(server, LiveServer)
        ]
        left_out = [*cast.left_out, *(absent for absent in outcomes if isinstance(absent, LeftOut))]
        await self._forget({absent.name for absent in left_out})
        self._show.connected([server for _, server in live], left_out)
        return live, left_out

    async def _start(self, config: ServerConfig) -> LiveServer | LeftOut:
        began = time.perf_counter()
        try:
            listing = await self._app.services.upstreams.list_tools(config)
        except UpstreamError as error:
            await self._app.services.upstreams.disconnect(config.tenant, config.name, owner=config.owner)
            return LeftOut(config.name, error.message)
        return LiveServer(config.name, listing.version, len(listing.tools), round(time.perf_counter() - began, 3))

    async def _forget(self, absent: set[str]) -> None:
        """A server that an earlier run had and this one has not is no longer searched."""
        for known in await self._tools.list_servers(self._caller):
            if known.name in absent:
                await self._tools.remove_server(self._caller, known.name)

    async def index(self, live: Sequence[ServerConfig], expected: int, catalogue: Catalogue) -> Indexing:
        """Put the tools of the real servers and the catalogue into the index.

        Args:
            live: The real servers.
            expected: How many tools they have listed.
            catalogue: The tools beside theirs.
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
        indexing = Indexing(embedded + kept, embedded, kept, time.perf_counter() - began)
        self._show.ready(indexing, self.encoder)
        return indexing

    async def _index_live(self, config: ServerConfig) -> Refreshed:
        await self._tools.add_server(self._caller, config, replace=True, trusted=True)
        return await self._tools.refresh(self._caller, config.name)

    async def ask(self) -> tuple[Answer, ...]:
        """Find tools for each message, after one search that loads what is loaded at the first."""
        await self._tools.find_tools(self._caller, message="warm up the encoder")
        known = frozenset(tool.name for tool in await self._tools.list_tools(self._caller))
        answers: list[Answer] = []
        for message in MESSAGES:
            result = await self._tools.find_tools(self._caller, message=message.text)
            answers.append(Answer(message, result, known.intersection(message.wants)))
            self._show.answered(answers[-1])
        return tuple(answers)

    async def advise(self) -> tuple[Guided, ...]:
        """Find rules for each message, once the router is fitted; nothing counts as given to a model by that."""
        services = self._app.services
        await services.intents.prepare(self._caller)
        guided: list[Guided] = []
        for message in PROMPTS:
            prompt = await services.context.process_prompt(self._caller, message.text, delivers=False)
            guided.append(Guided(message, prompt, count_tokens(prompt.text)))
            self._show.guided(guided[-1])
        return tuple(guided)

    async def call(self, calls: Sequence[LocalCall], live: Sequence[str]) -> tuple[tuple[Called, ...], int]:
        """Call local tools through the gateway, as a client does.

        Returns:
            The calls, and the tokens of the definitions that a client carries in every request.
        """
        made: list[Called] = []
        # A session of this run alone: what a former run was given, this one's model has not read.
        session = replace(self._caller, client=uuid4().hex)
        async with Client(build_gateway(replace(self._app.services, caller=session))) as client:
            tools = await client.list_tools()
            for call in calls:
                if call.server in live:
                    made.append(await call_tool(client, call))
                    self._show.called(made[-1])
        return tuple(made), sum(definition_tokens(tool) for tool in tools)

    async def consult(self) -> tuple[Consulted, ...]:
        """Take documents in, ask them, and forget them again: a client of the next run carries no tools for them."""
        documents = self._app.services.documents
        origin = Origin("folder", str(BUILT_IN), include=("*/SKILL.md",))
        await documents.index_here(self._caller, REPOSITORY, origin)
        consulted: list[Consulted] = []
        for message in QUESTIONS:
            answer = await documents.retrieve_document(self._caller, message.text, REPOSITORY, budget=PASSAGE_TOKENS)
            consulted.append(Consulted(message, answer, PASSAGE_TOKENS))
            self._show.consulted(consulted[-1])
        await documents.remove_repository(self._caller, REPOSITORY)
        return tuple(consulted)
