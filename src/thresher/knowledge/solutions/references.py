"""Every place of a workspace that names an object, or holds its UUID.

Invariant: only reads. A place is certain where its file surely means this object and no other of its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from thresher.core import BrokenFile, shortened
from thresher.knowledge.solutions.files import Files, Found
from thresher.knowledge.solutions.mentions import Mention, relation_mentions, value_list_mentions
from thresher.knowledge.solutions.models import ObjectKind, Reference, ReferenceKind
from thresher.knowledge.solutions.places import location
from thresher.knowledge.solutions.scripts import relation_words, value_list_words
from thresher.knowledge.solutions.workspace import FileChange, Stored, Workspace
from thresher.servoy import Document, Relation, read_document, with_changes

_KINDS: Final[dict[str, ReferenceKind]] = {
    "frm": "form",
    "js": "script",
    "rel": "relation",
    "val": "value list",
    "tbl": "table",
    "mnu": "menu",
}
_FOLDERS: Final = ("forms", "relations", "valuelists", "menus", "datasources")
_ENDINGS: Final = (".frm", ".js", ".rel", ".val", ".tbl", ".mnu")
_LONGEST_TEXT: Final = 160


class References:
    """Finds the places that name one object, and rewrites them.

    Args:
        workspace: That is looked through.
        files: Its files.
        stored: The object.
    """

    def __init__(self, workspace: Workspace, files: Files, stored: Stored) -> None:
        self._workspace = workspace
        self._files = files
        self._stored = stored
        record = stored.record
        self._kind: ObjectKind = "relation" if isinstance(record, Relation) else "value list"
        self._name, self._uuid = record.name, record.uuid
        self._word = re.compile(rb"(?<![\w$])" + re.escape(self._name.encode()) + rb"(?![\w$])")
        self._marks = [one.encode() for one in (self._uuid, self._uuid.upper(), self._uuid.lower(), "\\u") if one]
        self._projects = [project.name for project in workspace.projects()]
        self._relations = frozenset(one.record.name for one in workspace.objects("relation", self._projects)[0])

    def all(self) -> list[Reference]:
        """Every place, by project and file."""
        meant = self._meant()
        return [
            reference
            for project in self._projects
            for found in self._sources(project)
            for reference in self._in_file(found, project, meant.get(project))
        ]

    def rewritten(self, path: str, name: str) -> FileChange | None:
        """A file that says another name in each place that is certain; None where there is none.

        Raises:
            BrokenFile: It cannot be read.
        """
        data = self._files.read(path)
        document = read_document(data)
        changes = {one.path: one.renamed(name) for one in self._mentions(document) if one.certain and one.spans}
        return FileChange(path, data, with_changes(document, changes)) if changes else None

    def own_changes(self, document: Document, name: str) -> dict[tuple[str | int, ...], str]:
        """Places of the object's own file that say its name, such as a relation that is sorted through itself."""
        return {one.path: one.renamed(name) for one in self._mentions(document) if one.certain and one.spans}

    def _meant(self) -> dict[str, bool]:
        """Projects in which the name means this object, and whether for sure.

        A solution sees its own and its modules' names, and its modules' forms see them too once it runs.
        """
        reaches = {name: {name, *self._workspace.modules(name)} for name in self._projects}
        family = {name for reach in reaches.values() if self._stored.project in reach for name in reach}
        namesakes = {
            one.project
            for one in self._workspace.objects(self._kind, self._projects)[0]
            if one.record.name == self._name and one.path != self._stored.path
        }
        meant: dict[str, bool] = {}
        for name, reach in reaches.items():
            others = bool(reach & namesakes)
            if name in family and (self._stored.project in reach or not others):
                meant[name] = not others
            elif not others:
                meant[name] = False
        return meant

    def _sources(self, project: str) -> Iterator[Found]:
        yield from self._files.listed(project, ".js")[0]
        for folder in _FOLDERS:
            yield from self._files.below(f"{project}/{folder}", _ENDINGS)

    def _in_file(self, found: Found, project: str, meant: bool | None) -> Iterator[Reference]:
        try:
            data = self._files.read(found.path)
            if found.path == self._stored.path or not self._may_name(data):
                return
            if found.path.endswith(".js"):
                yield from self._in_script(found.path, data, project, meant)
            else:
                yield from self._in_document(found.path, data, project, meant)
        except BrokenFile as error:
            # It may well name the object: said, so that nobody believes that nothing does.
            text = f"cannot be read: {error.message}"
            yield self._reference(found.path, project, error.line or 1, text, certain=False)

    def _may_name(self, data: bytes) -> bool:
        """Whether a file is worth reading: it holds the name as a word, the UUID, or letters written as numbers."""
        # `in` is many times quicker than a pattern, and most files hold nothing of it.
        if any(mark in data for mark in self._marks):
            return True
        return self._name.encode() in data and self._word.search(data) is not None

    def _in_script(self, path: str, data: bytes, project: str, meant: bool | None) -> Iterator[Reference]:
        script = data.decode(errors="replace")
        if isinstance(self._stored.record, Relation):
            words = relation_words(script, self._name)
        else:
            words = value_list_words(script, self._name, self._uuid)
        for word in words:
            if meant is not None:
                yield self._reference(path, project, word.line, word.text, certain=word.certain and meant)

    def _in_document(self, path: str, data: bytes, project: str, meant: bool | None) -> Iterator[Reference]:
        document = read_document(data)
        lines = data.decode(errors="replace").split("\n")
        for mention in self._mentions(document):
            by_uuid = not mention.spans
            if meant is None and not by_uuid:
                continue
            line = document.line_of(*mention.path)
            certain = by_uuid or (mention.certain and bool(meant))
            yield self._reference(path, project, line, lines[line - 1], certain=certain, by_uuid=by_uuid)

    def _mentions(self, document: Document) -> Iterator[Mention]:
        if isinstance(self._stored.record, Relation):
            return relation_mentions(document, self._name, self._uuid, self._relations)
        return value_list_mentions(document, self._name, self._uuid)

    def _reference(
        self, path: str, project: str, line: int, text: str, *, certain: bool, by_uuid: bool = False
    ) -> Reference:
        kind = _KINDS.get(path.rpartition(".")[2], "other")
        return Reference(
            kind=kind,
            project=project,
            place=location(self._workspace.root, path, line),
            text=shortened(text.strip(), _LONGEST_TEXT),
            certain=certain,
            rewritable=certain and not by_uuid and kind != "script",
            by_uuid=by_uuid,
        )


def files_to_rewrite(references: Sequence[Reference], own: str) -> list[str]:
    """Paths of the files that hold rewritable references, each once; not the object's own."""
    return list(dict.fromkeys(one.place.path for one in references if one.rewritable and one.place.path != own))


def with_name(document: Document, name: str, changes: dict[tuple[str | int, ...], str]) -> bytes:
    """An object's own file under another name."""
    return with_changes(document, {("name",): name, **changes})


def beside(path: str, name: str) -> str:
    """The path of a file of another name in the same folder."""
    return str(Path(path).with_name(name + Path(path).suffix).as_posix())
