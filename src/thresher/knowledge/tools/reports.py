"""What people look at: the catalogue some rows at a time, one tool or server with all that is known of it, rivals.

Invariant: nothing here is logged or learned from, and nothing waits for a measurement or a server. A page of the
catalogue reads names alone, whatever its size. The log of a server's process is for those who may change the server.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from thresher.core import Caller, ConfigurationError, NotFound, ThresherError, did_you_mean, nearest
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue, relied_on
from thresher.knowledge.tools.definitions import enrich, line
from thresher.knowledge.tools.findability import HealthFinding, Trial, trial_of
from thresher.knowledge.tools.models import Definition, FoundTool, HeldTool, ServerInfo
from thresher.knowledge.tools.own_queries import own_queries
from thresher.knowledge.tools.queries import NO_TEXTS, StoredTool
from thresher.knowledge.tools.servers import CredentialStore
from thresher.store import Database, SecretBox
from thresher.upstream import ServerConfig, Upstreams, sign_in_state

if TYPE_CHECKING:
    from thresher.knowledge.tools.service import ToolService  # it holds the reports

ToolState: TypeAlias = Literal["enabled", "disabled", "changed", "poisoned", "rejected"]
"""Whether a tool can be found and called; the last three are held back."""
ToolFilter: TypeAlias = Literal["enabled", "disabled", "core", "warned", "held"]
"""Which tools of the catalogue are listed."""

TextKind: TypeAlias = Literal["name", "brief", "description", "words", "question"]
"""What a text that is embedded is made of."""

_HELD: Final[Mapping[str, ToolState]] = {"changed": "changed", "poisoned": "poisoned", "rejected": "rejected"}
_RIVALS: Final = 10


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A row of the catalogue.

    Attributes:
        name: The name that clients call it by.
        server: Its server.
        summary: What it does, in one sentence.
        state: Whether it can be found and called, or why it is held back.
        core: Whether it is part of every answer.
        reads: Whether it only reads, by a claim that is relied on.
        tokens: What its definition costs a model.
        warnings: The number of the scanner's findings.
        category: Its category; empty if it has none.
    """

    name: str
    server: str
    summary: str
    state: ToolState
    core: bool
    reads: bool
    tokens: int
    warnings: int
    category: str


