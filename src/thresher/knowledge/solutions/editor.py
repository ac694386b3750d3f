"""Creates, changes, renames and deletes the files of relations and value lists.

Invariant: every change is planned completely from what was just read, and refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.models import (
    Change,
    Deleted,
    Location,
    ObjectKind,
    Reference,
    first_difference,
    location,
)
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspace import FileChange, Record, StoredObject
from thresher.servoy import checked_name

_LISTED: Final = 12
_MOST_DELETED: Final = 500
UNCHANGED: Final = Change("", "unchanged")


@dataclass(frozen=True, slots=True)
class EditResult:
    """An object after an edit.

    Attributes:
        stored: The object as it is now.
        change: What was written.
        place: Its location; the first line that changed.
        notes: Warnings.
    """

    stored: StoredObject
    change: Change
    place: Location
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditOptions:
    """How to carry out an edit.

    Attributes:
        solution: Where; empty for the active solution, or else its modules, or else any.
        confirm: Whether a person agreed to an edit outside the active solution.
        force: Whether to edit objects that are still referenced.
    """

    solution: str = ""
    confirm: bool = False
    force: bool = False


class ObjectEditor:
    """Plans and writes changes to one kind of objects.

    Args:
        storage: Writes the files.
        kind: Kind of the objects.
    """

    def __init__(self, storage: Storage, kind: ObjectKind) -> None:
        self._storage = storage
        self.kind: ObjectKind = kind

    def shown(self, context: WorkContext, stored: StoredObject, *notes: str) -> EditResult:
        """Return an object that was not changed."""
        return EditResult(stored, UNCHANGED, location(context.workspace.root, stored.path), notes)

    def free_name(self, context: WorkContext, project: str, name: str, former: str = "") -> str:
        """Return a name if a new object of a project may have it.

        Args:
            context: Context of the call.
            project: Project of the object.
            name: The name as given.
            former: The object's current name, whose case may change.

        Raises:
            InvalidInput: The name is not valid.
            Conflict: Another object that can be used together with this one has it.
        """
        name = checked_name(name, self.kind)
        family = context.family(project)
        for one in context.workspace.find(self.kind, name, family):
            where = "" if one.project == project else f", and '{project}' can be used together with it"
            raise Conflict(f"There is a {self.kind} '{name}' in '{one.project}'{where}.", hint="Choose another name.")
        stored, broken = context.workspace.objects(self.kind, (project,))
        taken = [one.record.name for one in stored]
        taken += [file.path.rsplit("/", 1)[-1].rsplit(".", 1)[0] for file in broken]
        if alike := [one for one in taken if one != former and one.casefold() == name.casefold()]:
            raise Conflict(
                f"There is a {self.kind} '{alike[0]}' in '{project}', and file systems that ignore case "
                "do not distinguish the names.",
                hint="Choose another name.",
            )
        return name

    def created(self, context: WorkContext, project: str, record: Record, notes: Sequence[str] = ()) -> EditResult:
        """Write the file of a new object."""
        change = self._written(context, "created", record.name, project, [context.workspace.created(project, record)])
        return self._now(context, record.name, project, change, 1, notes)

    def changed(
        self, context: WorkContext, stored: StoredObject, record: Record, notes: Sequence[str] = ()
    ) -> EditResult:
        """Write the changed record of an object."""
        file = context.workspace.changed(stored, record)
        change = self._written(context, "updated", record.name, stored.project, [file])
        line = first_difference(file.before, file.after)
        return self._now(context, record.name, stored.project, change, line, notes)

    def renamed(self, context: WorkContext, name: str, new_name: str, options: EditOptions) -> EditResult:
        """Rename an object, and rewrite what certainly refers to it."""
        stored = context.get_object(self.kind, name, options.solution)
        if new_name == name:
            raise InvalidInput(f"The {self.kind} already has the name '{name}'.", hint="Give another name.")
        free = self.free_name(context, stored.project, new_name, former=name)
        references = [one for one in context.workspace.references(stored) if not one.by_uuid]
        rewritten = tuple(one for one in references if one.certain and one.rewritable)
        left = tuple(one for one in references if one not in rewritten)
        if left and not options.force:
            raise Conflict(
                f"The {self.kind} '{name}' was not renamed: {_places(left)} would keep the old name.",
                hint=f"Change them, or rename it anyway with force: true and change them afterwards. {_named(left)}",
            )
        done = f"renamed to '{free}'"
        context.check_confirmed(self.kind, [stored], done, options.solution, confirm=options.confirm, besides=rewritten)
        files = context.workspace.renamed(stored, free, rewritten)
        change = self._written(context, "renamed", f"{name}' to '{free}", stored.project, files)
        complete = replace(change, rewritten=rewritten, left=left)
        return self._now(context, free, stored.project, complete, 1, ())

    def deleted(self, context: WorkContext, names: Sequence[str], options: EditOptions) -> Deleted:
        """Delete objects, all or none."""
        distinct = tuple(dict.fromkeys(names))
        if not distinct or len(distinct) > _MOST_DELETED:
            raise InvalidInput(f"Give 1 to {_MOST_DELETED} names.", hint=f"Each is the name of a {self.kind}.")
        stored = [context.get_object(self.kind, name, options.solution) for name in distinct]
        context.check_confirmed(self.kind, stored, "deleted", options.solution, confirm=options.confirm)
        going = {one.path for one in stored}
        every_place = context.workspace.references_to(stored)
        references = {
            one.record.name: [place for place in places if place.place.path not in going]
            for one, places in zip(stored, every_place, strict=True)
        }
        left = tuple(dict.fromkeys(place for every in references.values() for place in every))
        if left and not options.force:
            named = "; ".join(f"'{name}': {_named(every)}" for name, every in references.items() if every)
            raise Conflict(
                f"Nothing was deleted: {_places(left)} would name a deleted object.",
                hint=f"Change them first, or delete anyway with force: true. {named}",
            )
        files = [FileChange(one.path, one.data, None) for one in stored]
        projects = ", ".join(dict.fromkeys(one.project for one in stored))
        change = self._written(context, "deleted", "', '".join(distinct), projects, files)
        return Deleted(distinct, replace(change, left=left))

    def _written(
        self, context: WorkContext, action: str, name: str, project: str, files: Sequence[FileChange]
    ) -> Change:
        words = f"{action} {self.kind} '{name}' in {project}"
        change = self._storage.apply(context.workspace.root, words, files, context.owner)
        return UNCHANGED if not change.id else replace(change, action=action)

    def _now(
        self, context: WorkContext, name: str, project: str, change: Change, line: int, notes: Sequence[str]
    ) -> EditResult:
        """Return an object as it is after a change."""
        found = context.workspace.find(self.kind, name, (project,))
        if not found:
            raise Conflict(f"The {self.kind} '{name}' was removed in the meantime.", hint="List the objects again.")
        place = location(context.workspace.root, found[0].path, line)
        return EditResult(found[0], change, place, tuple(dict.fromkeys(note for note in notes if note)))


def _places(references: Sequence[Reference]) -> str:
    many = len(references)
    sure = sum(one.certain for one in references)
    unsure = f", {many - sure} of them uncertain," if sure < many else ""
    return f"{many} {'place' if many == 1 else 'places'}{unsure}"


def _named(references: Sequence[Reference]) -> str:
    """Return references on one line, each with file and line."""
    shown = [f"{one.place.path}:{one.place.line}{'' if one.certain else ' (perhaps)'}" for one in references[:_LISTED]]
    more = [f"and {len(references) - _LISTED} more"] if len(references) > _LISTED else []
    return ", ".join([*shown, *more])
