"""Verbs of solutions: workspaces, the active solution, relations and value lists.

Invariant: the same names and arguments as on every other face; a workspace lies on this machine, so its path must be
absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, InvalidInput, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.packs import open_relation, open_value_list, update_relation, update_value_list

_ADD = frozenset({"path", "name", "replace"})
_CONTEXT = frozenset({"active", "workspace"})
_RENAME = frozenset({"name", "new_name", "solution", "confirm", "force"})
_DELETE = frozenset({"names", "solution", "confirm", "force"})
_LIST = frozenset({"scope", "cursor", "limit"})
_UNDO = frozenset({"change_id", "workspace"})
_BACKUPS = frozenset({"workspace"})


def solution_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Solutions(app, caller)
    kept = (verbs.add_workspace, verbs.list_workspaces, verbs.show_workspace, verbs.remove_workspace)
    placed = (verbs.get_solution_context, verbs.set_solution_context)
    changes = (verbs.list_solution_changes, verbs.undo_solution_change)
    relations = (verbs.open_relation, verbs.update_relation, verbs.rename_relation, verbs.delete_relations)
    lists = (verbs.open_value_list, verbs.update_value_list, verbs.rename_value_list, verbs.delete_value_lists)
    listed = (verbs.list_relations, verbs.list_value_lists)
    return {verb.__name__: verb for verb in (*kept, *placed, *changes, *relations, *lists, *listed)}


class _Solutions:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._services = app.services
        self._solutions = app.services.solutions
        self._readiness = app.services.context.readiness
        self._caller = caller

    async def add_workspace(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        kept = await self._solutions.add_workspace(self._caller, **_known(arguments, _ADD))
        self._readiness.look_again()
        return plain(kept)

    async def list_workspaces(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.list_workspaces(self._caller))

    async def show_workspace(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.workspace(self._caller, str(arguments["name"])))

    async def remove_workspace(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._solutions.remove_workspace(self._caller, str(arguments["name"]))
        self._readiness.look_again()
        return {"removed": str(arguments["name"])}

    async def get_solution_context(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.get_solution_context(self._caller))

    async def set_solution_context(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.set_solution_context(self._caller, **_known(arguments, _CONTEXT)))

    async def open_relation(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await open_relation(self._services, self._caller, arguments))

    async def update_relation(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await update_relation(self._services, self._caller, arguments))

    async def rename_relation(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.rename_relation(self._caller, **_known(arguments, _RENAME)))

    async def delete_relations(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.delete_relations(self._caller, **_known(arguments, _DELETE)))

    async def list_relations(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.list_relations(self._caller, **_known(arguments, _LIST)))

    async def open_value_list(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await open_value_list(self._services, self._caller, arguments))

    async def update_value_list(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await update_value_list(self._services, self._caller, arguments))

    async def rename_value_list(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.rename_value_list(self._caller, **_known(arguments, _RENAME)))

    async def delete_value_lists(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.delete_value_lists(self._caller, **_known(arguments, _DELETE)))

    async def list_value_lists(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.list_value_lists(self._caller, **_known(arguments, _LIST)))

    async def list_solution_changes(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.backups(self._caller, **_known(arguments, _BACKUPS)))

    async def undo_solution_change(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._solutions.undo(self._caller, **_known(arguments, _UNDO)))


def _known(arguments: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if unknown := sorted(set(arguments) - known):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(known))}.")
    return dict(arguments)
