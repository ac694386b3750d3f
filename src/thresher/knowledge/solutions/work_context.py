"""The context of one call: a workspace and its active solution.

Invariant: only reads. Methods block, so they are called in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from thresher.core import Conflict, InvalidInput, NotFound, Unconfirmed, did_you_mean, nearest
from thresher.knowledge.solutions.changes.journal import NOBODY, ChangeOwner
from thresher.knowledge.solutions.data_sources import KnownSource, Tables, sort_order
from thresher.knowledge.solutions.models import ObjectKind, Reference, Scope
from thresher.knowledge.solutions.workspace import StoredObject, Workspace
from thresher.servoy import datasource

_MOST_FILES = 5


@dataclass(frozen=True, slots=True)
class WorkContext:
    """The workspace and active solution of a call.

    Attributes:
        workspace: The workspace on disk.
        name: Name of the workspace.
        active: The solution or module that new objects go into; None if none is chosen and there are several.
        projects: Names of all solutions and modules.
        owner: The owner of changes.
    """

    workspace: Workspace
    name: str
    active: str | None
    projects: tuple[str, ...]
    owner: ChangeOwner = NOBODY
    _tables: list[Tables] = field(default_factory=list[Tables], init=False, repr=False, compare=False)

    @classmethod
    def at(cls, workspace: Workspace, name: str, active: str | None = None) -> Self:
        """Create a context for a workspace as it is now."""
        return cls(workspace, name, active, tuple(one.name for one in workspace.projects()))

    def tables(self) -> Tables:
        """Return the tables that the workspace knows, read once for the call."""
        if not self._tables:
            self._tables.append(Tables(self.workspace.tables()[0], self.workspace.servers()))
        return self._tables[0]

    def source(self, wanted: str | None, known: str, what: str) -> KnownSource:
        """Return the wanted data source, or else the known one, even if the workspace has no information on it.

        Args:
            wanted: The data source to use; None for the known one.
            known: The data source in use.
            what: Name of the property.

        Raises:
            InvalidInput: The wanted one is not valid, or its server has no such table.
        """
        try:
            found = self.tables().source(wanted or known, what)
        except InvalidInput:
            if wanted is not None:
                raise
            return KnownSource(datasource(known), note=f"{known} is not known to the workspace.")
        return replace(found, calculations=tuple(self.workspace.calculations(found.source.server, found.source.table)))

    def sort_order(self, text: str, source: KnownSource, project: str) -> str:
        """Return a checked sort order, which may go over the relations that a project reaches.

        Raises:
            InvalidInput: It is not valid, or names a column or relation that does not exist.
        """
        found = self.workspace.objects("relation", self.reach(project))[0] if "." in text else ()
        return sort_order(text, source, [one.record.name for one in found])

    def reach(self, project: str) -> tuple[str, ...]:
        """Return a solution and all modules that it reaches."""
        known = set(self.projects)
        modules = (one for one in self.workspace.modules(project) if one in known)
        return tuple(dict.fromkeys((project, *modules)))

    def family(self, project: str) -> tuple[str, ...]:
        """Return every solution and module in which a name of this project may be visible together with another.

        These are the projects that it reaches, those that reach it, and what they reach.
        """
        reaches = [self.reach(one) for one in self.projects]
        met = [self.reach(project), *(reach for reach in reaches if project in reach)]
        return tuple(dict.fromkeys(one for reach in met for one in reach))

    def projects_in(self, scope: Scope) -> tuple[str, ...]:
        """Return the solutions and modules of a scope."""
        if scope == "all":
            return self.projects
        return (self.active_project(),) if scope == "current" else self.reach(self.active_project())

    def active_project(self) -> str:
        """Return the active solution.

        Raises:
            InvalidInput: No solution is active.
        """
        if self.active is None:
            raise InvalidInput(
                f"No solution of the workspace '{self.name}' is active, and there are several.",
                hint=f"Choose one with set_solution_context: {_listed(self.projects)}.",
            )
        return self.active

    def project(self, name: str) -> str:
        """Return the name of a solution or module as it is written.

        Raises:
            NotFound: There is none.
        """
        known = self.projects
        if name in known:
            return name
        alike = [one for one in known if one.casefold() == name.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise NotFound(
            f"There is no solution or module '{name[:80]}' in the workspace '{self.name}'.",
            hint=did_you_mean(nearest(name[:80], known)) or f"There are: {_listed(known)}.",
        )

    def target(self, solution: str) -> str:
        """Return the project for a new object.

        Args:
            solution: Named by the caller; empty for the active one.

        Raises:
            InvalidInput: No solution is active, and none is named.
            NotFound: There is none of this name.
        """
        return self.project(solution) if solution else self.active_project()

    def check_confirmed_target(self, project: str, what: str, *, confirm: bool) -> None:
        """Refuse to create an object outside the active solution without confirmation.

        Args:
            project: Project of the new object.
            what: The object, such as `the relation 'orders_to_customers'`.
            confirm: Whether a person agreed.

        Raises:
            Unconfirmed: It is outside, and no one agreed.
        """
        if self.active is not None and project != self.active and not confirm:
            raise Unconfirmed(
                f"'{self.active}' is the active solution, and {what} would be created in '{project}'.",
                hint=f"Ask the user whether to create it in '{project}', then call again with confirm: true.",
            )

    def check_confirmed(
        self,
        what: str,
        stored: Sequence[StoredObject],
        done: str,
        solution: str,
        *,
        confirm: bool,
        besides: Sequence[Reference] = (),
    ) -> None:
        """Refuse to change objects outside the active solution without confirmation.

        Args:
            what: Kind of the objects.
            stored: All objects of the call, so that the error names all that are outside.
            done: What would be done to them, such as `deleted`.
            solution: Named by the caller.
            confirm: Whether a person agreed.
            besides: References that would be rewritten too.

        Raises:
            Unconfirmed: Some are outside, and no one agreed.
        """
        named_projects = {one.project for one in stored} if self.active is None and solution else set[str]()
        outside = [one for one in stored if one.project not in (self.active, *named_projects)]
        others = [one for one in besides if one.project not in (self.active, *named_projects)]
        if confirm or not (outside or others):
            return
        active = f"'{self.active}' is the active solution" if self.active else "No solution is active"
        meant = outside or stored
        named = f"{what}{'s' if len(meant) > 1 else ''} {_listed([one.record.name for one in meant])}"
        where, also = _projects(outside), _projects(others)
        there = f" in {_listed(where)}" if where else ""
        rest = f", and {len(others)} {'place' if len(others) == 1 else 'places'} in {_listed(also)} with it"
        changed = _listed(list(dict.fromkeys((*where, *also))))
        raise Unconfirmed(
            f"{active}, and the {named} would be {done}{there}{rest if others else ''}.",
            hint=f"Ask the user whether to change {changed}, then call again with confirm: true.",
        )

    def find_object(
        self, kind: ObjectKind, name: str, solution: str = "", *, near: bool = False
    ) -> StoredObject | None:
        """Find an object by name: in the active solution, or else its modules, or else anywhere.

        Args:
            kind: Kind of the object.
            name: Name of the object.
            solution: The only solution to look in; empty for all, tier by tier.
            near: Whether to skip projects that the active solution does not reach.

        Raises:
            InvalidInput: Several projects of a tier have it.
            Conflict: Several files of one solution have this name.
            NotFound: There is no such solution.
            BrokenFile: The file of this name cannot be read.
        """
        for tier in self._tiers(solution, near=near):
            found = self.workspace.find(kind, name, tier) if tier else ()
            if len({one.project for one in found}) < len(found):
                raise Conflict(
                    f"Several files hold a {kind} '{name}': {', '.join(one.path for one in found[:_MOST_FILES])}.",
                    hint="None of them was changed. Remove the wrong one, or correct the name in it.",
                )
            if len(found) > 1:
                raise InvalidInput(
                    f"Several solutions have a {kind} '{name}': {_listed([one.project for one in found])}.",
                    hint="Name one with `solution`.",
                )
            if found:
                return found[0]
        return None

    def get_object(self, kind: ObjectKind, name: str, solution: str = "") -> StoredObject:
        """Return the object of a name; other errors as of `find_object`.

        Raises:
            NotFound: There is none; the hint suggests similar ones.
        """
        if (stored := self.find_object(kind, name, solution)) is not None:
            return stored
        where = f"'{solution}'" if solution else f"the workspace '{self.name}'"
        raise NotFound(f"There is no {kind} '{name[:80]}' in {where}.", hint=self.near(kind, name))

    def near(self, kind: ObjectKind, name: str) -> str:
        """Return suggestions for a name that no object has."""
        known = [one.record.name for one in self.workspace.objects(kind, self.projects)[0]]
        verb = "list_relations" if kind == "relation" else "list_value_lists"
        return did_you_mean(nearest(name[:80], dict.fromkeys(known))) or f"List them all: {verb} with scope `all`."

    def _tiers(self, solution: str, *, near: bool) -> list[Sequence[str]]:
        if solution:
            return [(self.project(solution),)]
        if self.active is None:
            return [self.projects]
        reach = self.reach(self.active)
        others = [] if near else [one for one in self.projects if one not in reach]
        return [(self.active,), reach[1:], others]


def _projects(found: Sequence[StoredObject] | Sequence[Reference]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.project for one in found))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{one}'" for one in names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
