"""The verbs of enrichment; every face calls these, with the same names and arguments.

Invariant: the message is embedded once; what was given is recorded for the guard of tools; an answer says what is
missing, cut or degraded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from thresher.context.allocation import allocate, delivered
from thresher.context.composition import ComposedContext, compose
from thresher.context.cursors import Cursors, pack_of, rules_cursor
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
    checked_budget,
    checked_cursor,
    context_request,
)
from thresher.context.rendering import intents_data, prompt_text
from thresher.context.rulebooks import Rulebooks
from thresher.context.sources import (
    RULES,
    PieceSource,
    RuleSource,
    SourcePieces,
    SourceQuery,
    ToolSource,
    rule_piece,
)
from thresher.context.tasks import MAX_TASKS, tasks_of
from thresher.context.variables import Situation, Variables
from thresher.core import Caller, ContextPack, InvalidCursor, NotFound, ThresherError, event, traced
from thresher.knowledge.documents import chats, log_odds
from thresher.knowledge.intents import Decision, IntentService, Pack
from thresher.knowledge.tools import ToolService
from thresher.search import Prefetch
from thresher.store import shared_reads

logger = logging.getLogger("thresher.context")

PROMPT_TOKENS = 20_000
"""The maximum of all rules of one prompt: clients cut tool answers longer than about 25,000 tokens."""


class ContextService:
    """Gives a model what a message needs. One per process.

    Args:
        intents: Decides which rules a message needs.
        tools: Finds tools.
        sources: Further sources of a context, in the order in which a model reads them.

    Attributes:
        variables: Fill `{{NAME}}` in rules; packs and later kinds register theirs here.
        readiness: Decides which packs are of use now.
    """

    def __init__(self, intents: IntentService, tools: ToolService, sources: Sequence[PieceSource] = ()) -> None:
        self.variables = Variables()
        self.readiness = Readiness()
        self._intents = intents
        self._rulebooks = Rulebooks(self.variables)
        self._tools = tools
        self._offers = ToolOffers(tools)
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
        started = time.perf_counter()
        with traced() as trace:
            await self._tools.ready(caller)
            with self._offers.prefetching(caller, request) as prefetched:
                decision, packs, missing = await self._decide(caller, request)
                routed = time.perf_counter()
                answer = Prompt(request.message, decision, notes=(*_notes(decision), *missing), trace_id=trace)
                if packs:
                    answer = await self._enriched(caller, request, packs, answer, prefetched)
            ended = time.perf_counter()
            answer = replace(answer, timings=_timings(decision, started, routed, ended))
            answer = replace(answer, text=prompt_text(answer))
            given = [rule.intent for rule in answer.rules] if delivers else []
            self._note(caller, "process_prompt", given, answer.timings)
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
        others = found.tools if isinstance(found, Needs) else ()
        return replace(needs, tools=tuple(dict.fromkeys((*needs.tools, *others))), notes=tuple(notes))

    async def _matched(
        self, caller: Caller, request: EnrichmentRequest, known: Collection[str], prefetched: Prefetch | None
    ) -> Needs:
        """The packs that a message needs, with their rules and tools."""
        started = time.perf_counter()
        decision, packs, _ = await self._decide(caller, request)
        routed = time.perf_counter()
        if not packs:
            return Needs()
        unknown = [pack for pack in packs if pack.name not in known]
        book, offers = await asyncio.gather(
            self._rulebooks.of(caller, unknown, request.files, most=PROMPT_TOKENS),
            self._offers.of_packs(caller, request, packs, prefetched),
        )
        given = [*(rule.intent for rule in book.rules), *(pack.name for pack in packs if pack.name in known)]
        self._note(caller, "needs", given, _timings(decision, started, routed, time.perf_counter()))
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
        cursor = checked_cursor(cursor)
        started = time.perf_counter()
        with traced() as trace, shared_reads():
            await self._tools.ready(caller)
            # While the encoder works on the message, what the searches share is read.
            ahead = asyncio.gather(*(source.prepare(caller) for source in self._sources), return_exceptions=True)
            decision, packs, missing = await self._decide(caller, request)
            await ahead
            if _is_chat(request):
                decision = _without(decision, [one.intent for one in decision.matched if one.why not in _APPLIED])
                packs = tuple(pack for pack in packs if pack.name in _rule_scores(decision))
            routed = time.perf_counter()
            if pack_of(cursor):
                found, cursor = await self._in_full(caller, request, cursor), ""
            else:
                query = _query(caller, request, decision, packs)
                found = await self._gathered(query)
            timings = _timings(decision, started, routed, time.perf_counter())
            notes = [*_notes(decision), *missing, *(note for part in found for note in part.notes)]
            pack = self._composed(request, decision, found, notes, timings, cursor, budget, trace)
            given = [piece.name for piece in pack.pieces if piece.kind == RULES] if delivers else []
            self._note(caller, "get_context", given, timings)
        return pack

    async def evidence(self, caller: Caller, message: str) -> tuple[Mapping[str, Sequence[Evidence]], dict[str, float]]:
        """Return what each kind's search says of a message, and the scores of the rules it gets: to fit the heads."""
        request = context_request(message)
        decision, packs, _ = await self._decide(caller, request)
        found = await self._gathered(_query(caller, request, decision, packs))
        evidence = {source.kind: part.evidence for source, part in zip(self._sources, found, strict=True)}
        return {kind: one for kind, one in evidence.items() if one}, _rule_scores(decision)

    async def _gathered(self, query: SourceQuery) -> list[SourcePieces]:
        """What each source has for a message. Small talk gets the rules that always apply, and is not searched for."""
        sources = self._sources[:1] if _is_chat(query.request) else self._sources
        found = await asyncio.gather(*(source.gather(query) for source in sources))
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

    def _composed(
        self,
        request: EnrichmentRequest,
        decision: Decision,
        found: Sequence[SourcePieces],
        notes: Sequence[Note],
        timings: Mapping[str, float],
        cursor: str,
        budget: int,
        trace: str,
    ) -> ContextPack:
        offered = [(source.kind, part) for source, part in zip(self._sources, found, strict=True)]
        evidence = {kind: part.evidence for kind, part in offered if part.evidence}
        chances = probabilities(evidence, _rule_scores(decision), log_odds(request.message))
        worth = allocate(offered, chances)
        cursors = Cursors.of(request.words, worth.pieces)
        about = _about(decision, notes, timings, trace)
        kinds = list(dict.fromkeys((RULES, TOOLS, *(piece.kind for piece in worth.pieces))))
        answer: ComposedContext = compose(cursors, cursor, budget, notes=notes, about=about, kinds=kinds)
        return ContextPack(
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

    async def within_reach(self, caller: Caller, packs: Sequence[Pack]) -> tuple[Pack, ...]:
        """Return those packs that need no server, or have one that is connected."""
        return (await self._offers.within_reach(caller, packs))[0]

    async def _decide(
        self, caller: Caller, request: EnrichmentRequest
    ) -> tuple[Decision, tuple[Pack, ...], tuple[Note, ...]]:
        """The rules that the message needs, of those that are of use now, and a note on each that is not given.

        Not even the names of packs that are of no use now are given. The packs come best first; one that was just
        removed is skipped.
        """
        routed = await self._intents.route(
            caller, request.message, history=request.history, queries=request.queries, files=request.files
        )
        active = (await self._intents.packs(caller)).active
        decision = _without(routed, await self.readiness.unready(caller, active))
        by_name = {pack.name: pack for pack in active}
        packs: list[Pack] = []
        for score in decision.matched:
            if score.intent in by_name:
                packs.append(by_name[score.intent])
            else:
                event(logger, "pack gone", level=logging.WARNING, pack=score.intent)
        reached, missing = await self._offers.within_reach(caller, packs)
        return _without(decision, {pack.name for pack in packs if pack not in reached}), reached, missing

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

    def _note(self, caller: Caller, verb: str, given: Sequence[str], timings: Mapping[str, float]) -> None:
        self._intents.mark_given(caller, given)
        event(logger, verb, tenant=caller.tenant.id, user=caller.user, given=given, ms=dict(timings))


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


def _without(decision: Decision, names: Collection[str]) -> Decision:
    """A decision without some intents."""
    if not names:
        return decision
    scores = tuple(score for score in decision.scores if score.intent not in names)
    request = any(score.intent in names and score.score >= score.threshold / 2 for score in decision.scores)
    return replace(decision, scores=scores, clarify="" if request else decision.clarify)


def _notes(decision: Decision) -> list[Note]:
    notes: list[Note] = []
    if decision.clarify:
        notes.append(Note("two packs are about as likely: ask the person first", decision.clarify))
    if decision.degraded:
        notes.append(Note("rules chosen with less than all means", decision.degraded))
    return notes


def _about(decision: Decision, notes: Sequence[Note], timings: Mapping[str, float], trace: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "intents": {one["name"]: one["score"] for one in intents_data(decision)},
        "confidence": round(decision.confidence, 3),
    }
    if notes:
        about["notes"] = [str(note) for note in notes]
    return {**about, "timings": dict(timings), "trace_id": trace}


def _timings(decision: Decision, started: float, routed: float, ended: float) -> dict[str, float]:
    """Milliseconds: in the encoder, for the choice of rules, for rules and tools themselves, and in total."""
    route, gather = (routed - started) * 1000, (ended - routed) * 1000
    parts = {"embedding": decision.embedding_ms, "route": route, "gather": gather, "total": route + gather}
    return {name: round(value, 1) for name, value in parts.items()}
