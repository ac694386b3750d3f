"""Which rules a message gets: what the router says, less what is of no use to the caller now.

Invariant: not even the names of packs that are of no use now are given to a model; an explanation names them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from thresher.context.offers import ToolOffers
from thresher.context.readiness import Readiness
from thresher.context.records import EnrichmentRequest, Note
from thresher.context.rendering import intents_data
from thresher.core import Caller, event
from thresher.knowledge.intents import Decision, IntentService, Pack

logger = logging.getLogger("thresher.context")

_UNREADY: Final = "of no use now, by the pack's own condition"
_UNREACHED: Final = "none of its servers is connected"
SMALL_TALK: Final = "the message is small talk, which gets only rules that always apply"


class Routed(NamedTuple):
    """The rules for a message.

    Attributes:
        decision: The router's, without what is withheld.
        packs: Of the intents that matched, best first; one that was just removed is skipped.
        missing: A note on each that fits and cannot be used.
        withheld: Intents that matched and are not given, with the reasons.
    """

    decision: Decision
    packs: tuple[Pack, ...]
    missing: tuple[Note, ...]
    withheld: Mapping[str, str]


class Routing:
    """Chooses rules.

    Args:
        intents: Decides which rules a message needs.
        readiness: Decides which packs are of use now.
        offers: Knows which packs have tools.
    """

    def __init__(self, intents: IntentService, readiness: Readiness, offers: ToolOffers) -> None:
        self._intents = intents
        self._readiness = readiness
        self._offers = offers

    async def decide(self, caller: Caller, request: EnrichmentRequest) -> Routed:
        """Return the rules that a message needs, of those that are of use now.

        Raises:
            StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
        """
        found = await self._route(caller, request)
        active = (await self._intents.packs(caller)).active
        unready = await self._readiness.unready(caller, active)
        decision = without(found, unready)
        by_name = {pack.name: pack for pack in active}
        packs: list[Pack] = []
        for score in decision.matched:
            if score.intent in by_name:
                packs.append(by_name[score.intent])
            else:
                event(logger, "pack gone", level=logging.WARNING, pack=score.intent)
        reached, missing = await self._offers.within_reach(caller, packs)
        unreached = {pack.name: _UNREACHED for pack in packs if pack not in reached}
        withheld = {score.intent: _UNREADY for score in found.matched if score.intent in unready} | unreached
        return Routed(without(decision, unreached), reached, missing, withheld)

    async def _route(self, caller: Caller, request: EnrichmentRequest) -> Decision:
        """The router's decision; for a trial with all scores, and without a trace in the log of decisions."""
        message, history, queries, files = request.message, request.history, request.queries, request.files
        if request.trial is None:
            return await self._intents.route(caller, message, history=history, queries=queries, files=files)
        thresholds = request.trial.thresholds
        return await self._intents.explain(
            caller, message, history=history, queries=queries, files=files, thresholds=thresholds
        )


def without(decision: Decision, names: Collection[str]) -> Decision:
    """Return a decision without some intents."""
    if not names:
        return decision
    scores = tuple(score for score in decision.scores if score.intent not in names)
    request = any(score.intent in names and score.score >= score.threshold / 2 for score in decision.scores)
    return replace(decision, scores=scores, clarify="" if request else decision.clarify)


def notes_of(decision: Decision) -> list[Note]:
    """What a reader should know of the choice of rules."""
    notes: list[Note] = []
    if decision.clarify:
        notes.append(Note("two packs are about as likely: ask the person first", decision.clarify))
    if decision.degraded:
        notes.append(Note("rules chosen with less than all means", decision.degraded))
    return notes


def about_decision(
    decision: Decision, notes: Sequence[Note], timings: Mapping[str, float], trace: str
) -> dict[str, Any]:
    """What programs read of an answer besides its pieces."""
    about: dict[str, Any] = {
        "intents": {one["name"]: one["score"] for one in intents_data(decision)},
        "confidence": round(decision.confidence, 3),
    }
    if notes:
        about["notes"] = [str(note) for note in notes]
    return {**about, "timings": dict(timings), "trace_id": trace}
