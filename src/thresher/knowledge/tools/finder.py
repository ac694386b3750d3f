"""`find_tools`: check the request, search, choose, log.

Invariant: an answer waits for nothing besides the search itself; its log row is written afterwards, and reports whether
the snapshot is still the newest. One setting decides whether tools are chosen at all, and each answer names it. Every
bound is checked before anything is embedded. Nothing outside the snapshot's enabled tools and the server filter is
ever chosen.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from thresher.core import Caller, InvalidInput, Scored, Settings, ThresherError, Tool, Why, check_limit, event, traced
from thresher.embedding import count_tokens
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue, facets_of
from thresher.knowledge.tools.log import ToolLog, now
from thresher.knowledge.tools.models import KIND, LIMIT_CAP, UNCHOSEN_CAP, FindResult, FoundTool
from thresher.knowledge.tools.queries import Discovery
from thresher.knowledge.tools.trust import REJECTED
from thresher.search import MAX_QUERIES, Filter, Hit, Prefetch, SearchIndex, SearchResult
from thresher.store import clean, message_of

logger = logging.getLogger("thresher.knowledge")

_OFF = "Selection is off (THRESHER_SELECTION): nothing was searched; tools/list shows every tool."
_SPARE = 4
"""Hits requested beyond the limit, so that duplicates across servers do not shorten the answer."""


@dataclass(frozen=True, slots=True)
class _ToolSelection:
    search: SearchResult
    chosen: Sequence[ChosenTool]
    fallback: bool
    searched: int


class Finder:
    """Finds tools in the catalogue of a caller."""

    def __init__(self, index: SearchIndex, catalogues: CatalogueCache, log: ToolLog, settings: Settings) -> None:
        self._index = index
        self._catalogues = catalogues
        self._log = log
        self._settings = settings

    async def find(
        self,
        caller: Caller,
        question: ToolQuery,
        servers: Sequence[str] | None,
        *,
        core: bool,
        unchosen: bool = False,
        prefetched: Prefetch | None = None,
    ) -> FindResult:
        """Answer one request.

        Args:
            caller: The tenant and user whose tools are searched.
            question: The request.
            servers: Only tools of these servers.
            core: Whether core tools are always part of the answer.
            unchosen: Whether the answer includes the tools that were not chosen, if clients see all tools.
            prefetched: What `prefetch` returned for the same request.

        Raises:
            NotFound: A server of the filter does not exist.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        selection = self._settings.selection
        with traced() as trace:
            catalogue = await self._catalogues.current(caller)
            scope = catalogue.scope(servers)
            if selection == "off":
                answer = _ToolSelection(_empty_search(question, _OFF), (), fallback=False, searched=0)
            else:
                search = await self._search(caller, catalogue, question, scope, prefetched)
                answer = self._choose(catalogue, search, question, scope, core=core)
            result = _result(catalogue, answer, trace, selection)
            if question.message:
                result = replace(result, tools=tuple(map(_by_own_query, result.tools)))
            if catalogue.held and selection != "off":
                held = await held_back_names(self._index, caller, catalogue, question, scope, answer.chosen)
                result = replace(result, held_back=held)
            if unchosen and selection != "on":
                result = _with_unchosen(result, catalogue.inside(scope))
            result = replace(result, duration_ms=(time.perf_counter() - started) * 1000)
            self._note(caller, catalogue, question, answer, result)
        return result

    def prefetch(self, caller: Caller, question: ToolQuery) -> Prefetch | None:
        """Start to read what the answer to a request needs; None if nothing is searched."""
        if self._settings.selection == "off":
            return None
        return self._index.prefetch(caller, KIND, question.texts, split=question.split, message=question.message)

    def _note(
        self, caller: Caller, catalogue: ToolCatalogue, question: ToolQuery, answer: _ToolSelection, result: FindResult
    ) -> None:
        source = _source(answer)
        if result.selection != "off":
            row = Discovery(
                at=now(),
                owner=caller.user,
                client=clean(caller.client),
                trace_id=result.trace_id,
                selection=result.selection,
                source=source,
                clauses=len(result.clauses),
                searched=result.total_searched,
                chosen=[choice.tool.row.id for choice in answer.chosen],
                scores=[choice.score for choice in answer.chosen],
                abstained=result.abstained,
                degraded=clean(result.degraded),
                duration_ms=result.duration_ms,
                embedding_ms=result.embedding_ms if result.embedding_generated else 0.0,
                message=message_of(question.texts, self._settings),
            )
            self._log.add(caller, catalogue, row, result.tools)
        event(
            logger,
            "find_tools",
            tenant=caller.tenant.id,
            user=caller.user,
            selection=result.selection,
            source=source,
            clauses=len(result.clauses),
            searched=result.total_searched,
            chosen=[tool.name for tool in result.tools],
            scores=[round(tool.score, 3) for tool in result.tools],
            abstained=result.abstained,
            fallback=result.fallback,
            degraded=result.degraded,
            ms=round(result.duration_ms, 2),
            embedding_ms=round(result.embedding_ms, 2),
        )

    async def _search(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        question: ToolQuery,
        scope: Collection[int] | None,
        prefetched: Prefetch | None,
    ) -> SearchResult | ThresherError:
        try:
            return await self._index.search(
                caller,
                KIND,
                question.texts,
                limit=question.limit + _SPARE,
                filter=Filter(facets=catalogue.facets(scope)),
                threshold=question.threshold,
                split=question.split,
                message=question.message,
                prefetched=prefetched,
            )
        except ThresherError as error:
            return error

    def _choose(
        self,
        catalogue: ToolCatalogue,
        search: SearchResult | ThresherError,
        question: ToolQuery,
        scope: Collection[int] | None,
        *,
        core: bool,
    ) -> _ToolSelection:
        enabled = len(catalogue.by_id) if scope is None else len(catalogue.inside(scope))
        if isinstance(search, ThresherError):
            search = _empty_search(question, f"search failed: {search.message}")
        elif enabled and not search.searched:
            search = _empty_search(question, "the tools are not indexed yet")
        else:
            hits = () if search.abstained else search.hits
            chosen = choose(catalogue, hits, scope=scope, limit=question.limit, core=core)
            return _ToolSelection(search, chosen, fallback=False, searched=search.searched)
        return _ToolSelection(search, fall_back(catalogue, scope=scope, core=core), fallback=True, searched=enabled)


