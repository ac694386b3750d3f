"""Decides which rules a message needs: the view, the embedding and the router brought together.

Invariant: besides the embedding a decision waits for nothing but, every two seconds, a look at what has changed, which
runs beside it; it never waits for a fit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from thresher.core import Caller, EncoderError, event, traced
from thresher.embedding import Encoder, Matrix
from thresher.knowledge.intents.fitting_store import Fits, Trained
from thresher.knowledge.intents.journal import DecisionLog
from thresher.knowledge.intents.judging import by_router, by_words
from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.question import Question
from thresher.knowledge.intents.router.pieces import Pieces, pieces_of
from thresher.knowledge.intents.views import Key, View, Views

logger = logging.getLogger("thresher.knowledge")

_READ: Final = 8_000
"""Characters of a message that are read: the encoder reads some 2,000 of each piece, and cutting costs time."""
_DECISIONS: Final = 500
"""Decisions remembered for each view."""
_REMEMBERED_CHARACTERS: Final = 4_000
"""Longer questions are not remembered."""
_PATIENCE_SECONDS: Final = 20.0
"""How long an explanation waits for a fit that is being made."""
_SERVING: Final = 64
"""Callers whose last fit is kept at hand, for when their packs change."""
_OTHERS: Final = 5
"""Intents in an answer beside those that matched."""


@dataclass(frozen=True, slots=True)
class _Embedded:
    """The vectors of a message's pieces; None, and why, where the encoder did not answer."""

    vectors: Matrix | None
    problem: str
    ms: float


class Decider:
    """Decides for one process."""

    def __init__(self, encoder: Encoder, views: Views, fits: Fits, log: DecisionLog) -> None:
        self._encoder = encoder
        self._views = views
        self._fits = fits
        self._log = log
        self._serving: OrderedDict[Key, Trained] = OrderedDict()

    async def decide(self, caller: Caller, question: Question, *, explain: bool = False) -> Decision:
        """Route one message.

        Args:
            caller: Who asks.
            question: What is asked.
            explain: Give the scores of all intents, wait for a fit that is being made, and record nothing.

        Raises:
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        started = time.perf_counter()
        with traced() as trace:
            view = self._views.fresh(caller)
            known = None if view is None or explain else view.decisions.get(question)
            if view is not None and known is not None:
                view.decisions.move_to_end(question)
                decision = replace(known, cached=True, embedding_ms=0.0)
            else:
                decision, view = await self._decided(caller, question, view, explain=explain)
            decision = replace(decision, trace_id=trace, duration_ms=_since(started))
            if not explain:
                self._note(caller, question, view, decision)
            return decision

    async def _decided(
        self, caller: Caller, question: Question, view: View | None, *, explain: bool
    ) -> tuple[Decision, View]:
        message, left_out = _readable(question.message)
        turns = [_readable(turn)[0] for turn in question.history]
        pieces = pieces_of(message, queries=question.queries, history=turns)
        if view is not None:
            embedded = await self._embed(pieces)
        else:
            embedded, view = await asyncio.gather(self._embed(pieces), self._views.current(caller))
        if explain:
            await self._fits.wait(caller.tenant, view.lesson, _PATIENCE_SECONDS)
        trained, degraded = self._trained(caller, view)
        degraded = degraded or left_out
        decision = _judged(view, trained, pieces, embedded, question, degraded, thorough=explain)
        if explain:
            return decision, view
        decision = replace(decision, scores=decision.scores[: len(decision.matched) + _OTHERS])
        if not decision.degraded:
            _remember(view, question, decision)
        return decision, view

    async def _embed(self, pieces: Pieces) -> _Embedded:
        started = time.perf_counter()
        try:
            vectors = await self._encoder.embed_queries(pieces.texts, prefixed=True)
        except EncoderError as error:
            return _Embedded(None, error.message, _since(started))
        return _Embedded(vectors, "", _since(started))

    def _trained(self, caller: Caller, view: View) -> tuple[Trained | None, str]:
        """The fit to decide with, and what it lacks: the right one, else the last one of these callers."""
        key = self._views.key(caller)
        if (trained := self._fits.get(caller.tenant, view.lesson)) is not None:
            self._serving[key] = trained
            self._serving.move_to_end(key)
            while len(self._serving) > _SERVING:
                self._serving.popitem(last=False)
            return trained, ""
        problem = self._fits.problem(view.lesson)
        last = self._serving.get(key)
        if last is not None:
            return last, problem or "the packs have changed, and the router is being fitted to them"
        return None, problem or "the router is being fitted"

    def _note(self, caller: Caller, question: Question, view: View, decision: Decision) -> None:
        def confirm(version: int) -> None:
            self._views.confirm(caller, view, version)

        self._log.decided(caller, question.message, decision, confirm)
        event(
            logger,
            "intents decided",
            tenant=caller.tenant.id,
            user=caller.user,
            intents=[score.intent for score in decision.matched],
            scores=[round(score.score, 3) for score in decision.matched],
            confidence=round(decision.confidence, 3),
            basis=decision.basis,
            degraded=decision.degraded,
            cached=decision.cached,
            ms=round(decision.duration_ms, 2),
            embedding_ms=round(decision.embedding_ms, 2),
        )


def _judged(
    view: View,
    trained: Trained | None,
    pieces: Pieces,
    embedded: _Embedded,
    question: Question,
    degraded: str,
    *,
    thorough: bool,
) -> Decision:
    by_hand, files = view.standing.thresholds, question.files
    if trained is None or embedded.vectors is None:
        reason = embedded.problem or degraded
        decision = by_words(view.lesson, pieces, view.by_name, by_hand, files, reason)
    else:
        given = trained.fitted, trained.lesson, pieces, embedded.vectors
        others = None if thorough else _OTHERS
        decision = by_router(*given, view.by_name, by_hand, files, degraded, thorough=thorough, others=others)
    return replace(decision, embedding_ms=embedded.ms)


def _readable(text: str) -> tuple[str, str]:
    """Of a long text its beginning and its end, where people say what they want, and what that leaves out."""
    if len(text) <= _READ:
        return text, ""
    half = _READ // 2
    left_out = f"of a message of {len(text):,} characters only the first and last {half:,} were read"
    return f"{text[:half]}\n{text[-half:]}", left_out


def _remember(view: View, question: Question, decision: Decision) -> None:
    texts = (question.message, *question.history, *question.queries, *question.files)
    if sum(map(len, texts)) > _REMEMBERED_CHARACTERS:
        return
    view.decisions[question] = decision
    while len(view.decisions) > _DECISIONS:
        view.decisions.popitem(last=False)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
