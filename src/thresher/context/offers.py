"""The tools for a message: those of the matched packs, as `find_tools` returns them, or all that fit.

Invariant: tools that a pack only names are shown if they exist, enabled and approved, and never make an answer fail.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypedDict

from thresher.context.records import EnrichmentRequest, MessageTools, Needs, Note, Trial
from thresher.context.variables import joined
from thresher.core import Caller, HeldBack, NotFound, Scored, Tool, Why
from thresher.knowledge.intents import Pack
from thresher.knowledge.tools import Definition, Descriptions, FindResult, FoundTool, ToolService, line, plain_name
from thresher.search import Prefetch, clauses

EVERY_SERVER = "*"
"""What a pack names as its server if its tools are those of all servers."""
NAMED_TOOLS = 20
"""The maximum number of tools named by packs, shown next to those that were found."""
SHOWN_SERVERS = 12


class ToolOffers:
    """Offers tools.

    Args:
        tools: Finds and describes them.
    """

    def __init__(self, tools: ToolService) -> None:
        self._tools = tools

    @contextmanager
    def prefetching(self, caller: Caller, request: EnrichmentRequest) -> Generator[Prefetch | None]:
        """Read what the search for tools needs while the encoder works, before the packs are known."""
        prefetched = self._tools.prefetch(caller, **_search_arguments(request))
        try:
            yield prefetched
        finally:
            if prefetched is not None:
                prefetched.close()

    async def within_reach(self, caller: Caller, packs: Sequence[Pack]) -> tuple[tuple[Pack, ...], tuple[Note, ...]]:
        """Return the packs that can be used, and a note on each of the others.

        A pack can be used if it needs no tools, brings its own, or one of its servers is connected. Rules for
        missing tools
        would cost tokens and lead a model to unknown names.
        """
        known = await self._tools.server_names(caller)
        reached: list[Pack] = []
        notes: list[Note] = []
        for pack in packs:
            own = _servers(pack)
            there = pack.code is not None or EVERY_SERVER in own or bool(known.intersection(own))
            if not own or there or await self._names_one(caller, pack):
                reached.append(pack)
            else:
                missing = f"{pack.name} fits, and is not given: none of its servers is connected"
                notes.append(Note(missing, joined(pack.servers)))
        return tuple(reached), tuple(notes)

    async def _names_one(self, caller: Caller, pack: Pack) -> bool:
        """Return whether a tool that a pack names exists."""
        return bool((await self._described(caller, pack.tools[:NAMED_TOOLS])).tools)

    async def of_packs(
        self, caller: Caller, request: EnrichmentRequest, packs: Sequence[Pack], prefetched: Prefetch | None = None
    ) -> MessageTools:
        """Return the tools of these packs: those of their servers that fit the message, and those they name."""
        known = await self._tools.server_names(caller)
        own = {name: None for pack in packs for name in _servers(pack)}
        everywhere = EVERY_SERVER in own
        tried = _tried(request).servers
        searched = known if tried is None else known.intersection(tried)
        there = [name for name in own if name in searched]
        missing = [name for pack in packs for name in pack.servers if name not in known and name != EVERY_SERVER]
        found = None
        if everywhere or there:
            found = await self._find(caller, request, tried if everywhere else there, prefetched)
        servers = sorted(searched)[:SHOWN_SERVERS] if everywhere else there
        return await self._offers(caller, request, found, packs, tuple(servers), missing)

    async def of_message(
        self, caller: Caller, request: EnrichmentRequest, packs: Sequence[Pack], tasks: Sequence[str]
    ) -> MessageTools:
        """Return the tools that fit the message, on any server, and those that these packs name.

        Args:
            caller: The tenant and user.
            request: The message.
            packs: The packs whose rules it gets.
            tasks: Its tasks. Where the search for tools cuts the message itself, it is left to it.
        """
        own = bool(request.queries) or len(tasks) == 1 or len(clauses(request.message)) > 1
        arguments = _search_arguments(request)
        if not own:
            arguments = _SearchArguments(queries=tasks, message=request.message, history=())
        trial = _tried(request)
        found = await self._tools.find_tools(
            caller, **arguments, servers=trial.servers, threshold=trial.threshold, include_core_tools=False
        )
        offers = await self._offers(caller, request, found, packs, (), [])
        places = _places(found, tasks)
        return replace(offers, probabilities=_probabilities(found, tasks, places), places=places)

    async def of_anything(
        self, caller: Caller, request: EnrichmentRequest, limit: int, prefetched: Prefetch | None
    ) -> Needs:
        """The names of the tools that fit the message, of whatever server, core tools among them."""
        found = await self._tools.find_tools(caller, **_search_arguments(request), limit=limit, prefetched=prefetched)
        names = tuple(tool.name for tool in found.tools if tool.form == "full")
        return Needs(tools=names, all_tokens=found.tokens_all)

    async def _find(
        self, caller: Caller, request: EnrichmentRequest, servers: Sequence[str] | None, prefetched: Prefetch | None
    ) -> FindResult:
        return await self._tools.find_tools(
            caller,
            **_search_arguments(request),
            servers=servers,
            threshold=_tried(request).threshold,
            include_core_tools=False,
            prefetched=prefetched,
        )

    async def _offers(
        self,
        caller: Caller,
        request: EnrichmentRequest,
        found: FindResult | None,
        packs: Sequence[Pack],
        servers: tuple[str, ...],
        missing: Sequence[str],
    ) -> MessageTools:
        tools = found.tools if found is not None and not found.fallback else ()
        shown = {tool.name for tool in tools}
        wanted = list(dict.fromkeys(name for pack in packs for name in pack.tools if name not in shown))
        named = wanted[:NAMED_TOOLS]
        tried = _tried(request).servers
        definitions = {item.name: item for item in (await self._described(caller, named)).tools}
        own = [definitions[name] for name in named if name in definitions]
        if tried is not None:
            own = [item for item in own if not {item.tool.server, plain_name(item.tool.server)}.isdisjoint(tried)]
        offers = (*tools, *map(_named, own))
        absent = [*missing, *(name for name in named if name not in definitions)]
        return MessageTools(offers, servers, tuple(_notes(found, absent, len(wanted) - len(named))))

    async def _described(self, caller: Caller, names: Sequence[str]) -> Descriptions:
        try:
            return await self._tools.describe_tools(caller, names) if names else Descriptions(())
        except (NotFound, HeldBack):  # none of them exists, or may be used
            return Descriptions(())


def _places(found: FindResult, tasks: Sequence[str]) -> tuple[int, ...]:
    """For each text that was searched the task that it is; -1 for the whole message."""
    return tuple(tasks.index(text) if text in tasks else -1 for text in found.clauses)


def _probabilities(found: FindResult, tasks: Sequence[str], places: Sequence[int]) -> tuple[float, ...]:
    """For each task the probability that its best tool fits; a tool for the whole message counts for each."""
    if found.fallback or not found.tools:
        return (0.0,) * len(tasks)
    if len(tasks) == 1:
        return (found.probability,)
    best = [0.0] * len(tasks)
    for tool in found.tools:
        place = places[tool.why.query] if tool.why.query < len(places) else -1
        for task in range(len(tasks)) if place < 0 else (place,):
            best[task] = max(best[task], tool.score)
    return tuple(best)


class _SearchArguments(TypedDict):
    queries: Sequence[str] | None
    message: str | None
    history: Sequence[str]


def _search_arguments(request: EnrichmentRequest) -> _SearchArguments:
    """The arguments of the search for tools: the calling model's phrases, else the message."""
    if request.queries:
        return {"queries": request.queries, "message": None, "history": ()}
    return {"queries": None, "message": request.message, "history": request.history}


