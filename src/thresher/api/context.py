"""`/v1/process_prompt` and `/v1/context`: enrichment, for programs that talk to the model themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Depends

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.context_models import ContextRequest, ContextResponse, PromptRequest, PromptResponse
from thresher.context import ContextService, prompt_data


def context_router(context: ContextService) -> APIRouter:
    """The routes.

    Args:
        context: Answers them.
    """
    router = APIRouter(prefix="/v1", tags=["context"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/process_prompt", response_model_exclude_unset=True)
    async def process_prompt(body: PromptRequest, caller: Asking) -> PromptResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The rules that a prompt needs, with the tools of their packs; `PASS_THROUGH` where none fit."""
        prompt = await context.process_prompt(caller, **body.model_dump())
        data = {name: value for name, value in prompt_data(prompt).items() if name != "result"}
        return PromptResponse.model_validate({**data, "text": prompt.text})

    @router.post("/context", response_model_exclude_unset=True)
    async def get_context(body: ContextRequest, caller: Asking) -> ContextResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What a message needs of everything that is known, inside one token budget."""
        pack = await context.get_context(caller, **body.model_dump())
        told: Mapping[str, Any] = {**pack.data, "text": pack.text, "budget": pack.budget}
        return ContextResponse.model_validate(told)

    return router
