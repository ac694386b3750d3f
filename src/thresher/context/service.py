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
from thresher.context.cursors import Cursors
from thresher.context.offers import ToolOffers
from thresher.context.questions import DEFAULT_BUDGET, ask, checked_budget, checked_cursor
from thresher.context.readiness import Readiness
from thresher.context.records import Asked, Facts, Note, Prompt, Rulebook
from thresher.context.rendering import intents_data, prompt_text
from thresher.context.rulebooks import Rulebooks
from thresher.context.sources import RULES, Gathered, Inquiry, RuleSource, Source, ToolSource
from thresher.context.variables import Situation, Variables
from thresher.core import Caller, ContextPack, NotFound, event, traced
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

        Rules are given each time, in full: clients shorten what was said before, and nobody tells us when.

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
                decision = await self._route(caller, asked)
                routed = time.perf_counter()
                answer = Prompt(asked.message, decision, notes=tuple(_notes(decision)), trace_id=trace)
                packs, notes = await self._packs(caller, decision)
                answer = replace(answer, notes=(*answer.notes, *notes))
                if packs:
                    answer = await self._enriched(caller, asked, packs, answer, ahead)
            ended = time.perf_counter()
            answer = replace(answer, timings=_timings(decision, started, routed, ended))
            answer = replace(answer, text=prompt_text(answer))
            given = [rule.intent for rule in answer.rules] if delivers else []
            self._note(caller, "process_prompt", given, answer.timings)
        return answer

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
            cursor: Of a former answer to the same question: fetches what that left out.
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
            decision = await self._route(caller, asked)
            routed = time.perf_counter()
            packs, missing = await self._packs(caller, decision)
            inquiry = Inquiry(caller, asked, decision, packs)
            gathered = await asyncio.gather(*(source.gather(inquiry) for source in self._sources))
            timings = _timings(decision, started, routed, time.perf_counter())
            notes = [*_notes(decision), *missing, *(note for part in gathered for note in part.notes)]
            pack = self._composed(asked, decision, gathered, notes, timings, cursor, budget, trace)
            given = [piece.name for piece in pack.pieces if piece.kind == RULES] if delivers else []
            self._note(caller, "get_context", given, timings)
        return pack

    async def rules_of(self, caller: Caller, packs: Sequence[Pack]) -> Rulebook:
        """The rules of some packs, variables filled; `rulebook_text` writes them. Whoever gives them notes it."""
        return await self._rulebooks.of(caller, packs, (), most=PROMPT_TOKENS)

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

    async def _route(self, caller: Caller, asked: Asked) -> Decision:
        """Which rules the message needs, of those that are of use now: of others not even a name is given."""
        decision = await self._intents.route(
            caller, asked.message, history=asked.history, queries=asked.queries, files=asked.files
        )
        packs = await self._intents.packs(caller)
        unready = await self.readiness.unready(caller, packs.active)
        return _without(decision, unready) if unready else decision

    async def _packs(self, caller: Caller, decision: Decision) -> tuple[tuple[Pack, ...], tuple[Note, ...]]:
        """The packs of a decision whose rules are of use, best first, and what is said of the others.

        One that was taken away just now is passed over.
        """
        packs: list[Pack] = []
        for score in decision.matched:
            try:
                packs.append(await self._intents.pack(caller, score.intent))
            except NotFound:
                event(logger, "pack gone", level=logging.WARNING, pack=score.intent)
        return await self._offers.within_reach(caller, packs)

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


def _without(decision: Decision, names: Collection[str]) -> Decision:
    """A decision in which some intents have no part."""
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