def _empty_search(question: ToolQuery, reason: str) -> SearchResult:
    return SearchResult(
        hits=(),
        abstained=False,
        probability=0.0,
        degraded=reason,
        searched=0,
        clauses=question.texts,
        embedding_ms=0.0,
        search_ms=0.0,
        embedded=False,
    )


def _source(answer: _ToolSelection) -> str:
    sources = {choice.why.source for choice in answer.chosen} - {"core"}
    if answer.fallback:
        return "fallback"
    if not sources:
        return "core" if answer.chosen else "none"
    return sources.pop() if len(sources) == 1 else "hybrid"


def _result(catalogue: ToolCatalogue, answer: _ToolSelection, trace: str, selection: str) -> FindResult:
    tools = tuple(_found(choice) for choice in answer.chosen)
    return FindResult(
        tools=tools,
        total_searched=answer.searched,
        abstained=answer.search.abstained,
        probability=answer.search.probability,
        degraded=answer.search.degraded,
        fallback=answer.fallback,
        clauses=answer.search.clauses,
        embedding_ms=answer.search.embedding_ms,
        duration_ms=0.0,
        trace_id=trace,
        tokens_sent=sum(tool.tokens for tool in tools),
        tokens_all=catalogue.tokens_all,
        selection=selection,
        embedding_generated=answer.search.embedded,
    )


