"""`/v1/prompts`: the agent's prompts, as shipped or in the tenant's own words."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query

from thresher.agent import Prompts
from thresher.api.asking import BEARER, PROBLEMS, Asking, problem
from thresher.api.prompt_models import (
    PromptDiffResponse,
    PromptRequest,
    PromptResponse,
    PromptsResponse,
    PromptVersionsResponse,
)

_CHANGED: Final[dict[int | str, dict[str, Any]]] = {409: problem("Another version is in force by now.")}
_Name = Annotated[str, Path(description="The prompt's name.")]
_Version = Annotated[int | None, Query(description="What is in force unless told; 0 is what is shipped.")]


def prompts_router(prompts: Prompts) -> APIRouter:
    """The routes of prompts.

    Args:
        prompts: Keeps them.
    """
    router = APIRouter(prefix="/v1/prompts", tags=["prompts"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_prompts(caller: Asking) -> PromptsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Every prompt as it is in force."""
        found = await prompts.list(caller)
        return PromptsResponse(prompts=[PromptResponse.model_validate(one) for one in found])

    @router.get("/{name}")
    async def show_prompt(name: _Name, caller: Asking, version: _Version = None) -> PromptResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One prompt, as it is in force or once was."""
        return PromptResponse.model_validate(await prompts.get(caller, name, version))

    @router.put("/{name}", responses=_CHANGED)
    async def set_prompt(name: _Name, body: PromptRequest, caller: Asking) -> PromptResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Say it in the tenant's own words, from the next message on."""
        return PromptResponse.model_validate(await prompts.put(caller, name, body.text, expected=body.expected))

    @router.delete("/{name}", responses=_CHANGED)
    async def reset_prompt(name: _Name, caller: Asking) -> PromptResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Have the shipped words again; the tenant's own stay as a version."""
        return PromptResponse.model_validate(await prompts.reset(caller, name))

    @router.get("/{name}/versions")
    async def list_prompt_versions(name: _Name, caller: Asking) -> PromptVersionsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What it once said, newest first."""
        found = await prompts.versions(caller, name)
        return PromptVersionsResponse(versions=[PromptResponse.model_validate(one) for one in found])

    @router.get("/{name}/diff")
    async def diff_prompt(name: _Name, caller: Asking, old: int = 0, new: _Version = None) -> PromptDiffResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What differs between two versions: what is shipped, and what is in force, unless told."""
        return PromptDiffResponse(diff=await prompts.diff(caller, name, old, new))

    return router
