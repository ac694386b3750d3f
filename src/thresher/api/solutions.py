"""`/v1/solutions` and the verbs of solutions, with the names and arguments that they have on every face."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Response

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.solution_models import (
    BackupResponse,
    BackupsResponse,
    ChangeResponse,
    DeletedResponse,
    DeleteRequest,
    ListingResponse,
    ListRequest,
    OpenedRelationResponse,
    OpenedValueListResponse,
    OpenRelationRequest,
    OpenValueListRequest,
    RenameRequest,
    SolutionContextRequest,
    SolutionContextResponse,
    UndoRequest,
    UpdateRelationRequest,
    UpdateValueListRequest,
    WorkspaceRequest,
    WorkspaceResponse,
    WorkspacesResponse,
)
from thresher.packs import open_relation, open_value_list, update_relation, update_value_list
from thresher.services import Services

_Name = Annotated[str, Path(description="The workspace's name.")]
_Wanted = Annotated[ListRequest | None, Body()]


def workspaces_router(services: Services) -> APIRouter:
    """The routes of workspaces.

    Args:
        services: Whose solutions keep them.
    """
    solutions, readiness = services.solutions, services.context.readiness
    router = APIRouter(prefix="/v1/solutions", tags=["solutions"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_workspaces(caller: Asking) -> WorkspacesResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The workspaces that you see."""
        found = await solutions.list_workspaces(caller)
        return WorkspacesResponse(workspaces=[WorkspaceResponse.model_validate(one) for one in found])

    @router.post("", status_code=HTTPStatus.CREATED)
    async def add_workspace(body: WorkspaceRequest, caller: Asking) -> WorkspaceResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Make a workspace known."""
        kept = await solutions.add_workspace(caller, **body.model_dump())
        readiness.look_again()
        return WorkspaceResponse.model_validate(kept)

    @router.get("/{name}")
    async def show_workspace(name: _Name, caller: Asking) -> WorkspaceResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One workspace."""
        return WorkspaceResponse.model_validate(await solutions.workspace(caller, name))

    @router.delete("/{name}", status_code=HTTPStatus.NO_CONTENT)
    async def remove_workspace(name: _Name, caller: Asking) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Forget it; its files are left alone."""
        await solutions.remove_workspace(caller, name)
        readiness.look_again()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.get("/{name}/backups")
    async def list_solution_changes(name: _Name, caller: Asking) -> BackupsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The changes that can be taken back, newest first."""
        found = await solutions.backups(caller, name)
        return BackupsResponse(backups=[BackupResponse.model_validate(one) for one in found])

    @router.post("/{name}/undo")
    async def undo_solution_change(name: _Name, body: UndoRequest, caller: Asking) -> ChangeResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Take a change back, unless its files were changed since; that is itself a change."""
        return ChangeResponse.model_validate(await solutions.undo(caller, body.change_id, name))

    return router


def solution_context_router(services: Services) -> APIRouter:
    """The routes of the active solution.

    Args:
        services: Whose solutions know it.
    """
    router = APIRouter(prefix="/v1", tags=["solutions"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/get_solution_context")
    async def get_solution_context(caller: Asking) -> SolutionContextResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The active solution or module, and what is near."""
        return SolutionContextResponse.model_validate(await services.solutions.get_solution_context(caller))

    @router.post("/set_solution_context")
    async def set_solution_context(body: SolutionContextRequest, caller: Asking) -> SolutionContextResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Choose where new things go."""
        chosen = await services.solutions.set_solution_context(caller, **body.model_dump())
        return SolutionContextResponse.model_validate(chosen)

    return router


def relations_router(services: Services) -> APIRouter:
    """The routes of relations.

    Args:
        services: Whose solutions hold them; their columns are found among all that is known.
    """
    solutions = services.solutions
    router = APIRouter(prefix="/v1", tags=["solutions"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/open_relation")
    async def show_or_make(body: OpenRelationRequest, caller: Asking) -> OpenedRelationResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Show a relation, or make it where there is none."""
        opened = await open_relation(services, caller, body.model_dump(exclude_none=True))
        return OpenedRelationResponse.model_validate(opened)

    @router.post("/update_relation")
    async def change(body: UpdateRelationRequest, caller: Asking) -> OpenedRelationResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Change what is said of a relation."""
        changed = await update_relation(services, caller, body.model_dump(exclude_none=True))
        return OpenedRelationResponse.model_validate(changed)

    @router.post("/rename_relation")
    async def rename_relation(body: RenameRequest, caller: Asking) -> OpenedRelationResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Give a relation another name, also where others name it."""
        return OpenedRelationResponse.model_validate(await solutions.rename_relation(caller, **body.model_dump()))

    @router.post("/delete_relations")
    async def delete_relations(body: DeleteRequest, caller: Asking) -> DeletedResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Delete relations that nothing names."""
        return DeletedResponse.model_validate(await solutions.delete_relations(caller, **body.model_dump()))

    @router.post("/list_relations")
    async def list_relations(caller: Asking, body: _Wanted = None) -> ListingResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Relations by solution and name."""
        wanted = body or ListRequest.model_validate({})
        return ListingResponse.model_validate(await solutions.list_relations(caller, **wanted.model_dump()))

    return router


def value_lists_router(services: Services) -> APIRouter:
    """The routes of value lists.

    Args:
        services: Whose solutions hold them.
    """
    solutions = services.solutions
    router = APIRouter(prefix="/v1", tags=["solutions"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/open_value_list")
    async def show_or_make(body: OpenValueListRequest, caller: Asking) -> OpenedValueListResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Show a value list, or make it where there is none."""
        opened = await open_value_list(services, caller, body.model_dump(exclude_none=True))
        return OpenedValueListResponse.model_validate(opened)

    @router.post("/update_value_list")
    async def change(body: UpdateValueListRequest, caller: Asking) -> OpenedValueListResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Change what is said of a value list."""
        changed = await update_value_list(services, caller, body.model_dump(exclude_none=True))
        return OpenedValueListResponse.model_validate(changed)

    @router.post("/rename_value_list")
    async def rename_value_list(body: RenameRequest, caller: Asking) -> OpenedValueListResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Give a value list another name."""
        return OpenedValueListResponse.model_validate(await solutions.rename_value_list(caller, **body.model_dump()))

    @router.post("/delete_value_lists")
    async def delete_value_lists(body: DeleteRequest, caller: Asking) -> DeletedResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Delete value lists that nothing names."""
        return DeletedResponse.model_validate(await solutions.delete_value_lists(caller, **body.model_dump()))

    @router.post("/list_value_lists")
    async def list_value_lists(caller: Asking, body: _Wanted = None) -> ListingResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Value lists by solution and name."""
        wanted = body or ListRequest.model_validate({})
        return ListingResponse.model_validate(await solutions.list_value_lists(caller, **wanted.model_dump()))

    return router
