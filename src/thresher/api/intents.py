"""`/v1/intents`: what the router knows, what it makes of a message, and how well it did."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.intent_models import (
    DecisionResponse,
    ExplainRequest,
    Intent,
    IntentsResponse,
    StatisticsResponse,
)
from thresher.core import plain
from thresher.knowledge.intents import Decision, IntentService


def intents_router(intents: IntentService) -> APIRouter:
    """The routes.

    Args:
        intents: Answers them.
    """
    router = APIRouter(prefix="/v1/intents", tags=["intents"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_intents(caller: Asking) -> IntentsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The intents in use."""
        infos = await intents.intents(caller)
        return IntentsResponse(intents=[Intent.model_validate(info, from_attributes=True) for info in infos])

    @router.get("/stats")
    async def intent_stats(  # pyright: ignore[reportUnusedFunction] - a route
        caller: Asking, days: Annotated[float, Query(gt=0, description="Over how many days.")] = 30.0
    ) -> StatisticsResponse:
        """What people ask for, and where the router may be wrong."""
        return StatisticsResponse.model_validate(await intents.stats(caller, days), from_attributes=True)

    @router.post("/explain")
    async def explain(body: ExplainRequest, caller: Asking) -> DecisionResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What the router makes of a message, with the scores of every intent; nothing is recorded."""
        return _decision(await intents.explain(caller, **body.model_dump()))

    return router


def _decision(decision: Decision) -> DecisionResponse:
    data: dict[str, Any] = plain(decision)
    for row, score in zip(data["scores"], decision.scores, strict=True):
        row["margin"] = score.margin
    return DecisionResponse.model_validate({**data, "pass_through": decision.passes_through})