def _with_unchosen(result: FindResult, tools: Sequence[NamedTool]) -> FindResult:
    """The answer with all other tools that the client sees, up to a limit."""
    chosen = {tool.name for tool in result.tools}
    others = [tool for tool in tools if tool.name not in chosen]
    why = Why("shadow" if result.selection == "shadow" else "off")
    shown = tuple(_found(ChosenTool(tool, 0.0, why)) for tool in others[:UNCHOSEN_CAP])
    return replace(result, unchosen=shown, left_out=len(others) - len(shown))


def _found(choice: ChosenTool) -> FoundTool:
    row = choice.tool.row
    text = f"{choice.tool.name}{row.line}"
    scored = Scored(Tool(row.server, row.name), choice.score, choice.why)
    return FoundTool(choice.tool.name, scored, text, count_tokens(text), choice.also)


def _by_own_query(tool: FoundTool) -> FoundTool:
    """A tool whose reasons number the caller's own queries: the search puts the message before them."""
    why = replace(tool.why, query=max(tool.why.query - 1, 0))
    return replace(tool, scored=replace(tool.scored, why=why))


MAX_QUERY_CHARACTERS = 2_000
MAX_MESSAGE_CHARACTERS = 200_000
MAX_HISTORY_TURNS = 20

WANTED = 'Give queries, one short action phrase per step, such as ["list open issues"]; or message, the user\'s words.'
"""What `find_tools` needs."""

_SHORT_MESSAGE_WORDS = 4
_CONTEXT_CHARACTERS = 400
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ToolQuery:
    """What to search for.

    Attributes:
        texts: The caller's own queries, or the message alone.
        split: Whether a text may contain several tasks (a message may, a query does not).
        limit: 1 to 10 tools.
        threshold: A calibrated probability, or None for the fitted one.
        message: The message for which the caller wrote the queries: it adds context. Empty if unknown.
    """

    texts: tuple[str, ...]
    split: bool
    limit: int
    threshold: float | None
    message: str = ""


def tool_query(
    queries: Sequence[str] | str | None,
    message: str | None,
    history: Sequence[str],
    limit: int,
    threshold: float | None,
) -> ToolQuery:
    """Build a request from the arguments of `find_tools`.

    Empty queries and a blank message count as missing. With both, the queries are searched, and the message is their
    context. History is used only for a message of fewer than four words ("and in Berlin?"): the last turn is then put
    before it.

    Raises:
        InvalidInput: Neither queries nor message, or one over its limit.
    """
    phrases, words = _queries(queries or ()), _message(message or "", history)
    if not phrases and not words:
        raise InvalidInput("There is nothing to search for.", hint=WANTED)
    check_limit(limit, LIMIT_CAP)
    if threshold is not None and not (math.isfinite(threshold) and 0 <= threshold <= 1):
        raise InvalidInput(f"threshold is {threshold}; it must be a probability, 0 to 1.")
    if phrases:
        return ToolQuery(phrases, False, limit, threshold, words)
    return ToolQuery((words,), split=True, limit=limit, threshold=threshold)


def _queries(queries: Sequence[str] | str) -> tuple[str, ...]:
    given = [queries] if isinstance(queries, str) else list(queries)
    texts = tuple(dict.fromkeys(text.strip() for text in given if text.strip()))
    if len(texts) > MAX_QUERIES:
        raise InvalidInput(f"{len(texts)} queries are more than {MAX_QUERIES}.", hint="Ask in several calls.")
    if (longest := max(map(len, texts), default=0)) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"A query has {longest} characters; the limit is {MAX_QUERY_CHARACTERS}.",
            hint="Queries are short action phrases; pass long text as message.",
        )
    return texts


