"""The snapshot of names: which tools a caller may see, under which names, without their definitions.

Each tool gets the name that clients see, `server_tool`, or `server.tool` if that would read as another server's tool.

Invariant: a snapshot belongs to one tenant and one user and never changes; it is replaced when the catalogue's version
in the database has changed. Disabled and held tools cannot be found by name through `find`. If a user and the tenant
have a server of one name, that user sees only their own. A name has at most 64 characters of `[A-Za-z0-9_.-]` (128 if
a server's names are exposed unchanged), no two tools share one, and the same catalogue always gives the same names: a
later tool never renames an earlier one, but a new server may if its name looks like the prefix of an earlier tool.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from cachetools import LRUCache

from thresher.core import JSON, Caller, HeldBack, NotFound, StoreUnavailable, Tool, did_you_mean, nearest
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.definitions import ToolLine, tool_line
from thresher.knowledge.tools.models import LOCAL, META_TOOLS, Definition, Resolved, plain_name
from thresher.knowledge.tools.naming import expose
from thresher.knowledge.tools.queries import NameRow, ServerRow, StoredTool, ToolKey, ToolTexts
from thresher.knowledge.tools.trust import GONE, POISONED, REJECTED, WAITING
from thresher.search import terms
from thresher.store import Database

FRESH_SECONDS = 2.0
"""How long a snapshot is used without checking its version: changes of other processes show after at most this."""

_SNAPSHOTS = 64
_DEFINITIONS = 2_000
_NEVER = float("-inf")
_NONE: frozenset[str] = frozenset()
_WRITTEN = 10
"""Tools that a message may name at most."""
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.]*[A-Za-z0-9]+)*")
_SEPARATORS = re.compile(r"[-_.]")
_PARTS = re.compile(r"[-_.]|[a-z][A-Z]")
_LARGE = 1_000
"""Names above which a snapshot is built in a thread: 10,000 take a tenth of a second."""


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A row of the snapshot under its exposed name."""

    name: str
    row: NameRow


def bare(named: NamedTool) -> Definition:
    """Return a tool's name and switches, without its definition."""
    row = named.row
    return Definition(named.name, Tool(row.server, row.name), row.enabled, row.core, row.tokens, row.warnings)


