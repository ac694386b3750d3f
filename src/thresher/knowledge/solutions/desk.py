"""Where one call works: a workspace, and the solution in it that is active.

Invariant: only reads; what is asked here blocks, so it is asked in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from thresher.core import Conflict, InvalidInput, NotFound, Unconfirmed, did_you_mean, nearest
from thresher.knowledge.solutions.checks import Tables
from thresher.knowledge.solutions.journal import NOBODY, Owner
from thresher.knowledge.solutions.models import ObjectKind, Reference, Scope
from thresher.knowledge.solutions.workspace import Stored, Workspace

_MOST_FILES = 5


@dataclass(frozen=True, slots=True)
class Desk:
    """What one call works with.

    Attributes:
        workspace: As it is on disk.
        name: Of the workspace.
        active: The solution or module where new things go; None where none is chosen and several could be.
        projects: Names of all solutions and modules.
        owner: Who calls, as changes note it.
    """

    workspace: Workspace
    name: str
    active: str | None
    projects: tuple[str, ...]
    owner: Owner = NOBODY
    _tables: list[Tables] = field(default_factory=list[Tables], init=False, repr=False, compare=False)

    @classmethod
    def at(cls, workspace: Workspace, name: str, active: str | None = None) -> Self:
        """A desk in a workspace as it is now."""
        return cls(workspace, name, active, tuple(one.name for one in workspace.projects()))

    def tables(self) -> Tables:
        """The tables that the workspace knows, read once for the call."""
        if not self._tables:
            self._tables.append(Tables(self.workspace.tables()[0], self.workspace.servers()))
        return self._tables[0]

    def reach(self, project: str) -> tuple[str, ...]:
        """A solution, and the modules that it uses, and theirs."""
        known = set(self.projects)
        modules = (one for one in self.workspace.modules(project) if one in known)
        return tuple(dict.fromkeys((project, *modules)))

    def family(self, project: str) -> tuple[str, ...]:
        """Every solution and module in which a name of this one could be met a second time.

        Those are the ones that it uses, those that use it, and what they use besides.
        """
        reaches = [self.reach(one) for one in self.projects]
        met = [self.reach(project), *(reach for reach in reaches if project in reach)]
        return tuple(dict.fromkeys(one for reach in met for one in reach))

    def scoped(self, scope: Scope) -> tuple[str, ...]:
        """The solutions and modules of a scope."""
        if scope == "all":
            return self.projects
        return (self.required(),) if scope == "current" else self.reach(self.required())

    def required(self) -> str:
        """The active solution.

        Raises:
            InvalidInput: None is.
        """
        if self.active is None:
            raise InvalidInput(
                f"No solution of the workspace '{self.name}' is active, and there are several.",
                hint=f"Choose one with set_solution_context: {_listed(self.projects)}.",
            )
        return self.active

    def project(self, name: str) -> str:
        """A solution or module of this name.

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
        """Where something new goes.

        Args:
            solution: As the caller said; empty: the active one.

        Raises:
            InvalidInput: None is active, and none was said.
            NotFound: There is none of this name.
        """
        return self.project(solution) if solution else self.required()

    def agreed_there(self, project: str, what: str, *, confirm: bool) -> None:
        """Refuse to make something outside of the active solution, unless somebody agreed.

        Args:
            project: Where it would be made.
            what: It is, such as `the relation 'orders_to_customers'`.
            confirm: Whether somebody did.

        Raises:
            Unconfirmed: Nobody did.
        """
        if self.active is not None and project != self.active and not confirm:
            raise Unconfirmed(
                f"'{self.active}' is the active solution, and {what} would be made in '{project}'.",
                hint=f"Ask whether it shall go to '{project}', then call again with confirm: true.",
            )

    def agreed(
        self,
        what: str,
        stored: Sequence[Stored],
        done: str,
        solution: str,
        *,
        confirm: bool,
        besides: Sequence[Reference] = (),
    ) -> None:
        """Refuse to change what stands outside of the active solution, unless somebody agreed.

        Args:
            what: Kind of the objects.
            stored: All that the call means, so that a person who is asked reads of all that stand outside.
            done: What would be done to them, such as `deleted`.
            solution: As the caller said.
            confirm: Whether somebody agreed.
            besides: Places that would be rewritten with them.

        Raises:
            Unconfirmed: Nobody did.
        """
        said = {one.project for one in stored} if self.active is None and solution else set[str]()
        outside = [one for one in stored if one.project not in (self.active, *said)]
        others = [one for one in besides if one.project not in (self.active, *said)]
        if confirm or not (outside or others):
            return
        active = f"'{self.active}' is the active solution" if self.active else "No solution is active"
        meant = outside or stored
        named = f"{what}{'s' if len(meant) > 1 else ''} {_listed([one.record.name for one in meant])}"
        where, also = _projects(outside), _projects(others)
        there = f" in {_listed(where)}" if where else ""
        rest = f", and {len(others)} {'place' if len(others) == 1 else 'places'} in {_listed(also)} with it"
        raise Unconfirmed(
            f"{active}, and the {named} would be {done}{there}{rest if others else ''}.",
            hint=f"Ask whether {_listed(list(dict.fromkeys((*where, *also))))} shall be changed, then call again with "
            "confirm: true.",
        )

    def located(self, kind: ObjectKind, name: str, solution: str = "", *, near: bool = False) -> Stored | None:
        """The object that a name means: in the active solution, else in its modules, else anywhere.

        Args:
            kind: Of the object.
            name: Of the object.
            solution: The only one that is looked in; empty: all, one tier after the other.
            near: Whether to leave out those that the active solution does not use.

        Raises:
            InvalidInput: Several on the same tier have it.
            Conflict: Several files of one solution say that they are it.
            NotFound: There is no such solution.
            BrokenFile: The file of this name cannot be read.
        """
        for tier in self._tiers(solution, near=near):
            found = self.workspace.find(kind, name, tier) if tier else ()
            if len({one.project for one in found}) < len(found):
                raise Conflict(
                    f"Several files hold a {kind} '{name}': {', '.join(one.path for one in found[:_MOST_FILES])}.",
                    hint="Nothing is done to any of them. Remove the one that is wrong, or correct the name in it.",
                )
            if len(found) > 1:
                raise InvalidInput(
                    f"Several solutions have a {kind} '{name}': {_listed([one.project for one in found])}.",
                    hint="Say which with `solution`.",
                )
            if found:
                return found[0]
        return None

    def found(self, kind: ObjectKind, name: str, solution: str = "") -> Stored:
        """The object that a name means.

        Raises:
            NotFound: There is none; the hint offers near ones.
            As `located` does.
        """
        if (stored := self.located(kind, name, solution)) is not None:
            return stored
        where = f"'{solution}'" if solution else f"the workspace '{self.name}'"
        raise NotFound(f"There is no {kind} '{name[:80]}' in {where}.", hint=self.near(kind, name))

    def near(self, kind: ObjectKind, name: str) -> str:
        """What to offer instead of a name that nothing has."""
        known = [one.record.name for one in self.workspace.objects(kind, self.projects)[0]]
        verb = "list_relations" if kind == "relation" else "list_value_lists"
        return (
            did_you_mean(nearest(name[:80], dict.fromkeys(known))) or f"{verb} with scope `all` shows those there are."
        )

    def _tiers(self, solution: str, *, near: bool) -> list[Sequence[str]]:
        if solution:
            return [(self.project(solution),)]
        if self.active is None:
            return [self.projects]
        reach = self.reach(self.active)
        others = [] if near else [one for one in self.projects if one not in reach]
        return [(self.active,), reach[1:], others]


def _projects(found: Sequence[Stored] | Sequence[Reference]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.project for one in found))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{one}'" for one in names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