def _message(message: str, history: Sequence[str]) -> str:
    text = message.strip()
    if not text:
        return ""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"The message has {len(text)} characters; the limit is {MAX_MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    turns = [turn.strip() for turn in list(history)[-MAX_HISTORY_TURNS:] if turn.strip()]
    if turns and len(_WORD.findall(text)) < _SHORT_MESSAGE_WORDS:
        return f"{turns[-1][-_CONTEXT_CHARACTERS:]} {text}"
    return text


@dataclass(frozen=True, slots=True)
class ChosenTool:
    """One chosen tool: its score, its reasons, and the names of exact duplicates on other servers."""

    tool: NamedTool
    score: float
    why: Why
    also: tuple[str, ...] = ()


def choose(
    catalogue: ToolCatalogue, hits: Sequence[Hit], *, scope: Collection[int] | None, limit: int, core: bool
) -> list[ChosenTool]:
    """Choose at most `limit` tools.

    Core tools inside the server filter are always included (up to the cap of 10, even above `limit`) and take places
    from the hits; those that the search did not return come last.
    """
    found = _without_duplicates(catalogue, hits, scope)
    always = [tool for tool in catalogue.core if scope is None or tool.row.server_id in scope] if core else []
    places = limit - len(always)
    kept: list[ChosenTool] = []
    for choice in found:
        is_core = core and choice.tool.row.core
        if is_core or places > 0:
            kept.append(choice)
            places -= not is_core
    seen = {choice.tool.row.id for choice in kept}
    rest = [ChosenTool(tool, 0.0, Why("core")) for tool in always if tool.row.id not in seen]
    return [*kept, *rest][:LIMIT_CAP]


def fall_back(catalogue: ToolCatalogue, *, scope: Collection[int] | None, core: bool) -> list[ChosenTool]:
    """Return the first enabled tools inside the server filter, core ones first, up to the cap."""
    tools = catalogue.inside(scope)
    ordered = sorted(tools, key=lambda tool: not (core and tool.row.core))
    return [ChosenTool(tool, 0.0, Why("fallback")) for tool in ordered[:LIMIT_CAP]]


def _without_duplicates(
    catalogue: ToolCatalogue, hits: Iterable[Hit], scope: Collection[int] | None
) -> list[ChosenTool]:
    best: dict[tuple[str, bytes], ChosenTool] = {}
    for hit in hits:
        tool = catalogue.by_id.get(hit.id)
        if tool is None or (scope is not None and tool.row.server_id not in scope):
            continue
        key = (tool.row.name, tool.row.digest)
        first = best.get(key)
        if first is None:
            best[key] = ChosenTool(tool, hit.score, hit.why)
        else:
            best[key] = ChosenTool(first.tool, first.score, first.why, (*first.also, tool.name))
    return list(best.values())


async def held_back_names(
    index: SearchIndex,
    caller: Caller,
    catalogue: ToolCatalogue,
    question: ToolQuery,
    scope: Collection[int] | None,
    chosen: Sequence[ChosenTool],
) -> tuple[str, ...]:
    """Return the exposed names of held tools that fit at least as well as the last chosen tool, best first.

    Held tools are searched separately, so they take no place from another. A rejected tool is not named: a person has
    decided about it.
    """
    undecided = (tool for tool in catalogue.held.values() if tool.row.held != REJECTED)
    waiting = {tool.row.id: tool for tool in undecided if tool.row.enabled}
    servers = {tool.row.server_id for tool in waiting.values() if scope is None or tool.row.server_id in scope}
    if not servers:
        return ()
    try:
        found = await index.search(
            caller,
            KIND,
            question.texts,
            limit=question.limit,
            filter=Filter(facets=facets_of(servers, held=True)),
            threshold=question.threshold,
            split=question.split,
        )
    except ThresherError:
        return ()  # the answer itself already says that the search does not work
    bar = min((choice.score for choice in chosen if choice.why.source not in ("core", "fallback")), default=0.0)
    hits = () if found.abstained else found.hits
    return tuple(waiting[hit.id].name for hit in hits if hit.id in waiting and hit.score >= bar)
