"""Decides which rules a message needs, from the caller's view, the embedding and the router.

Invariant: every bound is checked before anything is embedded. Apart from the embedding a decision waits only, every two
seconds, for a look at what has changed, which runs beside it; it never waits for a fit. Only packs that the caller sees
are in a decision, whatever the router was fitted on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np
from cachetools import LRUCache

from thresher.core import Caller, EncoderError, InvalidInput, NotFound, did_you_mean, event, nearest, traced
from thresher.embedding import Encoder, Matrix, printable
from thresher.knowledge.intents.decision_log import DecisionLog
from thresher.knowledge.intents.globs import applies
from thresher.knowledge.intents.models import Decision, Pack
from thresher.knowledge.intents.router.decision import decide
from thresher.knowledge.intents.router.fitted import Fitted, score
from thresher.knowledge.intents.router.lexicon import score_words
from thresher.knowledge.intents.router.pieces import MAX_QUERIES, Pieces, pieces_of
from thresher.knowledge.intents.router.records import TextScores
from thresher.knowledge.intents.training import Fits, Trained, TrainingSet
from thresher.knowledge.intents.views import Key, View, Views

MAX_MESSAGE_CHARACTERS: Final = 200_000
MAX_QUERY_CHARACTERS: Final = 2_000
MAX_HISTORY_TURNS: Final = 20
MAX_FILES: Final = 1_000


@dataclass(frozen=True, slots=True)
class RoutingRequest:
    """What is to be routed; equal requests have equal decisions.

    Attributes:
        message: The person's words.
        history: The turns before, oldest first.
        queries: What the calling model wants to do, one task each.
        files: Paths that the message is about.
    """

    message: str
    history: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def routing_request(
    message: str, history: Sequence[str], queries: Sequence[str] | str, files: Sequence[str]
) -> RoutingRequest:
    """Build a request.

    Only the last turns of a long history are used. A message may be empty if there are queries. Lone surrogates, which
    no answer can hold, become question marks.

    Raises:
        InvalidInput: Neither message nor queries, or one over its bound.
    """
    given = map(printable, [queries] if isinstance(queries, str) else queries)
    texts = tuple(dict.fromkeys(text.strip() for text in given if text.strip()))
    if not message.strip() and not texts:
        raise InvalidInput("The message is empty.", hint="Give the user's words.")
    if len(message) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"The message has {len(message)} characters; the limit is {MAX_MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    if len(texts) > MAX_QUERIES:
        raise InvalidInput(f"{len(texts)} queries are more than {MAX_QUERIES}.", hint="Ask in several calls.")
    if (longest := max(map(len, texts), default=0)) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"A query has {longest} characters; the limit is {MAX_QUERY_CHARACTERS}.",
            hint="Queries are short action phrases; pass long text as the message.",
        )
    if len(files) > MAX_FILES:
        raise InvalidInput(f"{len(files)} files are more than {MAX_FILES}.", hint="Name the files that matter.")
    turns = tuple(map(printable, history[-MAX_HISTORY_TURNS:]))
    return RoutingRequest(printable(message), turns, texts, tuple(map(printable, files)))


def by_router(
    fitted: Fitted,
    training_set: TrainingSet,
    pieces: Pieces,
    vectors: Matrix,
    packs: Mapping[str, Pack],
    by_hand: Mapping[str, float],
    files: Sequence[str],
    degraded: str = "",
    *,
    thorough: bool = False,
    others: int | None = None,
) -> Decision:
    """Return the decision of the fitted router.

    Args:
        fitted: The router.
        training_set: What it was fitted on.
        pieces: The pieces of the message.
        vectors: float32 (texts, dimension), of the pieces' texts.
        packs: The packs that the caller sees, by name.
        by_hand: Thresholds that a person set.
        files: Paths that the message is about.
        degraded: Why the decision is weaker than it could be.
        thorough: Find the nearest line of every intent, also of unlikely ones.
        others: Number of intents listed besides those that matched or are refused; by default all.
    """
    found = score(fitted, vectors, pieces.texts, thorough=thorough)
    intents, scores = _seen(training_set.training.intents, found, packs)
    return decide(
        intents,
        fitted.thresholds,
        pieces,
        scores,
        lines=training_set.training.lines,
        by_hand=by_hand,
        applied=applied(packs, files),
        basis=fitted.basis,
        degraded=degraded,
        others=others,
    )


def by_words(
    training_set: TrainingSet,
    pieces: Pieces,
    packs: Mapping[str, Pack],
    by_hand: Mapping[str, float],
    files: Sequence[str],
    degraded: str,
) -> Decision:
    """Return a decision by keywords and the words of the training lines only; arguments as for `by_router`."""
    intents, scores = _seen(training_set.training.intents, score_words(training_set.lexicon, pieces.texts), packs)
    return decide(
        intents,
        training_set.lexicon.thresholds,
        pieces,
        scores,
        lines=training_set.training.lines,
        by_hand=by_hand,
        applied=applied(packs, files),
        basis="words",
        degraded=degraded,
    )


def applied(packs: Mapping[str, Pack], files: Sequence[str]) -> dict[str, str]:
    """Return the packs whose rules apply whatever the message says, and why."""
    return {
        name: "always" if pack.always else "file"
        for name, pack in packs.items()
        if (pack.always or pack.globs) and applies(pack, files)
    }


def _seen(intents: Sequence[str], scores: TextScores, packs: Mapping[str, Pack]) -> tuple[tuple[str, ...], TextScores]:
    """Return the scores of the intents that the caller sees: all of them, unless packs were removed since the fit."""
    kept = [index for index, name in enumerate(intents) if name in packs]
    if len(kept) == len(intents):
        return tuple(intents), scores
    place = {old: new for new, old in enumerate(kept)}
    columns = np.array(kept, np.intp)
    seen = replace(
        scores,
        probability=scores.probability[:, columns],
        score=scores.score[:, columns],
        similarity=scores.similarity[:, columns],
        nearest=scores.nearest[:, columns],
        keywords=tuple(
            {place[index]: words for index, words in text.items() if index in place} for text in scores.keywords
        ),
    )
    return tuple(intents[index] for index in kept), seen


logger = logging.getLogger("thresher.knowledge")

_READ: Final = 8_000
"""Characters of a message that are read: the encoder reads about 2,000 of each piece, and cutting costs time."""
_REMEMBERED_CHARACTERS: Final = 4_000
"""Longer requests are not remembered."""
_PATIENCE_SECONDS: Final = 20.0
"""How long an explanation waits for a fit in progress."""
_SERVING: Final = 64
"""Callers whose last fit is kept, for when their packs change."""
EVERY_INTENT: Final = "*"
"""Stands for all intents."""
_OTHERS: Final = 5
"""Intents in an answer besides those that matched."""


@dataclass(frozen=True, slots=True)
class _Embedded:
    """The vectors of a message's pieces; None, and the reason, if the encoder did not answer."""

    vectors: Matrix | None
    problem: str
    ms: float