@dataclass(frozen=True, slots=True)
class ToolCatalogue:
    """One caller's view of the catalogue at one version.

    Attributes:
        version: The change count at which it was read.
        servers: All visible servers by name.
        tools: All visible tools, disabled ones included, held ones not, in the order of their ids.
        by_name: The same by exposed name.
        aliases: The exposed names of tools by their aliases.
        by_id: Enabled tools by id.
        held: Tools that wait for approval, by exposed name.
        core: Enabled core tools, by name.
        tokens_all: What the definitions of all enabled tools cost a model.
        server_names: Names of the servers by id.
        filters: The names that a filter of servers accepts, with the servers that each means: local ones go by their
            plain name, too.
        shadowed: Whether the index contains tools that this caller must not find: held ones, or those of a server that
            the caller's own server of the same name hides.
        spelled: Enabled tools by their names without case, dashes, dots and underscores: exposed names, and own names
            that are no spelling of an exposed one.
        lines: How tools are written in an answer; a bounded cache.
        definitions: Definitions read at this version; a bounded cache.
        described: The same as clients are shown them.
        resolved: Resolved calls at this version; a bounded cache.
        words: The terms of the owners' own words, by the tools' ids.
        questions: The terms of the questions that a model wrote, by the tools' ids.
        lapsed: Tools whose rewrite was approved for another definition.
        categories: The ids of the enabled tools of each category.
        labels: The categories that it is restricted to; None for all tools.
    """

    version: int
    servers: Mapping[str, ServerRow]
    tools: tuple[NamedTool, ...]
    by_name: Mapping[str, NamedTool]
    by_id: Mapping[int, NamedTool]
    held: Mapping[str, NamedTool]
    core: tuple[NamedTool, ...]
    tokens_all: int
    server_names: Mapping[int, str]
    filters: Mapping[str, Sequence[ServerRow]]
    shadowed: bool
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    spelled: Mapping[str, Sequence[NamedTool]] = field(default_factory=dict[str, Sequence[NamedTool]])
    lines: LRUCache[int, ToolLine] = field(default_factory=lambda: LRUCache(_DEFINITIONS))
    definitions: LRUCache[int, StoredTool] = field(default_factory=lambda: LRUCache(_DEFINITIONS))
    described: LRUCache[int, Definition] = field(default_factory=lambda: LRUCache(_DEFINITIONS))
    resolved: LRUCache[int, Resolved] = field(default_factory=lambda: LRUCache(_DEFINITIONS))
    words: Mapping[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    questions: Mapping[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    lapsed: tuple[NamedTool, ...] = ()
    categories: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    labels: frozenset[str] | None = None

    def key_of(self, tool: NamedTool) -> ToolKey:
        """Return the key under which words and rewrites of a tool are stored."""
        return ToolKey(self.servers[tool.row.server].owner, tool.row.server, tool.row.name)

    def remember(self, stored: Iterable[StoredTool], resolved: Resolved | None = None) -> None:
        """Cache what was read at this version."""
        self.definitions.update((tool.id, tool) for tool in stored if tool.id in self.by_id)
        if resolved is not None:
            self.resolved[resolved.id] = resolved

    def in_full(self, tools: Iterable[NamedTool], stored: Mapping[int, StoredTool]) -> tuple[Definition, ...]:
        """Return the definitions of those tools that are stored, with the annotations that may be relied on."""
        found: list[Definition] = []
        for named in tools:
            row = named.row
            if row.id not in stored:
                continue
            if (definition := self.described.get(row.id)) is None:
                tool, findings = stored[row.id].tool, stored[row.id].findings
                tool = replace(tool, annotations=relied_on(self.servers[row.server], tool.annotations))
                definition = Definition(named.name, tool, row.enabled, row.core, row.tokens, len(findings), findings)
                if row.id in self.definitions:
                    self.described[row.id] = definition
            found.append(definition)
        return tuple(found)

    def line_of(self, tool: NamedTool) -> ToolLine:
        """Return how a tool is written in an answer."""
        line = self.lines.get(tool.row.id)
        if line is None:
            row = tool.row
            line = self.lines[row.id] = tool_line(tool.name, plain_name(row.server), row.line, row.gist)
        return line

    def reads(self, tool: NamedTool) -> bool:
        """Return whether a tool only reads: it says so, and what its server claims is relied on."""
        return tool.row.reads and is_trusted(self.servers[tool.row.server])

    def written_in(self, texts: Iterable[str]) -> dict[int, NamedTool]:
        """Return the tools whose names some texts contain, by id; at most `_WRITTEN`.

        The exact name comes before other spellings of it, and both before servers' own names for their tools.
        """
        found: dict[int, NamedTool] = {}
        for text in texts:
            for match in _IDENTIFIER.finditer(text):
                word = match[0]
                if (tool := self.find(word)) is not None:
                    found[tool.row.id] = tool
                elif _PARTS.search(word):  # a single word is a word of everyday language, too
                    found |= {tool.row.id: tool for tool in self.spelled.get(_plain_spelling(word), ())}
                if len(found) >= _WRITTEN:
                    return dict(list(found.items())[:_WRITTEN])
        return found

    def spelled_as(self, word: str) -> Iterator[NamedTool]:
        """Return the enabled tools that a word names: exactly, or in another spelling."""
        return (tool for tool in (self.find(word), *self.spelled.get(_plain_spelling(word), ())) if tool is not None)

    def find(self, name: str) -> NamedTool | None:
        """Return an enabled tool by exposed name or alias."""
        found = self.by_name.get(self.aliases.get(name, name))
        return found if found is not None and found.row.enabled else None

    def known(self, name: str, *, enabled: bool = False, missing: str = "") -> NamedTool:
        """Return a tool by exposed name or alias; `missing` is why there may be more, for the error.

        Raises:
            HeldBack: It waits for approval.
            NotFound: No tool has this name, or it is disabled and only enabled ones were requested.
        """
        if (found := self.find(name) if enabled else self.by_name.get(self.aliases.get(name, name))) is not None:
            return found
        if (waiting := self.held.get(name)) is not None:
            raise _held_back(waiting)
        hint = missing or did_you_mean(self.near(name)) or "Call find_tools."
        raise NotFound(f"There is no tool '{name}'.", hint=hint)

    def near(self, name: str) -> tuple[str, ...]:
        """Return enabled tools with similar names."""
        return nearest(name, (tool.name for tool in self.by_id.values()))

    def server(self, name: str) -> ServerRow:
        """Return a server by name.

        Raises:
            NotFound: No server has it; the hint offers similar names.
        """
        if (found := self.servers.get(name)) is None:
            near = did_you_mean(nearest(name, self.servers))
            raise NotFound(f"There is no server '{name}'.", hint=near or "`thresher servers list` shows them all.")
        return found

    def scope(self, servers: Iterable[str]) -> frozenset[int]:
        """Return the ids of the named servers, local ones by their plain name too."""
        return frozenset(row.id for name in servers for row in self.filters.get(name) or [self.server(name)])

    def within(self, categories: Iterable[str]) -> ToolCatalogue:
        """Return the snapshot as if it had only the enabled tools of some categories.

        Raises:
            NotFound: There is no such category; the hint offers similar ones.
        """
        labels = frozenset(categories)
        if unknown := sorted(labels - self.categories.keys()):
            near = did_you_mean(nearest(unknown[0], self.categories))
            raise NotFound(
                f"There is no category '{unknown[0]}'.", hint=near or "`thresher tools categories list` shows them all."
            )
        ids = frozenset[int]().union(*(self.categories[name] for name in labels))
        by_id = {number: tool for number, tool in self.by_id.items() if number in ids}
        core = tuple(tool for tool in self.core if tool.row.id in ids)
        return replace(self, by_id=by_id, core=core, held={}, labels=labels)

    def facets(self, scope: Collection[int] | None) -> frozenset[str] | None:
        """Return the facets for exactly what this caller may use; None if the index contains nothing else."""
        servers = self.server_names if scope is None else scope
        if self.labels is not None:
            return frozenset(category_facet(server, label) for server in servers for label in self.labels)
        return None if scope is None and not self.shadowed else facets_of(servers)

    def inside(self, scope: Collection[int] | None) -> list[NamedTool]:
        """Return the enabled tools of these servers, oldest first."""
        return [tool for tool in self.by_id.values() if scope is None or tool.row.server_id in scope]


def snapshot(
    version: int,
    servers: Sequence[ServerRow],
    rows: Sequence[NameRow],
    offered: frozenset[str] = frozenset(),
    texts: Mapping[ToolKey, ToolTexts] = MappingProxyType({}),
) -> ToolCatalogue:
    """Build a snapshot from rows in the order of their ids, so that a new tool never renames an older one.

    Args:
        version: The change count at which the rows were read.
        servers: All stored servers that the caller may see.
        rows: Their tools.
        offered: The local servers that this process offers to the caller; it sees no others.
        texts: Words and rewrites.
    """
    sorted_servers = sorted(servers, key=lambda server: (server.owner is not None, server.id))
    by_name = {server.name: server for server in sorted_servers if is_offered(server, offered)}
    seen = {server.id: server.name for server in by_name.values()}
    rows = [row for row in rows if row.server_id in seen]
    bare = frozenset(server.name for server in by_name.values() if server.config.get("prefix") is False)
    exposed = expose(((row.server, row.name) for row in rows), META_TOOLS, bare=bare)
    named = [NamedTool(name, row) for name, row in zip(exposed, rows, strict=True) if row.held != GONE]
    tools = tuple(tool for tool in named if not tool.row.held)
    enabled = {tool.row.id: tool for tool in tools if tool.row.enabled}
    filters: defaultdict[str, list[ServerRow]] = defaultdict(list)
    for server in by_name.values():
        for name in {server.name, plain_name(server.name)}:
            filters[name].append(server)
    made = ToolCatalogue(
        version=version,
        servers=by_name,
        tools=tools,
        by_name={tool.name: tool for tool in tools},
        by_id=enabled,
        held={tool.name: tool for tool in named if tool.row.held in WAITING},
        core=tuple(sorted((tool for tool in enabled.values() if tool.row.core), key=lambda tool: tool.name)),
        tokens_all=sum(tool.row.tokens for tool in enabled.values()),
        server_names=seen,
        filters=dict(filters),
        shadowed=len(seen) < len(servers) or len(tools) < len(named),
        aliases=_aliases(by_name.values(), named),
        spelled=_spelled(enabled.values()),
    )
    return _with_texts(made, texts) if texts else made


def _with_texts(catalogue: ToolCatalogue, texts: Mapping[ToolKey, ToolTexts]) -> ToolCatalogue:
    own = [(tool, texts[key]) for tool in catalogue.tools if (key := catalogue.key_of(tool)) in texts]
    words = {tool.row.id: frozenset(terms(" ".join(given.words))) for tool, given in own if given.words}
    written = {tool.row.id: asked for tool, given in own if (asked := given.questions_of(tool.row.digest))}
    questions = {number: frozenset(terms(" ".join(asked))) for number, asked in written.items()}
    lapsed = (tool for tool, given in own if given.rewrite is not None and not given.description_of(tool.row.digest))
    categories: defaultdict[str, set[int]] = defaultdict(set)
    for tool, given in own:
        if given.category and tool.row.enabled:
            categories[given.category].add(tool.row.id)
    named = {name: frozenset(ids) for name, ids in categories.items()}
    return replace(catalogue, words=words, questions=questions, lapsed=tuple(lapsed), categories=named)


def _spelled(tools: Iterable[NamedTool]) -> dict[str, Sequence[NamedTool]]:
    exposed: defaultdict[str, list[NamedTool]] = defaultdict(list)
    own: defaultdict[str, list[NamedTool]] = defaultdict(list)
    for tool in tools:
        exposed[_plain_spelling(tool.name)].append(tool)
        own[_plain_spelling(tool.row.name)].append(tool)
    return {**own, **exposed}


def _plain_spelling(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()


def _aliases(servers: Iterable[ServerRow], named: Sequence[NamedTool]) -> dict[str, str]:
    """The exposed names by alias of local servers; an alias that is also the name of a tool is left out."""
    giving = [server for server in servers if server.config.get("transport") == LOCAL and "aliases" in server.config]
    if not giving:
        return {}
    exposed = {(tool.row.server, tool.row.name): tool.name for tool in named}
    taken, found = frozenset(exposed.values()), dict[str, str]()
    for server in giving:
        prefix = "" if server.config.get("prefix") is False else f"{plain_name(server.name)}_"
        for alias, own in server.config["aliases"].items():
            name = exposed.get((server.name, own))
            if name is not None and prefix + alias not in taken:
                found[prefix + alias] = name
    return found


def is_offered(server: ServerRow, offered: frozenset[str]) -> bool:
    """Return whether a stored server exists now: any but a local one that this process does not offer."""
    return server.config.get("transport") != LOCAL or server.name in offered


def is_trusted(server: ServerRow) -> bool:
    """Return whether a server's claims about its tools are relied on: it is marked trusted or runs in this process."""
    return server.trusted or server.config.get("transport") == LOCAL


def relied_on(server: ServerRow, annotations: JSON) -> JSON:
    """Return the annotations that may be relied on: for an untrusted server, none that asks for less care."""
    if is_trusted(server):
        return annotations
    return {
        name: value for name, value in annotations.items() if name not in _REASSURING or value is not _REASSURING[name]
    }


_REASSURING: Final = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
"""Annotations of MCP that make a client ask its user less often."""


def _held_back(tool: NamedTool) -> HeldBack:
    why = "looks poisoned" if tool.row.held == POISONED else "has another definition than the approved one"
    if tool.row.held == REJECTED:
        why = "was rejected"
    return HeldBack(
        f"The tool '{tool.name}' is held back: it {why}.",
        hint=f"To review it: thresher tools held, then thresher tools approve {tool.name}.",
    )


_Key: TypeAlias = tuple[int, str | None, frozenset[str]]


@dataclass(slots=True)
class _CachedSnapshot:
    catalogue: ToolCatalogue
    checked: float
    changes: int


class CatalogueCache:
    """The snapshots in use; the least recently used one is dropped first.

    Attributes:
        questions: Whether the search reads questions that a model wrote.
        followers: Called whenever this process has changed a catalogue.
    """

    def __init__(self, database: Database, *, questions: bool = False) -> None:
        self._database = database
        self.questions = questions
        self._held: LRUCache[_Key, _CachedSnapshot] = LRUCache(_SNAPSHOTS)
        self._locks: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()
        self._changes: defaultdict[int, int] = defaultdict(int)
        self._offered: dict[tuple[int, str | None, str, bool], frozenset[str]] = {}
        self.followers: list[Callable[[], None]] = []

    def offer(self, caller: Caller, names: frozenset[str]) -> None:
        """Show a caller exactly these local servers, in its current project."""
        if names:
            self._offered[caller.place] = names
        else:
            self._offered.pop(caller.place, None)

    def offered(self, caller: Caller) -> frozenset[str]:
        """Return the local servers that a caller sees."""
        return self._offered.get(caller.place, _NONE)

    async def current(self, caller: Caller) -> ToolCatalogue:
        """Return a snapshot at most `FRESH_SECONDS` behind other processes, and never behind this one.

        While the database does not answer, the last one is used.

        Raises:
            StoreUnavailable: The database does not answer, and there is no snapshot, or this process has changed
                something.
        """
        if (held := self._fresh(caller)) is not None:
            return held
        async with self._locks.setdefault(self._key(caller), asyncio.Lock()):
            return self._fresh(caller) or await self._renewed(caller)

    def changed(self, tenant_id: int) -> None:
        """Record that this process changed the tenant's catalogue."""
        self._changes[tenant_id] += 1
        for key in self._held:
            if key[0] == tenant_id:
                self._held[key].checked = _NEVER
        for callback in tuple(self.followers):
            callback()

    def confirm(self, caller: Caller, catalogue: ToolCatalogue, version: int) -> bool:
        """Return whether a version just read is the snapshot's; if so, the snapshot counts as checked now.

        It does not if this process has changed the catalogue since: the version may have been read before that.
        """
        held = self._held.get(self._key(caller))
        if catalogue.version != version:
            if held is not None:
                held.checked = _NEVER
            return False
        if held is not None and held.catalogue is catalogue and held.changes == self._changes[caller.tenant.id]:
            held.checked = time.monotonic()
        return True

    def _fresh(self, caller: Caller) -> ToolCatalogue | None:
        held = self._held.get(self._key(caller))
        if held is None or time.monotonic() - held.checked > FRESH_SECONDS:
            return None
        return held.catalogue

    async def _renewed(self, caller: Caller) -> ToolCatalogue:
        key = self._key(caller)
        held = self._held.get(key)
        changes = self._changes[caller.tenant.id]
        try:
            catalogue = await self._read(caller, key[2], held.catalogue if held is not None else None)
        except StoreUnavailable:
            if held is None or held.changes != changes:
                raise
            return held.catalogue
        checked = time.monotonic() if changes == self._changes[caller.tenant.id] else _NEVER
        self._held[key] = _CachedSnapshot(catalogue, checked, changes)
        return catalogue

    async def _read(self, caller: Caller, offered: frozenset[str], last: ToolCatalogue | None) -> ToolCatalogue:
        async with self._database.transaction(caller.tenant) as connection:
            # The version is read first: rows that are newer than it only cost one more read.
            version = await queries.version(connection, caller.tenant)
            if last is not None and last.version == version:
                return last
            servers = await queries.servers(connection, caller)
            rows = await queries.names(connection, caller)
            texts = await queries.texts(connection, caller)
        if not self.questions:
            texts = {key: replace(given, questions=()) for key, given in texts.items()}
        if len(rows) <= _LARGE:
            return snapshot(version, servers, rows, offered, texts)
        return await asyncio.to_thread(snapshot, version, servers, rows, offered, texts)

    def _key(self, caller: Caller) -> _Key:
        return caller.tenant.id, caller.user, self._offered.get(caller.place, _NONE)


def facet_of(server_id: int, *, held: bool = False) -> str:
    """Return the facet of a server's tools, or of those that are held back; the two never share one."""
    return f"held:{server_id}" if held else f"server:{server_id}"


def category_facet(server_id: int, category: str) -> str:
    """Return the facet of a server's tools of one category; names of categories are equal on many servers."""
    return f"category:{server_id}:{category}"


def facets_of(server_ids: Iterable[int], *, held: bool = False) -> frozenset[str]:
    """Return the facets of some servers' tools."""
    return frozenset(facet_of(server_id, held=held) for server_id in server_ids)
