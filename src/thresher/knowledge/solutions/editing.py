"""What is the same for relations and value lists: making, changing, renaming and deleting their files.

Invariant: every change is planned whole from what was just read, and refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.models import Change, Deleted, Location, ObjectKind, Reference
from thresher.knowledge.solutions.places import first_difference, location
from thresher.knowledge.solutions.storage import Storage
from thresher.knowledge.solutions.workspace import FileChange, Stored
from thresher.servoy import Relation, ValueList, checked_name

_LISTED: Final = 12
_MOST_DELETED: Final = 500
UNCHANGED: Final = Change("", "unchanged")


@dataclass(frozen=True, slots=True)
class Edited:
    """An object after a change.

    Attributes:
        stored: As it is now.
        change: What was written.
        place: Where it stands; the first line that was changed.
        notes: What must be known.
    """

    stored: Stored
    change: Change
    place: Location
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """How a call wants a change carried out.

    Attributes:
        solution: Where; empty: the active one, else its modules, else any.
        confirm: Whether somebody agreed to it being done outside of the active solution.
        force: Whether to do it although something refers to it.
    """

    solution: str = ""
    confirm: bool = False
    force: bool = False


class Editing:
    """Plans and writes changes to one kind of objects.

    Args:
        storage: Writes them.
        kind: Of the objects.
    """

    def __init__(self, storage: Storage, kind: ObjectKind) -> None:
        self._storage = storage
        self.kind: ObjectKind = kind

    def shown(self, desk: Desk, stored: Stored, *notes: str) -> Edited:
        """An object that nothing was done to."""
        return Edited(stored, UNCHANGED, location(desk.workspace.root, stored.path), notes)

    def free_name(self, desk: Desk, project: str, name: str, former: str = "") -> str:
        """A name that a new object of a project may have.

        Args:
            desk: Where is worked.
            project: That is to hold it.
            name: As somebody wrote it.
            former: The name that the object has now; another case of it is free.

        Raises:
            InvalidInput: It is not legal.
            Conflict: Another object has it that can be met together with this one.
        """
        name = checked_name(name, self.kind)
        family = desk.family(project)
        for one in desk.workspace.find(self.kind, name, family):
            where = "" if one.project == project else f", and '{project}' can be used together with it"
            raise Conflict(f"There is a {self.kind} '{name}' in '{one.project}'{where}.", hint="Choose another name.")
        stored, broken = desk.workspace.objects(self.kind, (project,))
        taken = [one.record.name for one in stored]
        taken += [file.path.rsplit("/", 1)[-1].rsplit(".", 1)[0] for file in broken]
        if alike := [one for one in taken if one != former and one.casefold() == name.casefold()]:
            raise Conflict(
                f"There is a {self.kind} '{alike[0]}' in '{project}', and file systems that ignore case take the "
                "names for one.",
                hint="Choose another name.",
            )
        return name

    def created(self, desk: Desk, project: str, record: Relation | ValueList, notes: Sequence[str] = ()) -> Edited:
        """Write the file of a new object."""
        change = self._written(desk, "created", record.name, project, [desk.workspace.created(project, record)])
        return self._now(desk, record.name, project, change, 1, notes)

    def changed(self, desk: Desk, stored: Stored, record: Relation | ValueList, notes: Sequence[str] = ()) -> Edited:
        """Write an object that became another record of the same name."""
        file = desk.workspace.changed(stored, record)
        change = self._written(desk, "updated", record.name, stored.project, [file])
        line = first_difference(file.before, file.after)
        return self._now(desk, record.name, stored.project, change, line, notes)

    def renamed(self, desk: Desk, name: str, new_name: str, asked: Asked) -> Edited:
        """Give an object another name, and rewrite what surely means it."""
        stored = desk.found(self.kind, name, asked.solution)
        if new_name == name:
            raise InvalidInput(f"The {self.kind} is called '{name}' already.", hint="Say the new name.")
        free = self.free_name(desk, stored.project, new_name, former=name)
        references = [one for one in desk.workspace.references(stored) if not one.by_uuid]
        rewritten = tuple(one for one in references if one.certain and one.rewritable)
        left = tuple(one for one in references if one not in rewritten)
        if left and not asked.force:
            raise Conflict(
                f"The {self.kind} '{name}' was not renamed: {_places(left)} would still say the old name.",
                hint=f"Change them, or rename it all the same with force: true and change them then. {_named(left)}",
            )
        done = f"renamed to '{free}'"
        desk.agreed(self.kind, [stored], done, asked.solution, confirm=asked.confirm, besides=rewritten)
        files = desk.workspace.renamed(stored, free, rewritten)
        change = self._written(desk, "renamed", f"{name}' to '{free}", stored.project, files)
        told = replace(change, rewritten=rewritten, left=left)
        return self._now(desk, free, stored.project, told, 1, ())

    def deleted(self, desk: Desk, names: Sequence[str], asked: Asked) -> Deleted:
        """Delete objects, all or none."""
        wanted = tuple(dict.fromkeys(names))
        if not wanted or len(wanted) > _MOST_DELETED:
            raise InvalidInput(f"Say 1 to {_MOST_DELETED} names.", hint=f"Each is the name of a {self.kind}.")
        stored = [desk.found(self.kind, name, asked.solution) for name in wanted]
        desk.agreed(self.kind, stored, "deleted", asked.solution, confirm=asked.confirm)
        going = {one.path for one in stored}
        every_place = desk.workspace.references_to(stored)
        references = {one.record.name: _outside(all_of, going) for one, all_of in zip(stored, every_place, strict=True)}
        left = tuple(dict.fromkeys(place for every in references.values() for place in every))
        if left and not asked.force:
            named = "; ".join(f"'{name}': {_named(every)}" for name, every in references.items() if every)
            raise Conflict(
                f"Nothing was deleted: {_places(left)} would name what is gone.",
                hint=f"Change them first, or delete all the same with force: true. {named}",
            )
        files = [FileChange(one.path, one.data, None) for one in stored]
        projects = ", ".join(dict.fromkeys(one.project for one in stored))
        change = self._written(desk, "deleted", "', '".join(wanted), projects, files)
        return Deleted(wanted, replace(change, left=left))

    def _written(self, desk: Desk, action: str, name: str, project: str, files: Sequence[FileChange]) -> Change:
        words = f"{action} {self.kind} '{name}' in {project}"
        change = self._storage.apply(desk.workspace.root, words, files, desk.owner)
        return UNCHANGED if not change.id else replace(change, action=action)

    def _now(self, desk: Desk, name: str, project: str, change: Change, line: int, notes: Sequence[str]) -> Edited:
        """An object as it is after a change."""
        found = desk.workspace.find(self.kind, name, (project,))
        if not found:
            raise Conflict(f"The {self.kind} '{name}' was removed meanwhile.", hint="List what there is.")
        place = location(desk.workspace.root, found[0].path, line)
        return Edited(found[0], change, place, tuple(dict.fromkeys(note for note in notes if note)))


def _outside(references: Sequence[Reference], going: set[str]) -> list[Reference]:
    """References that stand in files which stay."""
    return [one for one in references if one.place.path not in going]


def _places(references: Sequence[Reference]) -> str:
    many = len(references)
    sure = sum(one.certain for one in references)
    unsure = f", {many - sure} of them perhaps meaning something else," if sure < many else ""
    return f"{many} {'place' if many == 1 else 'places'}{unsure}"


def _named(references: Sequence[Reference]) -> str:
    """References in one line, each with its file and line."""
    told = [f"{one.place.path}:{one.place.line}{'' if one.certain else ' (perhaps)'}" for one in references[:_LISTED]]
    more = [f"and {len(references) - _LISTED} more"] if len(references) > _LISTED else []
    return ", ".join([*told, *more])