class Decider:
    """The decider of one process."""

    def __init__(self, encoder: Encoder, views: Views, fits: Fits, log: DecisionLog) -> None:
        self._encoder = encoder
        self._views = views
        self._fits = fits
        self._log = log
        self._serving: LRUCache[Key, Trained] = LRUCache(_SERVING)

    async def decide(
        self,
        caller: Caller,
        request: RoutingRequest,
        *,
        explain: bool = False,
        thresholds: Mapping[str, float] = MappingProxyType({}),
    ) -> Decision:
        """Route one message.

        Args:
            caller: The tenant and user whose packs are considered.
            request: What is to be routed.
            explain: Return the scores of all intents, wait for a fit in progress, and record nothing.
            thresholds: For an explanation: in place of those in force, by intent; `*` for all others.

        Raises:
            NotFound: There is no such intent.
            StoreUnavailable: The database does not answer, and the caller's packs are not known yet.
        """
        started = time.perf_counter()
        with traced() as trace:
            view = self._views.fresh(caller)
            known = None if view is None or explain else view.decisions.get(request)
            if view is not None and known is not None:
                decision = replace(known, cached=True, embedding_ms=0.0)
            else:
                decision, view = await self._decided(caller, request, view, thresholds if explain else None)
            decision = replace(decision, trace_id=trace, duration_ms=_since(started))
            if not explain:
                self._note(caller, request, view, decision)
            return decision

    async def _decided(
        self, caller: Caller, request: RoutingRequest, view: View | None, tried: Mapping[str, float] | None
    ) -> tuple[Decision, View]:
        """Decide; `tried` are the thresholds of an explanation."""
        message, left_out = _readable(request.message)
        turns = [_readable(turn)[0] for turn in request.history]
        pieces = pieces_of(message, queries=request.queries, history=turns)
        if view is not None:
            embedded = await self._embed(pieces)
        else:
            embedded, view = await asyncio.gather(self._embed(pieces), self._views.current(caller))
        if tried is not None:
            await self._fits.wait(caller.tenant, view.training_set, _PATIENCE_SECONDS)
        trained, degraded = self._trained(caller, view)
        degraded = degraded or left_out
        by_hand = {**view.standing.thresholds, **_tried(view, tried or {})}
        thorough = tried is not None
        decision = _judged(view, trained, pieces, embedded, request, by_hand, degraded, thorough=thorough)
        if thorough:
            return decision, view
        decision = replace(decision, scores=decision.scores[: len(decision.matched) + _OTHERS])
        if not decision.degraded:
            _remember(view, request, decision)
        return decision, view

    async def _embed(self, pieces: Pieces) -> _Embedded:
        started = time.perf_counter()
        try:
            vectors = await self._encoder.embed_queries(pieces.texts, prefixed=True)
        except EncoderError as error:
            return _Embedded(None, error.message, _since(started))
        return _Embedded(vectors, "", _since(started))

    def _trained(self, caller: Caller, view: View) -> tuple[Trained | None, str]:
        """Return the fit to decide with, and what it lacks: the right one, else the last one of these callers."""
        key = self._views.key(caller)
        if (trained := self._fits.get(caller.tenant, view.training_set)) is not None:
            self._serving[key] = trained
            return trained, ""
        problem = self._fits.problem(view.training_set)
        last = self._serving.get(key)
        if last is not None:
            return last, problem or "the packs have changed, and the router is being fitted to them"
        return None, problem or "the router is being fitted"

    def _note(self, caller: Caller, request: RoutingRequest, view: View, decision: Decision) -> None:
        self._log.decided(caller, request.message, decision, partial(self._views.confirm, caller, view))
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
    request: RoutingRequest,
    by_hand: Mapping[str, float],
    degraded: str,
    *,
    thorough: bool,
) -> Decision:
    files = request.files
    if trained is None or embedded.vectors is None:
        reason = embedded.problem or degraded
        decision = by_words(view.training_set, pieces, view.by_name, by_hand, files, reason)
    else:
        given = trained.fitted, trained.training_set, pieces, embedded.vectors
        others = None if thorough else _OTHERS
        decision = by_router(*given, view.by_name, by_hand, files, degraded, thorough=thorough, others=others)
    return replace(decision, embedding_ms=embedded.ms)


def _tried(view: View, thresholds: Mapping[str, float]) -> dict[str, float]:
    """The thresholds that are tried, one for each intent that they are meant for."""
    for name in thresholds:
        if name != EVERY_INTENT and name not in view.by_name:
            near = did_you_mean(nearest(name, view.by_name))
            raise NotFound(f"There is no intent '{name}'.", hint=near or "`thresher intents list` shows them all.")
    every = thresholds.get(EVERY_INTENT)
    named = {name: value for name, value in thresholds.items() if name != EVERY_INTENT}
    return named if every is None else dict.fromkeys(view.by_name, every) | named


def _readable(text: str) -> tuple[str, str]:
    """Return the beginning and the end of a long text, where people say what they want, and what is left out."""
    if len(text) <= _READ:
        return text, ""
    half = _READ // 2
    left_out = f"of a message of {len(text):,} characters only the first and last {half:,} were read"
    return f"{text[:half]}\n{text[-half:]}", left_out


def _remember(view: View, request: RoutingRequest, decision: Decision) -> None:
    texts = (request.message, *request.history, *request.queries, *request.files)
    if sum(map(len, texts)) > _REMEMBERED_CHARACTERS:
        return
    view.decisions[request] = decision


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
