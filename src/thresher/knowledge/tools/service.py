"""The verbs of the tools kind; every face calls these, with the same names and arguments.

Invariant: a disabled or held tool cannot be found, described or called; a name is resolved without a walk over the
catalogue.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from thresher.core import Caller, InvalidInput, NotFound, Settings, Tool, UpstreamError
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.approval import Approvals, Consents
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue, bare, is_trusted
from thresher.knowledge.tools.categories import Categories
from thresher.knowledge.tools.finder import Finder, tool_query
from thresher.knowledge.tools.health import HealthMonitor
from thresher.knowledge.tools.indexer import Indexer, LocalServers, OfferSource
from thresher.knowledge.tools.learning import Learning, Training
from thresher.knowledge.tools.log import Purged, Statistics, ToolLog, measure, prune, purge
from thresher.knowledge.tools.model_questions import QuestionWriter
from thresher.knowledge.tools.models import (
    KIND,
    LOCAL,
    STATIC,
    Definition,
    Descriptions,
    FindResult,
    HeldTool,
    LocalServer,
    Refreshed,
    Resolved,
    ServerInfo,
    ToolInspection,
    plain_name,
)
from thresher.knowledge.tools.queries import StoredTool
from thresher.knowledge.tools.refresh import ServerRefresher
from thresher.knowledge.tools.refresh_schedule import ChangeWatcher
from thresher.knowledge.tools.reports import Reports
from thresher.knowledge.tools.result_shapes import ResultShapes
from thresher.knowledge.tools.search_texts import SearchTexts
from thresher.knowledge.tools.servers import Servers, checked_owner
from thresher.llm import Chat
from thresher.search import Prefetch, Progress, PutCounts, SearchIndex
from thresher.store import Database, SecretBox, age_limit, run_retrying
from thresher.upstream import Changed, GuardedSql, ServerConfig, Upstreams

MAX_NAMES = 50
"""Names in one `describe_tools`: enough for any answer of `find_tools`, far below what floods a model."""


class ToolService:
    """Servers and their tools: add, refresh, find, describe, resolve. One per process."""

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        upstreams: Upstreams,
        secrets: SecretBox,
        settings: Settings,
        chat: Chat | None = None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._catalogues = CatalogueCache(database, questions=settings.tool_questions == "on")
        self.learning = Learning(database, self._catalogues, settings)
        self.training = Training(database, index, self._catalogues, self.learning)
        self._log = ToolLog(database, self._catalogues, self.learning, settings)
        self._finder = Finder(index, self._catalogues, self._log, self.learning, settings)
        self.calls = self._log.calls
        self._indexer = Indexer(database, index, self._catalogues)
        self.questions = QuestionWriter(database, self._catalogues, self._indexer, chat, settings.llm_seconds)
        self._servers = Servers(database, self._indexer, self._catalogues, upstreams, secrets)
        self.health = HealthMonitor(database, self._catalogues, self, lambda: index.edition(KIND))
        self.reports = Reports(database, self._catalogues, self, upstreams, secrets)
        self._refresher = ServerRefresher(
            database, self._indexer, self._catalogues, upstreams, self._servers, settings.auto_approve, self.health.note
        )
        self._local = LocalServers(database, self._indexer, self._catalogues)
        self._changes = ChangeWatcher(self._refresher.refresh)
        self._approvals = Approvals(database, self._indexer, self._catalogues)
        self.consents = Consents(database, self._catalogues)
        self.shapes = ResultShapes(database, self._catalogues)
        self.texts = SearchTexts(database, self._indexer, self._catalogues, self._local)
        self.categories = Categories(database, index, self._indexer, self._catalogues, self._local)

    async def find_tools(
        self,
        caller: Caller,
        *,
        queries: Sequence[str] | str | None = None,
        message: str | None = None,
        history: Sequence[str] = (),
        servers: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        budget: int | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        include_core_tools: bool = True,
        include_unchosen: bool = False,
        prefetched: Prefetch | None = None,
        inspection: ToolInspection | None = None,
    ) -> FindResult:
        """Choose the tools that fit.

        Args:
            caller: The tenant and user whose tools are searched.
            queries: Short action phrases, one for each step; or
            message: the user's words, with one task or several. With both they add context to the queries.
            history: The last turns, oldest first; used only if the message alone is too short to search.
            servers: Only tools of these servers.
            categories: Only tools of these categories.
            budget: The most tokens of the answer's text, 50 to 4,000; by default that of the setting `find_budget`.
            limit: The maximum number of tools, 1 to 50, which only core tools and named ones may exceed.
            threshold: The minimum probability, 0 to 1, that anything fits; by default the fitted one.
            include_core_tools: Whether core tools are always part of the answer.
            include_unchosen: Whether the answer includes the tools that were not chosen, if clients see all tools.
            prefetched: What `prefetch` returned for the same queries, message and history.
            inspection: Which tools the answer names in `ranked`, chosen or not.

        Raises:
            InvalidInput: An argument is out of bounds.
            NotFound: A server or category of the filter does not exist.
        """
        budget = self._settings.find_budget if budget is None else budget
        question = tool_query(queries, message, history, budget, limit, threshold, inspection)
        missing = await self.ready(caller, searching=True)
        return await self._finder.find(
            caller,
            question,
            servers,
            missing,
            core=include_core_tools,
            categories=categories,
            unchosen=include_unchosen,
            prefetched=prefetched,
        )

    def prefetch(
        self,
        caller: Caller,
        *,
        queries: Sequence[str] | str | None = None,
        message: str | None = None,
        history: Sequence[str] = (),
    ) -> Prefetch | None:
        """Start to read what `find_tools` with these arguments needs, while its servers are not known yet.

        A caller that does not pass it to `find_tools` closes it. None if nothing is searched.

        Raises:
            InvalidInput: An argument is out of bounds.
        """
        return self._finder.prefetch(caller, tool_query(queries, message, history, self._settings.find_budget))

    def take_local(self, source: OfferSource) -> Callable[[], None]:
        """Have a source offer local servers before any face gives an answer about tools; returns what removes it."""
        self._local.sources.append(source)
        return lambda: self._local.sources.remove(source)

    def mirror_local(self, other: ToolService) -> None:
        """Show each caller the local servers that another service offers it; nothing is stored for that."""
        self._local.mirror(other._local)

    async def ready(self, caller: Caller, *, searching: bool = False) -> str:
        """Wait, for a bounded time, until the tools of the caller's local servers can be called.

        Args:
            caller: The tenant, user and project of the servers.
            searching: Whether to wait until a search can find them, too.

        Returns:
            What is still missing; empty if nothing is.
        """
        return await self._local.ready(caller, searching=searching)

    def for_measuring(self, *, local: bool = True, learned: bool = False) -> ToolService:
        """Return the same service unlogged, with or without servers inside this process, and what use has taught."""
        other = copy.copy(self)
        other._finder = self._finder.unlogged(learned=learned)
        if not local:
            other._local = LocalServers(self._database, self._indexer, self._catalogues)
        return other

    def follow(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function whenever this process has changed a catalogue; returns what ends that."""
        followers = self._catalogues.followers
        followers.append(callback)
        return lambda: followers.remove(callback)

    def server_changed(self, config: ServerConfig, changed: Changed) -> None:
        """Handle a server's announcement that its lists changed: list it again soon."""
        self._changes.note(config, changed)

    async def close(self) -> None:
        """Stop background work; call it before the sessions and the database close."""
        await self._changes.close()
        await self._refresher.close()
        await self.settle()

    async def settle(self) -> None:
        """Wait until the log rows of all answers and calls are written, and what is learned from them."""
        for part in (self._log, self.learning, self.shapes):
            await part.settle()

    async def stats(self, caller: Caller, days: float = 30) -> Statistics:
        """Return the figures of the last days: times, failures, and whether the choice was right. See `Statistics`.

        Raises:
            InvalidInput: The number of days is out of bounds.
        """
        return await measure(self._database, caller, await self._catalogues.current(caller), days, self._log.lost)

    async def purge(self, caller: Caller, older_than: float | None = None) -> Purged:
        """Remove old log rows of the caller, words of tools long gone, and embeddings that no index has used for long.

        Args:
            caller: The tenant whose rows are removed.
            older_than: Their age in days; by default that of the setting.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        days = self._settings.log_days if older_than is None else older_than
        await self.learning.prepare_removal(caller)
        removed = await purge(self._database, caller, days) + await self.texts.purge(caller, age_limit(days))
        self.learning.changed(caller.tenant)
        return Purged(removed, await prune(self._database, self._settings.log_days))

    async def describe_tools(self, caller: Caller, names: Sequence[str] | str) -> Descriptions:
        """Return definitions in full, in the requested order; unknown names come back with similar known ones.

        Raises:
            InvalidInput: No name was given, or more than `MAX_NAMES`.
            NotFound: None of the names is known.
            HeldBack: None is, and the first one waits for approval.
        """
        wanted = list(dict.fromkeys([names] if isinstance(names, str) else names))
        if not 0 < len(wanted) <= MAX_NAMES:
            raise InvalidInput(f"names must hold 1 to {MAX_NAMES} tool names.", hint="find_tools returns names.")
        await self.ready(caller)
        catalogue = await self._catalogues.current(caller)
        known = [tool for name in wanted if (tool := catalogue.find(name)) is not None]
        unknown = {name: catalogue.near(name) for name in wanted if catalogue.find(name) is None}
        if not known:
            catalogue.known(wanted[0], enabled=True)
        self._finder.described(caller, [tool.name for tool in known])
        stored = await self._definitions(caller, catalogue, known)
        return Descriptions(catalogue.in_full(known, stored), unknown)

    async def resolve(self, caller: Caller, name: str) -> Resolved:
        """Return what a call needs: how to reach the server, and the tool under its own name.

        Raises:
            NotFound: No enabled tool has this name; the hint offers similar ones.
            HeldBack: The tool waits for approval.
            UpstreamError: The tool belongs to a catalogue without a live server.
        """
        missing = (await self.ready(caller)).capitalize()
        catalogue = await self._catalogues.current(caller)
        found = catalogue.known(name, enabled=True, missing=missing)
        if (resolved := catalogue.resolved.get(found.row.id)) is not None:
            return resolved
        server = catalogue.servers[found.row.server]
        transport = server.config.get("transport")
        if transport == STATIC:
            raise UpstreamError(
                f"'{name}' comes from a catalogue without a live server and cannot be called.",
                hint=f"Add the server '{server.name}' itself to call it.",
            )
        stored = await self._definitions(caller, catalogue, [found])
        if found.row.id not in stored:
            raise NotFound(f"The tool '{name}' was removed just now.", hint="Call find_tools again.")
        tool = stored[found.row.id].tool
        config = None if transport == LOCAL else self._servers.config(caller, server)
        claims, trusted = tool.annotations.get("readOnlyHint") is True, is_trusted(server)
        resolved = Resolved(found.row.id, config, tool, claims and trusted, claims and not trusted)
        catalogue.remember((), resolved)
        return resolved

    async def named_in(self, caller: Caller, words: Iterable[str]) -> tuple[str, ...]:
        """Return the exposed names of enabled tools that some words are, in any spelling of case, dash and dot."""
        await self.ready(caller)
        catalogue = await self._catalogues.current(caller)
        return tuple(dict.fromkeys(tool.name for word in words for tool in catalogue.spelled_as(word)))

    async def core_tools(self, caller: Caller) -> tuple[Definition, ...]:
        """Return the core tools in full, by name."""
        catalogue = await self._catalogues.current(caller)
        return catalogue.in_full(catalogue.core, await self._definitions(caller, catalogue, catalogue.core))

    async def tools_of(self, caller: Caller, named: Mapping[str, Collection[str]]) -> tuple[Definition, ...]:
        """Return some tools of some servers in full, by name; disabled ones are left out.

        Args:
            caller: The tenant and user whose tools are meant.
            named: The servers' own names for the tools, by server.
        """
        catalogue = await self._catalogues.current(caller)
        chosen = [tool for tool in catalogue.by_id.values() if tool.row.name in named.get(tool.row.server, ())]
        stored = await self._definitions(caller, catalogue, chosen)
        return catalogue.in_full(sorted(chosen, key=lambda tool: tool.name), stored)

    async def all_tools(self, caller: Caller) -> tuple[Definition, ...]:
        """Return every enabled tool in full, by name; this reads the whole catalogue."""
        catalogue = await self._catalogues.current(caller)
        async with self._database.transaction(caller.tenant) as connection:
            read = await queries.tools(connection, caller.tenant, catalogue.server_names)
        stored = {tool.id: tool for tool in read}
        return catalogue.in_full(sorted(catalogue.by_id.values(), key=lambda tool: tool.name), stored)

    async def list_tools(
        self, caller: Caller, server: str | None = None, *, whole: bool = False
    ) -> tuple[Definition, ...]:
        """Return every tool, disabled ones included, by name: names, switches and cost.

        Args:
            caller: The tenant and user whose tools are meant.
            server: Only tools of this server.
            whole: Whether to read the definitions, too.
        """
        await self.ready(caller)
        catalogue = await self._catalogues.current(caller)
        scope = None if server is None else {catalogue.server(server).id}
        named = [tool for tool in catalogue.tools if scope is None or tool.row.server_id in scope]
        named.sort(key=lambda tool: tool.name)
        if not whole:
            return tuple(bare(tool) for tool in named)
        stored = await self._definitions(caller, catalogue, named)
        return catalogue.in_full(named, stored)

    async def overview(self, caller: Caller) -> dict[str, int]:
        """Return the number of enabled tools of each enabled server, by its plain name."""
        tools = (await self._catalogues.current(caller)).by_id.values()
        return dict(Counter(plain_name(tool.row.server) for tool in tools))

    async def server_names(self, caller: Caller) -> frozenset[str]:
        """Return the names that the filter of `find_tools` accepts: enabled servers, local ones by plain name too."""
        filters = (await self._catalogues.current(caller)).filters
        return frozenset(name for name, servers in filters.items() if any(one.enabled for one in servers))

    async def version(self, caller: Caller) -> int:
        """Return the change count of the snapshot in use."""
        return (await self._catalogues.current(caller)).version

    async def set_tool(
        self, caller: Caller, name: str, enabled: bool | None = None, core: bool | None = None
    ) -> Definition:
        """Switch a tool on or off, or make it a core tool; a switch that is not given stays.

        Raises:
            NotFound: No tool has this name.
            HeldBack: It waits for approval.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        await self.ready(caller)
        catalogue = await self._catalogues.current(caller)
        found = catalogue.known(name)
        server = checked_owner(caller, catalogue.servers[found.row.server])
        values = {key: value for key, value in (("enabled", enabled), ("core", core)) if value is not None}
        if values:
            await run_retrying(
                self._database,
                caller.tenant,
                lambda connection: queries.set_tool(connection, caller.tenant, found.row.id, values),
            )
            self._catalogues.changed(caller.tenant.id)
        if enabled is False:
            await self._indexer.withdraw(caller, [found.row.id])
        elif enabled:
            await self._indexer.index(caller, [server])
        return bare((await self._catalogues.current(caller)).by_name[name])

    async def add_server(
        self,
        caller: Caller,
        config: ServerConfig,
        *,
        replace: bool = False,
        auto_approve: bool | None = None,
        trusted: bool | None = None,
    ) -> ServerInfo:
        """Add a server, without connecting to it: `refresh` lists it. See `Servers.add`."""
        return await self._servers.add(caller, config, replace=replace, auto_approve=auto_approve, trusted=trusted)

    async def check_server(self, caller: Caller, config: ServerConfig) -> str:
        """Start or reach a server that is not stored yet, and list its tools. Returns what was checked.

        Raises:
            UpstreamError: It cannot be used; `SignInNeeded` if a person has to sign in first.
        """
        return await self._servers.check(caller, config)

    async def remove_server(self, caller: Caller, name: str) -> None:
        """Remove a server with its tools and end its session."""
        await self.ready(caller)
        await self._servers.remove(caller, name)

    async def set_server_enabled(self, caller: Caller, name: str, enabled: bool) -> ServerInfo:
        """Switch a server on or off; its tools and their vectors are kept."""
        await self.ready(caller)
        return await self._servers.switch(caller, name, enabled=enabled)

    async def set_server_auto_approve(self, caller: Caller, name: str, auto_approve: bool) -> ServerInfo:
        """Set whether changes of a server's tools are accepted without approval, from its next refresh on."""
        await self.ready(caller)
        return await self._servers.switch(caller, name, auto_approve=auto_approve)

    async def set_server_trusted(self, caller: Caller, name: str, trusted: bool) -> ServerInfo:
        """Set whether a server's claims about its tools, such as that one only reads, are relied on."""
        await self.ready(caller)
        return await self._servers.switch(caller, name, trusted=trusted)

    async def set_server_sql(self, caller: Caller, name: str, sql: GuardedSql | None) -> ServerInfo:
        """Set which arguments of a server's tools are SQL that the guard reads before each call; None: none."""
        await self.ready(caller)
        return await self._servers.guard(caller, name, sql)

    async def held_tools(self, caller: Caller, server: str | None = None) -> tuple[HeldTool, ...]:
        """Return the tools that wait for approval, with what changed and the scanner's findings."""
        return await self._approvals.held(caller, server)

    async def approve_tools(self, caller: Caller, definitions: Mapping[str, str]) -> tuple[str, ...]:
        """Put definitions that were shown into use: exposed name to `HeldTool.digest`. See `Approvals.decide`."""
        return await self._approvals.decide(caller, definitions, approve=True)

    async def reject_tools(self, caller: Caller, definitions: Mapping[str, str]) -> tuple[str, ...]:
        """Keep definitions that were shown out of use: exposed name to `HeldTool.digest`. See `Approvals.decide`."""
        return await self._approvals.decide(caller, definitions, approve=False)

    async def list_servers(self, caller: Caller) -> tuple[ServerInfo, ...]:
        """Return the servers in the order in which they were added, without secrets."""
        await self.ready(caller)
        return await self._servers.infos(caller)

    async def server_config(self, caller: Caller, name: str) -> ServerConfig:
        """Return how a server is reached for the caller, secrets opened; for use inside the process only.

        Raises:
            NotFound: No server has this name.
            InvalidInput: It is a catalogue without a live server.
        """
        return self._servers.config(caller, (await self._catalogues.current(caller)).server(name))

    async def refresh(
        self,
        caller: Caller,
        server: str | None = None,
        tool: str | None = None,
        progress: Progress | None = None,
    ) -> Refreshed:
        """List one tool (by exposed name), one server, or all again. See `ServerRefresher.refresh`."""
        only = None
        if server is not None or tool is not None:
            await self.ready(caller)
        if tool is not None:
            catalogue = await self._catalogues.current(caller)
            found = catalogue.held.get(tool) or catalogue.known(tool)
            server, only = found.row.server, found.row.name
        return await self._refresher.refresh(caller, server, only=only, progress=progress)

    async def import_tools(
        self,
        caller: Caller,
        tools: Iterable[Tool],
        server_descriptions: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> PutCounts:
        """Import a ready-made catalogue, whose tools cannot be called. See `ServerRefresher.import_tools`."""
        return await self._refresher.import_tools(caller, tools, server_descriptions or {}, progress)

    async def offer(self, caller: Caller, servers: Sequence[LocalServer]) -> None:
        """Offer a caller, in its project, the tools of these servers inside this process. See `LocalServers.offer`."""
        await self._local.offer(caller, servers)

    async def index_offered(self, caller: Caller) -> PutCounts:
        """Index the tools of the servers inside this process that the caller sees."""
        return await self._local.index(caller)

    def offered(self, caller: Caller) -> frozenset[str]:
        """Return the names of the servers inside this process that the caller sees."""
        return self._catalogues.offered(caller)

    async def _definitions(
        self, caller: Caller, catalogue: ToolCatalogue, tools: Sequence[NamedTool]
    ) -> Mapping[int, StoredTool]:
        found = {tool.row.id: known for tool in tools if (known := catalogue.definitions.get(tool.row.id))}
        missing = [tool.row.id for tool in tools if tool.row.id not in found]
        if missing:
            async with self._database.transaction(caller.tenant) as connection:
                read = await queries.tools(connection, caller.tenant, catalogue.server_names, ids=missing)
            catalogue.remember(read)
            found |= {tool.id: tool for tool in read}
        return found
