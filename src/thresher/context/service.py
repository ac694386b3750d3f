"""The verbs of enrichment; every face calls these, with the same names and arguments.

Invariant: the message is embedded once; what was given is recorded for the guard of tools; an answer says what is
missing, cut or degraded.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from thresher.context.allocation import allocate, delivered
from thresher.context.composition import ComposedContext, compose
from thresher.context.cursors import Cursors, pack_of, rules_cursor
from thresher.context.explanation import ContextExplanation, FilledContext, explained
from thresher.context.offers import ToolOffers
from thresher.context.probabilities import TOOLS, Evidence, probabilities
from thresher.context.readiness import Readiness
from thresher.context.records import (
    DEFAULT_BUDGET,
    ContextBlock,
    EnrichmentRequest,
    Needs,
    Note,
    Prompt,
    Rulebook,
    Trial,
    checked_budget,
    checked_cursor,
    context_request,
)
from thresher.context.rendering import prompt_text
from thresher.context.routing import SMALL_TALK, Routing, about_decision, notes_of, without
from thresher.context.rulebooks import Rulebooks
from thresher.context.sources import (
    MAX_TASKS,
    RULES,
    PieceSource,
    RuleSource,
    SourcePieces,
    SourceQuery,
    ToolSource,
    rule_piece,
    tasks_of,
)
from thresher.context.variables import Situation, Variables
from thresher.core import Caller, ContextPack, InvalidCursor, NotFound, ThresherError, event, traced
from thresher.insight import ContextLog
from thresher.knowledge.documents import chats, log_odds
from thresher.knowledge.intents import Decision, IntentService, Pack
from thresher.knowledge.tools import ToolInspection, ToolService
from thresher.search import Prefetch
from thresher.store import shared_reads

logger = logging.getLogger("thresher.context")

PROMPT_TOKENS = 20_000
"""The maximum of all rules of one prompt: clients cut tool answers longer than about 25,000 tokens."""


NOTHING_TRIED = Trial()


class ContextService:
    """Gives a model what a message needs. One per process.

    Args:
        intents: Decides which rules a message needs.
        tools: Finds tools.
        sources: Further sources of a context, in the order in which a model reads them.
        log: Notes what is delivered; by default nothing is noted.

    Attributes:
        variables: Fill `{{NAME}}` in rules; packs and later kinds register theirs here.
        readiness: Decides which packs are of use now.
    """

    def __init__(
        self,
        intents: IntentService,
        tools: ToolService,
        sources: Sequence[PieceSource] = (),
        log: ContextLog | None = None,
    ) -> None:
        self._log = log
        self.variables = Variables()
        self.readiness = Readiness()
        self._intents = intents
        self._rulebooks = Rulebooks(self.variables)
        self._tools = tools
        self._offers = ToolOffers(tools)
        self._routing = Routing(intents, self.readiness, self._offers)
        self._sources: tuple[PieceSource, ...] = (RuleSource(self._rulebooks), ToolSource(self._offers), *sources)

    async def process_prompt(
        self,
        caller: Caller,
        prompt: str,
        *,
        history: Sequence[str] | str = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] | str = (),
        delivers: bool = True,
    ) -> Prompt:
        """Return the rules that a prompt needs, with the tools of their packs; nothing if no rules fit.

        Rules are given each time, since clients shorten earlier turns without notice: in the pack's short form if it
        has one,
        with the cursor by which `get_context` returns them in full.

        Args:
            caller: The user and tenant.
            prompt: The user's words.
            history: The last turns, oldest first.
            queries: Short action phrases that the calling model wrote for it, one per task.
            files: Relevant files, as the client names them.
            delivers: Whether the answer reaches the model unchanged. Otherwise nothing counts as given: a person
                reads it, or
                the code that cuts it records what is left.

        Raises:
            InvalidInput: An argument is out of bounds.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        request = context_request(prompt, history, queries, files, named="prompt")
        return await self._prompt(caller, request, delivers=delivers)

    async def _prompt(self, caller: Caller, request: EnrichmentRequest, *, delivers: bool) -> Prompt:
        started = time.perf_counter()
        with traced() as trace:
            await self._tools.ready(caller)
            with self._offers.prefetching(caller, request) as prefetched:
                decision, packs, missing, _ = await self._routing.decide(caller, request)
                routed = time.perf_counter()
                answer = Prompt(request.message, decision, notes=(*notes_of(decision), *missing), trace_id=trace)
                if packs:
                    answer = await self._enriched(caller, request, packs, answer, prefetched)
            ended = time.perf_counter()
            answer = replace(answer, timings=_timings(decision, started, routed, ended))
            answer = replace(answer, text=prompt_text(answer))
            kinds = [RULES] * bool(answer.rules) + [TOOLS] * bool(answer.tools and answer.rules)
            self._count(caller, "process_prompt", trace, kinds, answer.text, started)
            given = [rule.intent for rule in answer.rules] if delivers else []
            self._note(caller, request, "process_prompt", given, answer.timings)
        return answer

    async def needs(
        self,
        caller: Caller,
        message: str,
        *,
        history: Sequence[str] = (),
        known: Collection[str] = (),
        packs: bool = True,
        tools: int = 0,
    ) -> Needs:
        """What a message needs, as names and rules: for the agent, which writes its prompts itself.

        The message is embedded and its words are read once, for the packs' tools and for all.

        Args:
            caller: Who asks.
            message: The person's words.
            history: The last turns, oldest first.
            known: Packs whose rules the caller has in its own words: they count as given, and are not written.
            packs: Whether to match packs.
            tools: At most so many tools of whatever server; 0: none are searched.

        Raises:
            InvalidInput: An argument is out of bounds.
        """
        request = context_request(message, history)
        with traced():
            await self._tools.ready(caller)
            with self._offers.prefetching(caller, request) as prefetched:
                matched, found = await asyncio.gather(
                    self._matched(caller, request, known, prefetched) if packs else _nothing(),
                    self._offers.of_anything(caller, request, tools, prefetched) if tools else _nothing(),
                    return_exceptions=True,
                )
        notes: list[str] = []
        for name, outcome in (("process_prompt", matched), ("find_tools", found)):
            if isinstance(outcome, ThresherError):
                notes.append(f"{name} failed, so the tools may not fit: {outcome}")
            elif isinstance(outcome, BaseException):
                raise outcome
        needs = matched if isinstance(matched, Needs) else Needs()
        others = found if isinstance(found, Needs) else Needs()
        names = tuple(dict.fromkeys((*needs.tools, *others.tools)))
        return replace(needs, tools=names, notes=tuple(notes), all_tokens=others.all_tokens)

    async def _matched(
        self, caller: Caller, request: EnrichmentRequest, known: Collection[str], prefetched: Prefetch | None
    ) -> Needs:
        """The packs that a message needs, with their rules and tools."""
        started = time.perf_counter()
        decision, packs, _, _ = await self._routing.decide(caller, request)
        routed = time.perf_counter()
        if not packs:
            return Needs()
        unknown = [pack for pack in packs if pack.name not in known]
        book, offers = await asyncio.gather(
            self._rulebooks.of(caller, unknown, request.files, most=PROMPT_TOKENS),
            self._offers.of_packs(caller, request, packs, prefetched),
        )
        given = [*(rule.intent for rule in book.rules), *(pack.name for pack in packs if pack.name in known)]
        self._note(caller, request, "needs", given, _timings(decision, started, routed, time.perf_counter()))
        names = tuple(tool.name for tool in offers.tools if tool.form == "full")
        return Needs(tuple(score.intent for score in decision.matched), book.rules, names)

    async def get_context(
        self,
        caller: Caller,
        message: str,
        *,
        budget: int = DEFAULT_BUDGET,
        history: Sequence[str] | str = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] | str = (),
        cursor: str = "",
        delivers: bool = True,
    ) -> ContextPack:
        """Return what a message needs of everything that is known, inside one token budget.

        Args:
            caller: The user and tenant.
            message: The user's words.
            budget: Tokens (o200k) that neither the text nor the data as JSON exceed.
            history: The last turns, oldest first.
            queries: Short action phrases that the calling model wrote for it, one per task.
            files: Relevant files, as the client names them.
            cursor: From an earlier answer to the same question: returns what that left out; or from a short form:
                returns
                the rules in full.
            delivers: Whether the answer reaches the model; otherwise its rules do not count as given.

        Raises:
            InvalidInput: An argument is out of bounds, or the budget too small for anything.
            InvalidCursor: The cursor belongs to another question, or the content has changed.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        request, budget = context_request(message, history, queries, files), checked_budget(budget)
        return (await self._context(caller, request, budget, checked_cursor(cursor), delivers=delivers)).pack

    async def _context(
        self, caller: Caller, request: EnrichmentRequest, budget: int, cursor: str = "", *, delivers: bool = False
    ) -> FilledContext:
        started = time.perf_counter()
        with traced() as trace, shared_reads():
            await self._tools.ready(caller)
            # While the encoder works on the message, what the searches share is read.
            ahead = asyncio.gather(*(source.prepare(caller) for source in self._sources), return_exceptions=True)
            decision, packs, missing, withheld = await self._routing.decide(caller, request)
            await ahead
            if _is_chat(request):
                chatted = {one.intent: SMALL_TALK for one in decision.matched if one.why not in _APPLIED}
                withheld, decision = {**withheld, **chatted}, without(decision, chatted)
                packs = tuple(pack for pack in packs if pack.name in _rule_scores(decision))
            routed = time.perf_counter()
            query = _query(caller, request, decision, packs)
            if pack_of(cursor):
                found, cursor = await self._in_full(caller, request, cursor), ""
            else:
                found = await self._gathered(query)
            timings = _timings(decision, started, routed, time.perf_counter())
            notes = [*notes_of(decision), *missing, *(note for part in found for note in part.notes)]
            gathered = time.perf_counter()
            filled = self._filled(query, found, notes, timings, cursor, budget, trace)
            filled = replace(filled, withheld=withheld, compose_ms=(time.perf_counter() - gathered) * 1000)
            given = [piece.name for piece in filled.pack.pieces if piece.kind == RULES] if delivers else []
            self._note(caller, request, "get_context", given, timings)
            pack = filled.pack
            self._count(caller, "get_context", trace, [piece.kind for piece in pack.pieces], pack.text, started)
        return filled

    async def explain(
        self,
        caller: Caller,
        message: str,
        *,
        budget: int = DEFAULT_BUDGET,
        history: Sequence[str] | str = (),
        queries: Sequence[str] | str = (),
        files: Sequence[str] | str = (),
        find_budget: int | None = None,
        trial: Trial = NOTHING_TRIED,
        limit: int = 20,
        expected: Sequence[str] = (),
    ) -> ContextExplanation:
        """Return what `process_prompt`, `find_tools` and `get_context` make of a message, and why.

        They are run one after the other as for a model, so the encoder has read the message when the second one begins.
        Nothing is logged, learned from, or counted as given.

        Args:
            caller: The user and tenant.
            message: The user's words.
            budget: Tokens of the context.
            history: The last turns, oldest first.
            queries: Short action phrases that the calling model wrote for it, one per task.
            files: Relevant files, as the client names them.
            find_budget: Tokens of the answer of `find_tools`; by default that of the setting.
            trial: What is tried in place of what holds.
            limit: So many tools and intents are named that are not in the answers, the best ones.
            expected: Tools that are named in any case.

        Raises:
            InvalidInput: An argument is out of bounds, or the budget too small for anything.
            NotFound: There is no such server or intent.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        request = replace(context_request(message, history, queries, files), trial=trial)
        budget, other = checked_budget(budget), self._for_trial()
        with traced() as trace:
            prompt = await other._prompt(caller, request, delivers=False)
            found = await other._tools.find_tools(
                caller,
                queries=request.queries,
                message=request.message,
                history=request.history,
                servers=trial.servers,
                threshold=trial.threshold,
                budget=find_budget,
                inspection=ToolInspection(limit, tuple(expected)),
            )
            filled = await other._context(caller, request, budget)
        event(logger, "explain_context", tenant=caller.tenant.id, user=caller.user)
        return explained(prompt, found, filled, trial, limit=limit, trace=trace)

    def _for_trial(self) -> ContextService:
        """The same service, whose searches are not logged."""
        other = copy.copy(self)
        other._log = None
        other._tools = self._tools.for_measuring(learned=True)
        other._offers = ToolOffers(other._tools)
        other._routing = Routing(self._intents, self.readiness, other._offers)
        other._sources = (self._sources[0], ToolSource(other._offers), *self._sources[2:])
        return other

    async def evidence(self, caller: Caller, message: str) -> tuple[Mapping[str, Sequence[Evidence]], dict[str, float]]:
        """Return what each kind's search says of a message, and the scores of the rules it gets: to fit the heads."""
        request = context_request(message)
        decision, packs, _, _ = await self._routing.decide(caller, request)
        found = await self._gathered(_query(caller, request, decision, packs))
        evidence = {source.kind: part.evidence for source, part in zip(self._sources, found, strict=True)}
        return {kind: one for kind, one in evidence.items() if one}, _rule_scores(decision)

    async def _gathered(self, query: SourceQuery) -> list[SourcePieces]:
        """What each source has for a message. Small talk gets the rules that always apply, and is not searched for."""
        sources = self._sources[:1] if _is_chat(query.request) else self._sources
        kinds = query.request.trial.kinds if query.request.trial is not None else None

        async def gathered(source: PieceSource) -> SourcePieces:
            if kinds is not None and source.kind not in kinds:
                return SourcePieces()
            started = time.perf_counter()
            found = await source.gather(query)
            return replace(found, ms=(time.perf_counter() - started) * 1000)

        found = await asyncio.gather(*map(gathered, sources))
        return [*found, *(SourcePieces() for _ in self._sources[len(sources) :])]

    async def _in_full(self, caller: Caller, request: EnrichmentRequest, cursor: str) -> list[SourcePieces]:
        """The full rules of the pack that a cursor names, and nothing of any other kind."""
        try:
            pack = await self._intents.pack(caller, pack_of(cursor))
        except NotFound:
            raise InvalidCursor from None
        if cursor != rules_cursor(pack.name, pack.digest) or await self.readiness.unready(caller, [pack]):
            raise InvalidCursor
        book = await self._rulebooks.of(caller, [pack], request.files, in_full=True)
        pieces = tuple(rule_piece(rule, 1.0, "cursor") for rule in book.rules)
        return [SourcePieces(attached=pieces, notes=book.notes), *(SourcePieces() for _ in self._sources[1:])]

    async def rules_of(self, caller: Caller, packs: Sequence[Pack], *, in_full: bool = False) -> Rulebook:
        """Return the rules of some packs, variables filled; `rulebook_text` formats them.

        The caller records that they were given.
        """
        return await self._rulebooks.of(caller, packs, (), most=PROMPT_TOKENS, in_full=in_full)

    def _filled(
        self,
        query: SourceQuery,
        found: Sequence[SourcePieces],
        notes: Sequence[Note],
        timings: Mapping[str, float],
        cursor: str,
        budget: int,
        trace: str,
    ) -> FilledContext:
        request, decision = query.request, query.decision
        offered = [(source.kind, part) for source, part in zip(self._sources, found, strict=True)]
        evidence = {kind: part.evidence for kind, part in offered if part.evidence}
        chances = probabilities(evidence, _rule_scores(decision), log_odds(request.message))
        worth = allocate(offered, chances)
        cursors = Cursors.of(request.words, worth.pieces)
        about = about_decision(decision, notes, timings, trace)
        kinds = list(dict.fromkeys((RULES, TOOLS, *(piece.kind for piece in worth.pieces))))
        answer: ComposedContext = compose(cursors, cursor, budget, notes=notes, about=about, kinds=kinds)
        pack = ContextPack(
            message=request.message,
            intents={score.intent: score.score for score in decision.matched},
            pieces=answer.pieces,
            left_out=answer.left_out,
            next=answer.next,
            text=answer.text,
            data=answer.data,
            budget=budget,
            spent=answer.spent,
            confidence=decision.confidence,
            clarify=decision.clarify,
            degraded=decision.degraded,
            timings=timings,
            trace_id=trace,
            shares=delivered(worth.shares, answer.pieces, [left.kind for left in answer.left_out]),
        )
        return FilledContext(pack, query, offered, chances, worth, notes)

    async def within_reach(self, caller: Caller, packs: Sequence[Pack]) -> tuple[Pack, ...]:
        """Return those packs that need no server, or have one that is connected."""
        return (await self._offers.within_reach(caller, packs))[0]

    async def _enriched(
        self,
        caller: Caller,
        request: EnrichmentRequest,
        packs: Sequence[Pack],
        answer: Prompt,
        prefetched: Prefetch | None,
    ) -> Prompt:
        book, offers, values = await asyncio.gather(
            self._rulebooks.of(caller, packs, request.files, most=PROMPT_TOKENS),
            self._offers.of_packs(caller, request, packs, prefetched),
            self.variables.values(Situation(caller, request.files), ("PROJECT_NAME", "ACTIVE_SOLUTION")),
        )
        facts = ContextBlock(values["PROJECT_NAME"] or "", values["ACTIVE_SOLUTION"] or "", offers.servers)
        return replace(
            answer,
            rules=book.rules,
            facts=facts,
            tools=offers.tools,
            notes=(*answer.notes, *book.notes, *offers.notes),
            without_value=book.without_value,
            unknown=book.unknown,
        )

    def _note(
        self,
        caller: Caller,
        request: EnrichmentRequest,
        verb: str,
        given: Sequence[str],
        timings: Mapping[str, float],
    ) -> None:
        if request.trial is not None:
            return
        self._intents.mark_given(caller, given)
        event(logger, verb, tenant=caller.tenant.id, user=caller.user, given=given, ms=dict(timings))

    def _count(self, caller: Caller, verb: str, trace: str, kinds: Sequence[str], text: str, started: float) -> None:
        """Write down what an answer held; a trial has no log."""
        if self._log is not None:
            ms = (time.perf_counter() - started) * 1000
            self._log.add(caller, verb, trace_id=trace, kinds=kinds, text=text, duration_ms=ms)


def _is_chat(request: EnrichmentRequest) -> bool:
    return chats(request.message) and not request.queries and not request.history


_APPLIED = frozenset({"always", "file"})
"""Reasons of rules that apply whatever a message says."""


def _query(caller: Caller, request: EnrichmentRequest, decision: Decision, packs: tuple[Pack, ...]) -> SourceQuery:
    return SourceQuery(caller, request, decision, packs, request.queries[:MAX_TASKS] or tasks_of(request.message))


def _rule_scores(decision: Decision) -> dict[str, float]:
    return {score.intent: score.score for score in decision.matched}


async def _nothing() -> Needs:
    return Needs()


def _timings(decision: Decision, started: float, routed: float, ended: float) -> dict[str, float]:
    """Milliseconds: in the encoder, for the choice of rules, for rules and tools themselves, and in total."""
    route, gather = (routed - started) * 1000, (ended - routed) * 1000
    parts = {"embedding": decision.embedding_ms, "route": route, "gather": gather, "total": route + gather}
    return {name: round(value, 1) for name, value in parts.items()}
