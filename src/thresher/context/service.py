"""The verbs of enrichment; every face calls these, with the same names and arguments.

Invariant: the message is embedded once; what was given is noted, so that the guard of tools knows; whatever is missing,
cut or weaker than it could be is said in the answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from thresher.context.composing import Answer, compose
from thresher.context.cursors import Cursors, pack_of, rules_cursor, stale
from thresher.context.offers import ToolOffers
from thresher.context.questions import DEFAULT_BUDGET, ask, checked_budget, checked_cursor
from thresher.context.readiness import Readiness
from thresher.context.records import Asked, Facts, Needs, Note, Prompt, Rulebook
from thresher.context.rendering import intents_data, prompt_text
from thresher.context.rulebooks import Rulebooks
from thresher.context.sources import RULES, TOOLS, Gathered, Inquiry, RuleSource, Source, ToolSource, rule_piece
from thresher.context.variables import Situation, Variables
from thresher.core import Caller, ContextPack, NotFound, ThresherError, event, traced
from thresher.knowledge.intents import Decision, IntentService, Pack
from thresher.knowledge.tools import ToolService
from thresher.search import Ahead

logger = logging.getLogger("thresher.context")

PROMPT_TOKENS = 20_000
"""Tokens of all rules of one prompt: clients cut answers of tools that are longer than about 25,000."""


class ContextService:
    """Puts what a message needs in front of a model. One per process.

    Args:
        intents: Says which rules a message needs.
        tools: Finds tools.
        sources: What a context is filled from besides, in the order in which a model reads it.

    Attributes:
        variables: Fill `{{NAME}}` in rules; packs and later kinds register theirs here.
        readiness: Says which packs are of use now.
    """

    def __init__(self, intents: IntentService, tools: ToolService, sources: Sequence[Source] = ()) -> None:
        self.variables = Variables()
        self.readiness = Readiness()
        self._intents = intents
        self._rulebooks = Rulebooks(self.variables)
        self._offers = ToolOffers(tools)
        self._sources: tuple[Source, ...] = (RuleSource(self._rulebooks), ToolSource(self._offers), *sources)

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
        """The rules that a prompt needs, with the tools of their packs; or nothing, where no rules fit.

        Rules are given each time, since clients shorten what was said before, and nobody tells us when: in the pack's
        short form where it has one, with the cursor by which `get_context` gives the whole.

        Args:
            caller: Who asks.
            prompt: The person's words.
            history: The last turns, oldest first.
            queries: Short action phrases that the calling model wrote for it, one a task.
            files: Files that matter, as the client names them.
            delivers: Whether the answer reaches the model as it is. Else nothing counts as given: a person reads it, or
                whoever cuts it notes what is left.

        Raises:
            InvalidInput: An argument is out of bounds.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        asked = ask(prompt, history, queries, files, named="prompt")
        started = time.perf_counter()
        with traced() as trace:
            await self._offers.ready(caller)
            with self._reading_ahead(caller, asked) as ahead:
                decision, packs, missing = await self._decide(caller, asked)
                routed = time.perf_counter()
                answer = Prompt(asked.message, decision, notes=(*_notes(decision), *missing), trace_id=trace)
                if packs:
                    answer = await self._enriched(caller, asked, packs, answer, ahead)
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
        asked = ask(message, history)
        with traced():
            await self._offers.ready(caller)
            with self._reading_ahead(caller, asked) as ahead:
                matched, found = await asyncio.gather(
                    self._matched(caller, asked, known, ahead) if packs else _nothing(),
                    self._offers.of_anything(caller, asked, tools, ahead) if tools else _nothing(),
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

    async def _matched(self, caller: Caller, asked: Asked, known: Collection[str], ahead: Ahead | None) -> Needs:
        """The packs that a message needs, with their rules and tools."""
        started = time.perf_counter()
        decision, packs, _ = await self._decide(caller, asked)
        routed = time.perf_counter()
        if not packs:
            return Needs()
        unknown = [pack for pack in packs if pack.name not in known]
        book, offers = await asyncio.gather(
            self._rulebooks.of(caller, unknown, asked.files, most=PROMPT_TOKENS),
            self._offers.of_packs(caller, asked, packs, ahead),
        )
        given = [*(rule.intent for rule in book.rules), *(pack.name for pack in packs if pack.name in known)]
        self._note(caller, "needs", given, _timings(decision, started, routed, time.perf_counter()))
        names = tuple(offer.tool.name for offer in offers.tools)
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
        """What a message needs of everything that is known, inside one token budget.

        Args:
            caller: Who asks.
            message: The person's words.
            budget: Tokens (o200k) that neither the text nor the data as JSON exceed.
            history: The last turns, oldest first.
            queries: Short action phrases that the calling model wrote for it, one a task.
            files: Files that matter, as the client names them.
            cursor: Of a former answer to the same question: fetches what that left out; or of a short form: fetches the
                rules in full.
            delivers: Whether the answer reaches the model; else its rules do not count as given.

        Raises:
            InvalidInput: An argument is out of bounds, the cursor is stale, or the budget too small for anything.
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        asked, budget = ask(message, history, queries, files), checked_budget(budget)
        cursor = checked_cursor(cursor)
        started = time.perf_counter()
        with traced() as trace:
            await self._offers.ready(caller)
            decision, packs, missing = await self._decide(caller, asked)
            routed = time.perf_counter()
            if pack_of(cursor):
                gathered, cursor = await self._in_full(caller, asked, cursor), ""
            else:
                inquiry = Inquiry(caller, asked, decision, packs)
                gathered = await asyncio.gather(*(source.gather(inquiry) for source in self._sources))
            timings = _timings(decision, started, routed, time.perf_counter())
            notes = [*_notes(decision), *missing, *(note for part in gathered for note in part.notes)]
            pack = self._composed(asked, decision, gathered, notes, timings, cursor, budget, trace)
            given = [piece.name for piece in pack.pieces if piece.kind == RULES] if delivers else []
            self._note(caller, "get_context", given, timings)
        return pack

    async def _in_full(self, caller: Caller, asked: Asked, cursor: str) -> list[Gathered]:
        """The rules of the pack that a cursor names, whole, and nothing of any other kind."""
        try:
            pack = await self._intents.pack(caller, pack_of(cursor))
        except NotFound:
            raise stale() from None
        if cursor != rules_cursor(pack.name, pack.digest) or await self.readiness.unready(caller, [pack]):
            raise stale()
        book = await self._rulebooks.of(caller, [pack], asked.files, in_full=True)
        pieces = tuple(rule_piece(rule, 1.0, "cursor") for rule in book.rules)
        others = (Gathered((), present=source.kind == TOOLS) for source in self._sources[1:])
        return [Gathered(pieces, book.notes), *others]

    async def rules_of(self, caller: Caller, packs: Sequence[Pack], *, in_full: bool = False) -> Rulebook:
        """The rules of some packs, variables filled; `rulebook_text` writes them.

        The caller notes that they were given.
        """
        return await self._rulebooks.of(caller, packs, (), most=PROMPT_TOKENS, in_full=in_full)

    def _composed(
        self,
        asked: Asked,
        decision: Decision,
        gathered: Sequence[Gathered],
        notes: Sequence[Note],
        timings: Mapping[str, float],
        cursor: str,
        budget: int,
        trace: str,
    ) -> ContextPack:
        cursors = Cursors.of(asked.words, [piece for part in gathered for piece in part.pieces])
        about = _about(decision, notes, timings, trace)
        kinds = [source.kind for source, part in zip(self._sources, gathered, strict=True) if part.present]
        answer: Answer = compose(cursors, cursor, budget, notes=notes, about=about, kinds=kinds)
        return ContextPack(
            message=asked.message,
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
        )

    async def within_reach(self, caller: Caller, packs: Sequence[Pack]) -> tuple[Pack, ...]:
        """Those of the packs that need no server, or have one that is connected."""
        return (await self._offers.within_reach(caller, packs))[0]

    async def _decide(self, caller: Caller, asked: Asked) -> tuple[Decision, tuple[Pack, ...], tuple[Note, ...]]:
        """Which rules the message needs, of those that are of use now, and a note on each that fits and is not.

        The packs come best first; one that was taken away just now is passed over.
        """
        decision = await self._route(caller, asked)
        packs: list[Pack] = []
        for score in decision.matched:
            try:
                packs.append(await self._intents.pack(caller, score.intent))
            except NotFound:
                event(logger, "pack gone", level=logging.WARNING, pack=score.intent)
        reached, missing = await self._offers.within_reach(caller, packs)
        return _without(decision, {pack.name for pack in packs if pack not in reached}), reached, missing

    async def _route(self, caller: Caller, asked: Asked) -> Decision:
        """What the router says, without the packs that are of no use now: not even their names are given."""
        decision = await self._intents.route(
            caller, asked.message, history=asked.history, queries=asked.queries, files=asked.files
        )
        packs = await self._intents.packs(caller)
        unready = await self.readiness.unready(caller, packs.active)
        return _without(decision, unready)

    @contextmanager
    def _reading_ahead(self, caller: Caller, asked: Asked) -> Generator[Ahead | None]:
        """What the search for tools needs is read while the encoder works, before the packs are known."""
        ahead = self._offers.read_ahead(caller, asked)
        try:
            yield ahead
        finally:
            if ahead is not None:
                ahead.close()

    async def _enriched(
        self, caller: Caller, asked: Asked, packs: Sequence[Pack], answer: Prompt, ahead: Ahead | None
    ) -> Prompt:
        book, offers, values = await asyncio.gather(
            self._rulebooks.of(caller, packs, asked.files, most=PROMPT_TOKENS),
            self._offers.of_packs(caller, asked, packs, ahead),
            self.variables.values(Situation(caller, asked.files), ("PROJECT_NAME", "ACTIVE_SOLUTION")),
        )
        facts = Facts(values["PROJECT_NAME"] or "", values["ACTIVE_SOLUTION"] or "", offers.servers)
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


async def _nothing() -> Needs:
    return Needs()


def _without(decision: Decision, names: Collection[str]) -> Decision:
    """A decision in which some intents have no part."""
    if not names:
        return decision
    scores = tuple(score for score in decision.scores if score.intent not in names)
    asked = any(score.intent in names and score.score >= score.threshold / 2 for score in decision.scores)
    return replace(decision, scores=scores, clarify="" if asked else decision.clarify)


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
    """Milliseconds: in the encoder, for the choice of rules, for rules and tools themselves, and all of it."""
    route, gather = (routed - started) * 1000, (ended - routed) * 1000
    parts = {"embedding": decision.embedding_ms, "route": route, "gather": gather, "total": route + gather}
    return {name: round(value, 1) for name, value in parts.items()}