_SERVED = Trial()


def _tried(request: EnrichmentRequest) -> Trial:
    """What is tried for a message; nothing if it is served."""
    return request.trial or _SERVED


def _servers(pack: Pack) -> tuple[str, ...]:
    """Where a pack's tools are: on the servers it names, and on its own, if it has code."""
    return (*pack.servers, pack.name) if pack.code is not None else pack.servers


def _named(definition: Definition) -> FoundTool:
    tool = Tool(definition.tool.server, definition.tool.name)
    text = line(definition.name, definition.tool)
    write = definition.tool.annotations.get("readOnlyHint") is not True
    return FoundTool(definition.name, Scored(tool, 0.0, Why("pack")), text, 0, write=write)


def _notes(found: FindResult | None, absent: Sequence[str], more: int) -> list[Note]:
    notes: list[Note] = []
    if absent:
        notes.append(Note("named by these packs, and not connected or not in use", joined(absent[:NAMED_TOOLS])))
    if more:
        notes.append(Note(f"these packs name {more} more tools; find_tools finds them"))
    if found is None:
        return notes
    if found.degraded:
        what = "no tools, the search did not run" if found.fallback else "tools by a limited search"
        notes.append(Note(what, found.degraded))
    if found.held_back:
        notes.append(Note("held back until a person approves (thresher tools held)", joined(found.held_back)))
    return notes
