"""Answers `find_tools`: search, choose, log.

Invariant: besides the search itself an answer waits for nothing; its log row is written behind it, and tells on the way
whether the snapshot is still the newest. Whether tools are chosen at all is one setting, and each answer names it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from thresher.core import Caller, Scored, Settings, ThresherError, Tool, Why, event, traced
from thresher.embedding import count_tokens
from thresher.knowledge.tools.catalogue import Catalogue, Catalogues, NamedTool
from thresher.knowledge.tools.choice import Choice, choose, fall_back
from thresher.knowledge.tools.log import ToolLog, now
from thresher.knowledge.tools.models import KIND, UNCHOSEN_CAP, FindResult, FoundTool
from thresher.knowledge.tools.queries import Discovery
from thresher.knowledge.tools.question import Question
from thresher.knowledge.tools.withheld import withheld
from thresher.search import Filter, Prefetch, SearchIndex, SearchResult
from thresher.store import clean, message_of

logger = logging.getLogger("thresher.knowledge")

_OFF = "Selection is off (THRESHER_SELECTION): nothing was searched; tools/list shows every tool."
_SPARE = 4
"""Hits asked for beyond the limit, so that duplicates across servers do not shorten the answer."""


@dataclass(frozen=True, slots=True)
class _Answer:
    search: SearchResult
    chosen: Sequence[Choice]
    fallback: bool
    searched: int


class Finder:
    """Finds tools for one catalogue."""

    def __init__(self, index: SearchIndex, catalogues: Catalogues, log: ToolLog, settings: Settings) -> None:
        self._index = index
        self._catalogues = catalogues
        self._log = log
        self._settings = settings

    async def find(
        self,
        caller: Caller,
        question: Question,
        servers: Sequence[str] | None,
        *,
        core: bool,
        unchosen: bool = False,
        prefetched: Prefetch | None = None,
    ) -> FindResult:
        """Answer one question.

        Args:
            caller: Who asks.
            question: What it asks.
            servers: Only tools of these servers.
            core: Whether core tools are always part of the answer.
            unchosen: Whether the answer shows, where clients see all tools, those that were not chosen too.
            prefetched: What `prefetch` began to read for the same question.

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
                answer = _Answer(_nothing(question, _OFF), (), fallback=False, searched=0)
            else:
                search = await self._search(caller, catalogue, question, scope, prefetched)
                answer = self._choose(catalogue, search, question, scope, core=core)
            result = _result(catalogue, answer, trace, selection)
            if question.message:
                result = replace(result, tools=tuple(map(_by_own_query, result.tools)))
            if catalogue.held and selection != "off":
                held = await withheld(self._index, caller, catalogue, question, scope, answer.chosen)
                result = replace(result, held_back=held)
            if unchosen and selection != "on":
                result = _with_unchosen(result, catalogue.inside(scope))
            result = replace(result, duration_ms=_since(started))
            self._note(caller, catalogue, question, answer, result)
        return result

    def prefetch(self, caller: Caller, question: Question) -> Prefetch | None:
        """Begin to read what the answer to a question needs; None where nothing is searched."""
        if self._settings.selection == "off":
            return None
        return self._index.prefetch(caller, KIND, question.texts, split=question.split, message=question.message)

    def _note(
        self, caller: Caller, catalogue: Catalogue, question: Question, answer: _Answer, result: FindResult
    ) -> None:
        source = _source(answer)
        if result.selection != "off":
            row = _row(caller, answer, result, source, message_of(question.texts, self._settings))
            self._log.add(caller, catalogue, row, result.tools)
        _report(caller, source, result)

    async def _search(
        self,
        caller: Caller,
        catalogue: Catalogue,
        question: Question,
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
        catalogue: Catalogue,
        search: SearchResult | ThresherError,
        question: Question,
        scope: Collection[int] | None,
        *,
        core: bool,
    ) -> _Answer:
        enabled = len(catalogue.by_id) if scope is None else len(catalogue.inside(scope))
        if isinstance(search, ThresherError):
            search = _nothing(question, f"search failed: {search.message}")
        elif enabled and not search.searched:
            search = _nothing(question, "the tools are not indexed yet")
        else:
            hits = () if search.abstained else search.hits
            chosen = choose(catalogue, hits, scope=scope, limit=question.limit, core=core)
            return _Answer(search, chosen, fallback=False, searched=search.searched)
        return _Answer(search, fall_back(catalogue, scope=scope, core=core), fallback=True, searched=enabled)


def _nothing(question: Question, reason: str) -> SearchResult:
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


def _row(caller: Caller, answer: _Answer, result: FindResult, source: str, message: str | None) -> Discovery:
    return Discovery(
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
        message=message,
    )


def _source(answer: _Answer) -> str:
    sources = {choice.why.source for choice in answer.chosen} - {"core"}
    if answer.fallback:
        return "fallback"
    if not sources:
        return "core" if answer.chosen else "none"
    return sources.pop() if len(sources) == 1 else "hybrid"


def _result(catalogue: Catalogue, answer: _Answer, trace: str, selection: str) -> FindResult:
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
    """The answer with all other tools that the client sees, up to a bound."""
    chosen = {tool.name for tool in result.tools}
    others = [tool for tool in tools if tool.name not in chosen]
    why = Why("shadow" if result.selection == "shadow" else "off")
    shown = tuple(_found(Choice(tool, 0.0, why)) for tool in others[:UNCHOSEN_CAP])
    return replace(result, unchosen=shown, left_out=len(others) - len(shown))


def _found(choice: Choice) -> FoundTool:
    row = choice.tool.row
    text = f"{choice.tool.name}{row.line}"
    scored = Scored(Tool(row.server, row.name), choice.score, choice.why)
    return FoundTool(choice.tool.name, scored, text, count_tokens(text), choice.also)


def _by_own_query(tool: FoundTool) -> FoundTool:
    """A tool whose reasons count the caller's own queries: the search has their message before them."""
    why = replace(tool.why, query=max(tool.why.query - 1, 0))
    return replace(tool, scored=replace(tool.scored, why=why))


def _report(caller: Caller, source: str, result: FindResult) -> None:
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


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
