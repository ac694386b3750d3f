"""`/v1/settings`: what holds in conversations; `/v1/settings/models`: the chat models that may answer in them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query, Response

from thresher.agent import AgentSettings, Models
from thresher.api.asking import BEARER, PROBLEMS, Asking, problem
from thresher.api.setting_models import (
    CheckedResponse,
    ModelChange,
    ModelRequest,
    ModelResponse,
    ModelsResponse,
    SettingsResponse,
)

_TAKEN: dict[int | str, dict[str, Any]] = {409: problem("The name is taken.")}
_Name = Annotated[str, Path(description="The model's name.")]
_Thread = Annotated[UUID | None, Query(description="For this thread alone; all of yours unless told.")]
_Changes = Annotated[
    dict[str, Any],
    Body(
        description="Value by field of the settings; null: as it is without a choice. Fields that are not named stay.",
        examples=[{"model": "sonnet", "top_k": 5, "temperature": None}],
    ),
]


def settings_router(settings: AgentSettings) -> APIRouter:
    """The routes of settings.

    Args:
        settings: Keeps them.
    """
    router = APIRouter(prefix="/v1/settings", tags=["settings"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def show_settings(caller: Asking, thread: _Thread = None) -> SettingsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What holds in your conversations, or in one, and where each value comes from."""
        return SettingsResponse.model_validate(await settings.get(caller, thread))

    @router.put("")
    async def set_settings(body: _Changes, caller: Asking, thread: _Thread = None) -> SettingsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Choose for your conversations, or for one, from the next message on."""
        return SettingsResponse.model_validate(await settings.put(caller, body, thread))

    return router


def registered_models_router(models: Models) -> APIRouter:
    """The routes of chat models.

    Args:
        models: Keeps them.
    """
    router = APIRouter(
        prefix="/v1/settings/models", tags=["settings"], responses=PROBLEMS, dependencies=[Depends(BEARER)]
    )

    @router.get("")
    async def list_models(caller: Asking) -> ModelsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The models that you see: that of THRESHER_LLM_URL, your own ones, your tenant's."""
        return ModelsResponse(models=[ModelResponse.model_validate(one) for one in await models.list(caller)])

    @router.post("", status_code=HTTPStatus.CREATED, responses=_TAKEN)
    async def add_model(body: ModelRequest, caller: Asking) -> ModelResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Register a model; callers with a key only on hosts that the owner of the server named."""
        key = None if body.key is None else body.key.get_secret_value()
        kept = await models.add(caller, body.name, body.url, body.model, key=key, replace=body.replace)
        return ModelResponse.model_validate(kept)

    @router.get("/{name}")
    async def show_model(name: _Name, caller: Asking) -> ModelResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One of them."""
        return ModelResponse.model_validate(await models.get(caller, name))

    @router.patch("/{name}")
    async def switch_model(name: _Name, body: ModelChange, caller: Asking) -> ModelResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Let conversations use it, or not."""
        change = models.enable if body.enabled else models.disable
        return ModelResponse.model_validate(await change(caller, name))

    @router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove_model(name: _Name, caller: Asking) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Forget it and its key."""
        await models.remove(caller, name)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.post("/{name}/check")
    async def check_model(name: _Name, caller: Asking) -> CheckedResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Ask it something harmless, also while it is disabled."""
        return CheckedResponse.model_validate(await models.check(caller, name))

    return router
