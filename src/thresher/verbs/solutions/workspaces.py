"""The verbs of workspaces, and the arguments that all verbs of solutions share.

Invariant: an argument means the same in every verb. The literals are those of `thresher.servoy` and of the solutions
kind, whose packages import more than a command's help needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.knowledge.solutions import Backup, Change, SolutionContext, WorkspaceInfo
    from thresher.verbs.request import Request

SOLUTIONS = Kind("solutions", "thresher.knowledge.solutions", remote=False, files=True)

Encapsulation: TypeAlias = Literal["public", "hidden", "module"]
Scope: TypeAlias = Annotated[
    Literal["current", "modules", "all"],
    Doc("The active solution; with the modules it uses; the whole workspace"),
]
Solution: TypeAlias = Annotated[str, Doc("Solution or module that holds it; the active one unless given")]
Confirmed: TypeAlias = Annotated[bool, Doc("A person has agreed to a change outside of the active solution")]
Forced: TypeAlias = Annotated[bool, Doc("A person wants it although places still name it")]
Workspace: TypeAlias = Annotated[str, Doc("The one in use unless given")]
Visible: TypeAlias = Annotated[
    Encapsulation | None, Doc("Everywhere, not in scripts, or only in its module; public unless given")
]
Deprecated: TypeAlias = Annotated[str | None, Doc("Why; empty: it is not")]
Comment: TypeAlias = Annotated[str | None, Doc("Empty: none")]
Limit: TypeAlias = Annotated[int, Ge(1), Le(1_000)]
Cursor: TypeAlias = Annotated[str, Doc("Of the last answer: what it left out")]


class FieldDoc(Doc):
    """The description of a field of an object that is an argument: JSON Schema shows it."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return handler(schema) | {"description": self.documentation}


@SOLUTIONS.verb("read", key="workspaces")
async def list_workspaces(request: Request) -> tuple[WorkspaceInfo, ...]:
    """The workspaces: what is in them, and which of their files cannot be read."""
    return await request.services.solutions.list_workspaces(request.caller)


@SOLUTIONS.verb("read")
async def show_workspace(request: Request, workspace: str) -> WorkspaceInfo:
    """A workspace's solutions and modules, and the servers whose columns it knows.

    Raises:
        NotFound: There is no such workspace.
    """
    return await request.services.solutions.workspace(request.caller, workspace)


@SOLUTIONS.verb("admin")
async def add_workspace(
    request: Request,
    path: Annotated[str, Doc("Absolute path of the folder that holds the solutions' folders")],
    name: Annotated[str, Doc("The folder's unless given")] = "",
    replace: Annotated[bool, Doc("Give an existing name this folder")] = False,
) -> WorkspaceInfo:
    """Make the relations and value lists of a workspace known; nothing in it is changed.

    Raises:
        InvalidInput: The name is not valid, or the folder holds no solution.
        Conflict: The name is taken, or the folder is known under another one.
        NotAllowed: The caller may not add this folder.
    """
    added = await request.services.solutions.add_workspace(request.caller, path, name, replace=replace)
    request.services.context.readiness.look_again()
    return added


@SOLUTIONS.verb("admin", key="removed", destroys=True)
async def remove_workspace(request: Request, workspace: str) -> str:
    """Forget a workspace; its files are left alone.

    Raises:
        NotFound: There is no such workspace.
        NotAllowed: It belongs to the tenant and the caller is a user.
    """
    await request.services.solutions.remove_workspace(request.caller, workspace)
    request.services.context.readiness.look_again()
    return workspace


@SOLUTIONS.verb("read")
async def get_solution_context(request: Request) -> SolutionContext:
    """The workspace, its solutions and modules, and the active one, where new relations and value lists go."""
    return await request.services.solutions.get_solution_context(request.caller)


@SOLUTIONS.verb("write", idempotent=True)
async def set_solution_context(
    request: Request, active: Annotated[str, Doc("Name of a solution or module")], workspace: Workspace = ""
) -> SolutionContext:
    """Choose the solution or module where new relations and value lists go.

    Raises:
        NotFound: There is no such workspace, or no such solution in it.
        InvalidInput: Several workspaces have it.
    """
    return await request.services.solutions.set_solution_context(request.caller, active, workspace)


@SOLUTIONS.verb("write")
async def undo_solution_change(
    request: Request, change_id: Annotated[str, Doc("Of the answer that made the change")], workspace: Workspace = ""
) -> Change:
    """Take back a change of relations or value lists; refused where a file was changed since.

    Raises:
        NotFound: There is no such change.
        Conflict: A file was changed since.
    """
    return await request.services.solutions.undo(request.caller, change_id, workspace)


@SOLUTIONS.verb("read", key="changes")
async def list_solution_changes(request: Request, workspace: Workspace = "") -> tuple[Backup, ...]:
    """Changes of relations and value lists that can be taken back, the last one first.

    Raises:
        NotFound: There is no such workspace.
    """
    return await request.services.solutions.backups(request.caller, workspace)
