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
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from thresher.core import (
    Caller,
    InvalidInput,
    Scored,
    Settings,
    ThresherError,
    Tool,
    Why,
    check_limit,
    event,
    one_line,
    traced,
)
from thresher.embedding import count_tokens
from thresher.knowledge.tools.catalogue import (
    CatalogueCache,
    ToolCatalogue,
    facets_of,
)
from thresher.knowledge.tools.choice import ChosenTool, choose, fallback_hits
from thresher.knowledge.tools.composition import WORTH, Answer, Candidate, Form, compose
from thresher.knowledge.tools.inspection import InspectedSearch, ToolQuery, inspected_items, ranked_tools
from thresher.knowledge.tools.learning import Learning, OfferedAnswer, offered_tools
from thresher.knowledge.tools.log import ToolLog, now
from thresher.knowledge.tools.models import (
    KIND,
    LEAST_BUDGET,
    LIMIT_CAP,
    MOST_BUDGET,
    UNCHOSEN_CAP,
    FindResult,
    FoundTool,
    ToolInspection,
)
from thresher.knowledge.tools.queries import Discovery
from thresher.knowledge.tools.trust import REJECTED
from thresher.search import MAX_QUERIES, Filter, Hit, Prefetch, SearchIndex, SearchResult
from thresher.store import clean, message_of

logger = logging.getLogger("thresher.knowledge")

_OFF = "Selection is off (THRESHER_SELECTION): nothing was searched; tools/list shows every tool."
_POOL = 60
"""Tools among which the answer is composed, and one more for each `_TOKENS_EACH` of a large budget."""
_TOKENS_EACH = 5
_LEAST_TOKENS = 4
"""What a tool costs in an answer at least: one that is needed less probably than that is worth stands in none."""
_NOTE = 200
"""Characters of what a note quotes."""
_HELD_NAMED = 3
"""Held tools that an answer names at most."""