@dataclass(frozen=True, slots=True)
class ToolPage:
    """Some rows of the catalogue.

    Attributes:
        tools: What is held back and waits for a decision first, then by name.
        total: How many tools meet the filters, those of other pages included.
        next: `after` of the next page; null at the end.
    """

    tools: tuple[ListedTool, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """One of the texts whose vectors make up a tool's.

    Attributes:
        what: `name`, `brief`, `description`, `words` or `question`.
        text: The text.
        weight: Its share of the vector, 0 to 1.
    """

    what: TextKind
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One tool with all that is known of it.

    Attributes:
        definition: The definition in use; of a tool that never was in use, the one that waits.
        listed: Its row of the catalogue.
        line: How it is written for a model.
        gist: A few words that tell it from others.
        held: What waits for approval; null if nothing does.
        embedded: The texts that are embedded.
        searched: All words that the lexical search reads.
        words: The owner's own words.
        questions: Questions that a model wrote for this definition.
        questions_count: Whether the search reads them.
        rewrite: The description that stands in place of the server's; empty if none does.
        rewrite_holds: Whether it is used: it was approved for this definition.
        findings: What stands in the way of its being found, as far as it is known without a measurement.
        may_change: Whether the caller may change it and what is said of it.
    """

    definition: Definition
    listed: ListedTool
    line: str
    gist: str
    held: HeldTool | None
    embedded: tuple[EmbeddedText, ...]
    searched: str
    words: tuple[str, ...]
    questions: tuple[str, ...]
    questions_count: bool
    rewrite: str
    rewrite_holds: bool
    findings: tuple[HealthFinding, ...]
    may_change: bool


@dataclass(frozen=True, slots=True)
class ToolRivals:
    """What the queries of a tool's own definition find.

    Attributes:
        trials: Each query, and whether it finds the tool in full.
        rivals: Other tools that they find, the most probable first.
    """

    trials: tuple[Trial, ...]
    rivals: tuple[FoundTool, ...]


@dataclass(frozen=True, slots=True)
class UpstreamSession:
    """This process's sessions with a server, for one identity.

    Attributes:
        state: `idle`, `connecting`, `ready`, `lost`, `failed`, `open` (not tried again for a while) or `closed`.
        user: The user whose credentials it uses; empty for the tenant's.
        pid: The child process; null if there is none.
        leased: The number of clients with a session of their own.
        problem: Why it failed; empty if it did not.
    """

    state: str
    user: str
    pid: int | None
    leased: int
    problem: str


@dataclass(frozen=True, slots=True)
class ServerReport:
    """One server with all that is known of it.

    Attributes:
        server: The server.
        sql: Dialect, and the arguments that are SQL; null if none is.
        sessions: The sessions of this process that the caller may see.
        log: The last lines of its process's error output, the oldest first, without secrets; empty for callers who may
            not change the server.
        may_change: Whether the caller may change it.
        own_sign_in: Whether the caller signs in for itself; otherwise one sign-in serves all users.
    """

    server: ServerInfo
    sql: Mapping[str, Any] | None
    sessions: tuple[UpstreamSession, ...]
    log: tuple[str, ...]
    may_change: bool
    own_sign_in: bool


class Reports:
    """Looks at servers and their tools for people; one per process."""

    def __init__(
        self,
        database: Database,
        catalogues: CatalogueCache,
        tools: ToolService,
        upstreams: Upstreams,
        secrets: SecretBox,
    ) -> None:
        self._database = database
        self._catalogues = catalogues
        self._tools = tools
        self._upstreams = upstreams
        self._credentials = CredentialStore(database, secrets)

    async def browse(
        self,
        caller: Caller,
        *,
        query: str = "",
        server: str | None = None,
        category: str | None = None,
        state: ToolFilter | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> ToolPage:
        """Return some rows of the catalogue.

        Args:
            caller: The tenant and user whose tools are listed.
            query: Words that the name, the server or the line of a tool contains, in any case.
            server: Only tools of this server.
            category: Only enabled tools of this category.
            state: Only such tools.
            limit: Most rows.
            after: `ToolPage.next` of the page before.

        Raises:
            NotFound: There is no such server or category.
        """
        await self._tools.ready(caller)
        catalogue = await self._catalogues.current(caller)
        within = catalogue.within(None if category is None else [category])
        of = None if server is None else catalogue.server(server).id
        asked = tuple(query.casefold().split())
        start = None if after is None else _place(catalogue, after)

        def matching() -> Iterator[NamedTool]:
            every = within.by_id.values() if category is not None else (*catalogue.tools, *catalogue.held.values())
            for tool in every:
                if (of is None or tool.row.server_id == of) and _is(tool, state) and _says(tool, asked):
                    yield tool

        def page() -> tuple[list[NamedTool], int]:
            found = list(matching())
            left = found if start is None else [tool for tool in found if _order(tool) > start]
            return heapq.nsmallest(limit + 1, left, _order), len(found)

        tools, total = await asyncio.to_thread(page)
        rows = tuple(_listed(catalogue, tool) for tool in tools[:limit])
        return ToolPage(rows, total, rows[-1].name if len(tools) > limit else None)

    async def show(self, caller: Caller, name: str) -> ToolReport:
        """Return one tool with all that is known of it: a disabled or held one, too.

        Raises:
            NotFound: No tool has this name; the hint offers similar ones.
        """
        await self._tools.ready(caller)
        catalogue = await self._catalogues.current(caller)
        tool = _named(catalogue, name)
        server = catalogue.servers[tool.row.server]
        async with self._database.transaction(caller.tenant) as connection:
            read = await queries.tools(connection, caller.tenant, catalogue.server_names, ids=[tool.row.id])
            texts = await queries.texts_of(connection, caller.tenant, [server.name])
        if not read:
            raise NotFound(f"The tool '{name}' was removed just now.", hint="Look at the catalogue again.")
        held = await self._held(caller, tool, server.name)
        stored = read[0] if held is None or held.approved is not None else replace(read[0], tool=held.pending)
        own = texts.get(catalogue.key_of(tool), NO_TEXTS)
        rewrite, questions = own.description_of(stored.digest), own.questions_of(stored.digest)
        searched = stored.tool if rewrite is None else replace(stored.tool, description=rewrite)
        text = enrich(searched, server.description, own.words, questions if self._catalogues.questions else ())
        kinds: list[TextKind] = ["name", "brief", "description"]
        kinds.extend("words" for _ in own.words)
        kinds.extend("question" for _ in questions)
        health = None if tool.row.held else await self._tools.health.known(caller, server.name)
        found = () if health is None else health.findings
        return ToolReport(
            definition=_definition(catalogue, tool, stored),
            listed=_listed(catalogue, tool),
            line=line(tool.name, stored.tool, tool.row.line.partition(" - ")[2]),
            gist=tool.row.gist,
            held=held,
            embedded=tuple(map(EmbeddedText, kinds, text.texts, text.weights)),
            searched=text.lexical,
            words=own.words,
            questions=questions,
            questions_count=self._catalogues.questions,
            rewrite="" if own.rewrite is None else own.rewrite.text,
            rewrite_holds=rewrite is not None,
            findings=tuple(one for one in found if tool.name in (one.tool, *one.about)),
            may_change=server.owner == caller.user,
        )

    async def rivals(self, caller: Caller, name: str) -> ToolRivals:
        """Search for a tool with the queries of its own definition, without a log row.

        Raises:
            NotFound: No enabled tool has this name.
            HeldBack: It waits for approval.
        """
        await self._tools.ready(caller)
        catalogue = await self._catalogues.current(caller)
        tool = catalogue.known(name, enabled=True)
        async with self._database.transaction(caller.tenant) as connection:
            read = await queries.tools(connection, caller.tenant, catalogue.server_names, ids=[tool.row.id])
        if not read:
            raise NotFound(f"The tool '{name}' was removed just now.", hint="Look at the catalogue again.")
        definition, search = _definition(catalogue, tool, read[0]), self._tools.for_measuring().find_tools
        asked = own_queries(definition.tool)
        answers = await asyncio.gather(*(search(caller, queries=[one], include_core_tools=False) for one in asked))
        trials = tuple(trial_of(definition, one, answer) for one, answer in zip(asked, answers, strict=True))
        best: dict[str, FoundTool] = {}
        for found in (found for answer in answers for found in answer.tools):
            known = best.get(found.name)
            if tool.name not in (found.name, *found.also) and (known is None or known.score < found.score):
                best[found.name] = found
        return ToolRivals(trials, tuple(sorted(best.values(), key=lambda one: (-one.score, one.name))[:_RIVALS]))

    async def servers(self, caller: Caller) -> tuple[ServerInfo, ...]:
        """Return the servers in the order in which they were added, each with whether somebody has signed in."""
        infos = await self._tools.list_servers(caller)
        states = await asyncio.gather(*(self._sign_in(caller, info) for info in infos))
        return tuple(replace(info, sign_in=state) for info, state in zip(infos, states, strict=True))

    async def server(self, caller: Caller, name: str) -> ServerReport:
        """Return one server with all that is known of it.

        Raises:
            NotFound: There is no such server; the hint offers similar ones.
        """
        infos = {info.name: info for info in await self._tools.list_servers(caller)}
        row = (await self._catalogues.current(caller)).server(name)
        if name not in infos:
            raise NotFound(f"The server '{name}' was removed just now.", hint="Look at the list again.")
        config = await self._config(caller, name)
        may_change = row.owner == caller.user
        return ServerReport(
            server=replace(infos[name], sign_in=await self._sign_in(caller, infos[name])),
            sql=row.config.get("sql"),
            sessions=tuple(self._sessions(caller, config)),
            log=self._upstreams.log(config) if config is not None and may_change else (),
            may_change=may_change,
            own_sign_in=config is None or config.identity == (caller.user or ""),
        )

    async def _config(self, caller: Caller, name: str) -> ServerConfig | None:
        """How a server is reached; None if it is no live one, or its secrets cannot be opened."""
        try:
            return await self._tools.server_config(caller, name)
        except ThresherError:
            return None

    async def _sign_in(self, caller: Caller, server: ServerInfo) -> str:
        if server.transport not in ("http", "sse"):
            return ""
        try:
            config = await self._tools.server_config(caller, server.name)
            return sign_in_state(config, await self._credentials.load(config))
        except ConfigurationError:
            return "needed"  # sealed with a key that is gone

    def _sessions(self, caller: Caller, config: ServerConfig | None) -> Iterator[UpstreamSession]:
        if config is None:
            return
        for one in self._upstreams.states():
            ours = one.name == config.name and one.tenant == config.tenant and one.owner == config.owner
            if ours and (caller.user is None or one.identity in ("", caller.user)):
                yield UpstreamSession(one.state, one.identity, one.pid, one.leased, one.problem)

    async def _held(self, caller: Caller, tool: NamedTool, server: str) -> HeldTool | None:
        if not tool.row.held:
            return None
        waiting = await self._tools.held_tools(caller, server)
        return next((one for one in waiting if one.name == tool.name), None)


def _named(catalogue: ToolCatalogue, name: str) -> NamedTool:
    found = catalogue.by_name.get(catalogue.aliases.get(name, name)) or catalogue.held.get(name)
    if found is None:
        near = did_you_mean(nearest(name, (*catalogue.by_name, *catalogue.held)))
        raise NotFound(f"There is no tool '{name}'.", hint=near or "The catalogue lists all.")
    return found


def _definition(catalogue: ToolCatalogue, named: NamedTool, stored: StoredTool) -> Definition:
    row, findings = named.row, stored.findings
    claims = relied_on(catalogue.servers[row.server], stored.tool.annotations)
    tool = replace(stored.tool, annotations=claims)
    return Definition(named.name, tool, row.enabled, row.core, row.tokens, len(findings), findings)


def _is(tool: NamedTool, state: ToolFilter | None) -> bool:
    row = tool.row
    match state:
        case "enabled":
            return row.enabled and not row.held
        case "disabled":
            return not row.enabled and not row.held
        case "core":
            return row.core
        case "warned":
            return row.warnings > 0
        case "held":
            return bool(row.held)
        case None:
            return True


def _says(tool: NamedTool, words: Sequence[str]) -> bool:
    if not words:
        return True
    text = f"{tool.name} {tool.row.server} {tool.row.line} {tool.row.gist}".casefold()
    return all(word in text for word in words)


def _order(tool: NamedTool) -> tuple[bool, str]:
    return tool.row.held not in ("changed", "poisoned"), tool.name


def _place(catalogue: ToolCatalogue, name: str) -> tuple[bool, str]:
    """The place after which a page begins; of a tool that is gone, where it would be among those in use."""
    found = catalogue.held.get(name)
    return (True, name) if found is None else _order(found)


def _listed(catalogue: ToolCatalogue, tool: NamedTool) -> ListedTool:
    row = tool.row
    state = _HELD.get(row.held) or ("enabled" if row.enabled else "disabled")
    return ListedTool(
        name=tool.name,
        server=row.server,
        summary=row.line.partition(" - ")[2] or row.gist,
        state=state,
        core=row.core,
        reads=catalogue.reads(tool),
        tokens=row.tokens,
        warnings=row.warnings,
        category=next((name for name, ids in catalogue.categories.items() if row.id in ids), ""),
    )