class Finder:
    """Finds tools in the catalogue of a caller; answers go to the log, if there is one."""

    def __init__(
        self,
        index: SearchIndex,
        catalogues: CatalogueCache,
        log: ToolLog | None,
        learning: Learning | None,
        settings: Settings,
    ) -> None:
        self._index = index
        self._catalogues = catalogues
        self._log = log
        self._learning = learning
        self._settings = settings

    def unlogged(self, *, learned: bool = False) -> Finder:
        """Return the same finder without a log, and without what was learned or trained unless that is wanted."""
        return Finder(self._index, self._catalogues, None, self._learning if learned else None, self._settings)

    def described(self, caller: Caller, names: Sequence[str]) -> None:
        """Log that a client was shown the definitions of some tools."""
        if self._log is not None:
            self._log.describe(caller, names)

    async def find(
        self,
        caller: Caller,
        question: ToolQuery,
        servers: Sequence[str] | None,
        missing: str,
        *,
        core: bool,
        categories: Sequence[str] | None = None,
        unchosen: bool = False,
        prefetched: Prefetch | None = None,
    ) -> FindResult:
        """Answer one request.

        Args:
            caller: The tenant and user whose tools are searched.
            question: The request.
            servers: Only tools of these servers.
            missing: Which tools cannot be found yet; empty if all can.
            core: Whether core tools are always part of the answer.
            categories: Only tools of these categories.
            unchosen: Whether the answer includes the tools that were not chosen, if clients see all tools.
            prefetched: What `prefetch` returned for the same request.

        Raises:
            NotFound: A server or category of the filter does not exist.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        selection = self._settings.selection
        with traced() as trace:
            whole = await self._catalogues.current(caller)
            catalogue = whole.within(categories)
            scope = catalogue.scope(servers)
            if selection == "off":
                search: SearchResult | str = _OFF
            else:
                search = await self._search(caller, catalogue, question, scope, prefetched)
            hits: Sequence[Hit] = ()
            if not isinstance(search, str):
                hits = search.hits
            elif selection != "off":
                hits = fallback_hits(catalogue, scope, core=core)
            chosen: Sequence[ChosenTool] = ()
            if selection != "off":
                texts = (*question.texts, question.message)
                chosen = choose(catalogue, hits, texts, limit=question.limit, scope=scope, core=core)
            held: tuple[str, ...] = ()
            if catalogue.held and selection != "off":
                held = await held_back_names(self._index, caller, catalogue, question, scope, chosen)
            result, candidates, answer = _result(
                catalogue, question, scope, search, chosen, held, missing, trace, selection
            )
            if (inspection := question.inspection) is not None:
                request = InspectedSearch(question, whole, catalogue, scope, search, _need(question))
                ranked = ranked_tools(request, inspection, chosen, candidates, answer, result.tools, held)
                result = replace(result, ranked=ranked)
            if unchosen and selection != "on":
                result = _with_unchosen(result, catalogue, scope)
            result = replace(result, duration_ms=(time.perf_counter() - started) * 1000)
            self._note(caller, whole, question, result, search)
        return result

    def prefetch(self, caller: Caller, question: ToolQuery) -> Prefetch | None:
        """Start to read what the answer to a request needs; None if nothing is searched."""
        if self._settings.selection == "off":
            return None
        return self._index.prefetch(caller, KIND, question.texts, split=question.split, message=question.message)

    async def _search(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        question: ToolQuery,
        scope: Collection[int] | None,
        prefetched: Prefetch | None,
    ) -> SearchResult | str:
        """The hits, or why there are none to choose from."""
        try:
            learner, adapter = (None, None) if self._learning is None else await self._learning.for_search(caller)
            found = await self._index.search(
                caller,
                KIND,
                question.texts,
                limit=max(_POOL, question.budget // _TOKENS_EACH),
                filter=Filter(facets=catalogue.facets(scope)),
                threshold=question.threshold,
                need=_need(question),
                split=question.split,
                message=question.message,
                prefetched=prefetched,
                learner=learner,
                adapter=adapter,
                inspection=inspected_items(catalogue, question.inspection),
            )
        except ThresherError as error:
            return f"search failed: {error.message}"
        return found if found.searched or not catalogue.inside(scope) else "the tools are not indexed yet"

    def _note(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        question: ToolQuery,
        result: FindResult,
        search: SearchResult | str,
    ) -> None:
        """Log an answer."""
        if self._log is None:
            return
        source = "fallback" if result.fallback else result.tools[0].why.source if result.tools else "none"
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
                chosen=[catalogue.by_name[tool.name].row.id for tool in result.tools],
                scores=[tool.score for tool in result.tools],
                abstained=result.abstained,
                degraded=clean(result.degraded),
                duration_ms=result.duration_ms,
                embedding_ms=result.embedding_ms if result.embedding_generated else 0.0,
                message=message_of(question.texts, self._settings),
                tokens_sent=result.tokens_sent,
                tokens_all=result.tokens_all,
            )
            answer = None if isinstance(search, str) else _answer(catalogue, row, result, search)
            self._log.add(caller, catalogue, row, result.tools, answer)
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


def _answer(catalogue: ToolCatalogue, row: Discovery, result: FindResult, search: SearchResult) -> OfferedAnswer | None:
    """What a call after this answer may belong to; None without vectors, for which like messages are unknown."""
    if search.vectors is None:
        return None
    names = {name: catalogue.by_name[name].row.id for tool in result.tools for name in (tool.name, *tool.also)}
    hits = {hit.id: (hit.why.query, hit.standing) for hit in search.hits}
    tools = offered_tools(names, [(tool.name, tool.also) for tool in result.tools], hits)
    vectors = search.vectors.astype(np.float16)
    return OfferedAnswer(row.at, row.trace_id, search.model, vectors, tools, row.message)


def _need(question: ToolQuery) -> float:
    """The least probability with which a tool is needed that may be part of an answer."""
    return WORTH.floor * _LEAST_TOKENS if question.threshold is None else 0.0


def _result(
    catalogue: ToolCatalogue,
    question: ToolQuery,
    scope: Collection[int] | None,
    search: SearchResult | str,
    chosen: Sequence[ChosenTool],
    held: Sequence[str],
    missing: str,
    trace: str,
    selection: str,
) -> tuple[FindResult, Sequence[Candidate], Answer]:
    """The answer, composed within the budget, and what it was composed of."""
    fallback = isinstance(search, str) and selection != "off"
    if isinstance(search, str):
        # A search that did not run abstains from nothing.
        searched = 0 if selection == "off" else len(catalogue.inside(scope))
        search = SearchResult((), False, 0.0, search, searched, question.texts, 0.0, 0.0)
    abstained = search.abstained and all(one.why.source != "written" for one in chosen)
    degraded = "; ".join(filter(None, (search.degraded, missing)))
    notes: list[str] = []
    if fallback:
        notes.append(f"Search did not run ({one_line(degraded, _NOTE)}). Unranked:")
    elif selection == "off":
        notes.append(degraded)
    else:
        if abstained:
            none = f"No tool fits (p={search.probability:.2f})."
            notes.append(f"{none} Try other action phrases, or answer without a tool.")
        if degraded:
            notes.append(f"(limited search: {one_line(degraded, _NOTE)})")
    if held:
        names = ", ".join(map(one_line, held))
        notes.append(f"Held back until a person approves (thresher tools held): {names}")
    candidates = [
        Candidate(catalogue.line_of(one.tool), one.need, not catalogue.reads(one.tool), one.also, one.kept)
        for one in chosen
    ]
    # A threshold says what is wanted, however little it brings.
    worth = WORTH if question.threshold is None else replace(WORTH, floor=0.0)
    answer = compose(candidates, notes, question.budget, worth=worth)
    # The search puts the message before the caller's own queries, by which its reasons are numbered.
    shift = 1 if question.message else 0
    tools = tuple(
        _found(one, candidate, answer.forms[place], shift)
        for place, (one, candidate) in enumerate(zip(chosen, candidates, strict=True))
        if place in answer.forms
    )
    result = FindResult(
        tools=tools,
        text=answer.text,
        total_searched=search.searched,
        abstained=abstained,
        probability=search.probability,
        degraded=degraded,
        fallback=fallback,
        clauses=search.clauses,
        embedding_ms=search.embedding_ms,
        duration_ms=0.0,
        trace_id=trace,
        tokens_sent=count_tokens(answer.text),
        tokens_all=catalogue.tokens_all,
        selection=selection,
        embedding_generated=search.embedded,
        held_back=tuple(held),
        budget=question.budget,
        threshold=search.threshold,
    )
    return result, candidates, answer


def _with_unchosen(result: FindResult, catalogue: ToolCatalogue, scope: Collection[int] | None) -> FindResult:
    """The answer with all other tools that the client sees, up to a limit."""
    there = {tool.name for tool in result.tools}
    others = [tool for tool in catalogue.inside(scope) if tool.name not in there]
    why = Why("shadow" if result.selection == "shadow" else "off")
    shown = tuple(
        _found(ChosenTool(tool, 0.0, 0.0, why), Candidate(catalogue.line_of(tool), 0.0, not catalogue.reads(tool)))
        for tool in others[:UNCHOSEN_CAP]
    )
    return replace(result, unchosen=shown, left_out=len(others) - len(shown))


def _found(one: ChosenTool, candidate: Candidate, form: Form = "full", shift: int = 0) -> FoundTool:
    line, row = candidate.line, one.tool.row
    why = replace(one.why, query=max(one.why.query - shift, 0)) if shift else one.why
    tokens = line.full_tokens if form == "full" else line.brief_tokens
    scored = Scored(Tool(row.server, row.name), one.score, why)
    return FoundTool(
        one.tool.name, scored, f"{line.name}{line.full}", tokens, form, line.gist, candidate.write, one.also, one.need
    )


MAX_QUERY_CHARACTERS = 2_000
MAX_MESSAGE_CHARACTERS = 200_000
MAX_HISTORY_TURNS = 20

WANTED = 'Give queries, one short action phrase per step, such as ["list open issues"]; or message, the user\'s words.'
"""What `find_tools` needs."""

_SHORT_MESSAGE_WORDS = 4
_CONTEXT_CHARACTERS = 400
_WORD = re.compile(r"\w+")


def tool_query(
    queries: Sequence[str] | str | None,
    message: str | None,
    history: Sequence[str],
    budget: int,
    limit: int | None = None,
    threshold: float | None = None,
    inspection: ToolInspection | None = None,
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
    if limit is not None:
        check_limit(limit, LIMIT_CAP)
    if not LEAST_BUDGET <= budget <= MOST_BUDGET:
        raise InvalidInput(
            f"budget is {budget}; it must be {LEAST_BUDGET} to {MOST_BUDGET:,} tokens.", hint="300 suits most messages."
        )
    if threshold is not None and not (math.isfinite(threshold) and 0 <= threshold <= 1):
        raise InvalidInput(f"threshold is {threshold}; it must be a probability, 0 to 1.")
    if phrases:
        return ToolQuery(phrases, False, budget, limit, threshold, words, inspection)
    return ToolQuery((words,), True, budget, limit, threshold, inspection=inspection)


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


async def held_back_names(
    index: SearchIndex,
    caller: Caller,
    catalogue: ToolCatalogue,
    question: ToolQuery,
    scope: Collection[int] | None,
    chosen: Sequence[ChosenTool],
) -> tuple[str, ...]:
    """Return the exposed names of held tools that fit half as probably as the best tool, at least, best first.

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
            limit=_HELD_NAMED,
            filter=Filter(facets=facets_of(servers, held=True)),
            threshold=question.threshold,
            split=question.split,
        )
    except ThresherError:
        return ()  # the answer itself already says that the search does not work
    bar = max((one.score for one in chosen if not one.kept), default=0.0) / 2
    return tuple(waiting[hit.id].name for hit in found.hits if hit.id in waiting and hit.score >= bar)
