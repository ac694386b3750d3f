"""Finds every place of a workspace that contains the name or UUID of an object.

Invariant: only reads. A place is certain if its file means this object and no other of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from thresher.core import BrokenFile, shortened
from thresher.knowledge.solutions.models import ObjectKind, Reference, ReferenceKind, location
from thresher.knowledge.solutions.servoy_workspace.files import Files, FoundFile, readable
from thresher.knowledge.solutions.servoy_workspace.mentions import (
    Mention,
    ScriptWord,
    relation_mentions,
    relation_words,
    value_list_mentions,
    value_list_words,
)
from thresher.knowledge.solutions.workspace import FileChange, StoredObject, Workspace
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
_FEW: Final = 4
"""Up to this number of names each is searched for in a file; of more names, a file's words are looked up."""
_WORD: Final = re.compile(r"[\w$]+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_ESCAPED: Final = b"\\u"


class References:
    """Finds references to objects, and rewrites them; one instance serves one request.

    Args:
        workspace: The workspace to search.
        files: Its files.
    """

    def __init__(self, workspace: Workspace, files: Files) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._files = files
        self._projects = [project.name for project in workspace.projects()]
        self._reaches = {name: {name, *workspace.modules(name)} for name in self._projects}
        kinds: tuple[ObjectKind, ...] = ("relation", "value list")
        self._objects = {kind: workspace.objects(kind, self._projects)[0] for kind in kinds}
        self._relations = frozenset(one.record.name for one in self._objects["relation"])

    def all(self, stored: Sequence[StoredObject]) -> list[list[Reference]]:
        """Return the references to each of some objects, by project and file; each file is read once."""
        targets = _Targets([self._target(one) for one in stored])
        found: list[list[Reference]] = [[] for _ in stored]
        for project in self._projects:
            for one in self._sources(project):
                try:
                    source = _Source(project, one.path, self._files.read(one.path))
                except BrokenFile:
                    continue
                for place, target in targets.perhaps_in(source):
                    found[place].extend(self._in_source(source, target))
        return found

    def rewritten(self, stored: StoredObject, path: str, name: str) -> FileChange | None:
        """Return a file with the new name in each certain place; None if it has none.

        Raises:
            BrokenFile: It cannot be read.
        """
        data = self._files.read(path)
        document = read_document(data)
        changes = self.changes_in(stored, document, name)
        return FileChange(path, data, with_changes(document, changes)) if changes else None

    def changes_in(self, stored: StoredObject, document: Document, name: str) -> dict[tuple[str | int, ...], str]:
        """Return path to new text, of the texts in a document that name an object.

        The object's own document may have some too, such as a relation sorted through itself.
        """
        mentions = self._target(stored).mentions(document)
        return {one.path: one.renamed(name) for one in mentions if one.certain and one.spans}

    def _target(self, stored: StoredObject) -> _Target:
        kind: ObjectKind = "relation" if isinstance(stored.record, Relation) else "value list"
        name = stored.record.name
        others = (one for one in self._objects[kind] if one.record.name == name and one.path != stored.path)
        return _Target(stored, self._relations, self._meant(stored.project, {one.project for one in others}))

    def _meant(self, project: str, namesakes: set[str]) -> dict[str, bool]:
        """Return the projects in which a name means the object of one project, and whether this is certain.

        A solution sees its own and its modules' names; at run time its modules' forms see them too.
        """
        family = {name for reach in self._reaches.values() if project in reach for name in reach}
        meant: dict[str, bool] = {}
        for name, reach in self._reaches.items():
            others = bool(reach & namesakes)
            if name in family and (project in reach or not others):
                meant[name] = not others
            elif not others:
                meant[name] = False
        return meant

    def _sources(self, project: str) -> Iterator[FoundFile]:
        base = self._workspace.folder(project)
        yield from self._files.listed(base, ".js")[0]
        for folder in _FOLDERS:
            yield from self._files.below(f"{base}/{folder}".lstrip("/"), _ENDINGS)

    def _in_source(self, source: _Source, target: _Target) -> Iterator[Reference]:
        if source.path == target.stored.path:
            return
        meant = target.meant.get(source.project)
        if not source.path.isprintable():
            yield self._reference(source, 1, "was not read: its name cannot be shown", certain=False)
            return
        try:
            if source.path.endswith(".js"):
                for word in target.words(source.script) if meant is not None else ():
                    yield self._reference(source, word.line, word.text, certain=word.certain and bool(meant))
            else:
                yield from self._in_document(source, target, meant)
        except BrokenFile as error:
            # It may name the object, so it is reported.
            text = f"cannot be read: {error.message}"
            yield self._reference(source, error.line or 1, text, certain=False)

    def _in_document(self, source: _Source, target: _Target, meant: bool | None) -> Iterator[Reference]:
        for mention in target.mentions(source.document):
            by_uuid = not mention.spans
            if meant is None and not by_uuid:
                continue
            line = source.document.line_of(*mention.path)
            certain = by_uuid or (mention.certain and bool(meant))
            yield self._reference(source, line, source.lines[line - 1], certain=certain, by_uuid=by_uuid)

    def _reference(self, source: _Source, line: int, text: str, *, certain: bool, by_uuid: bool = False) -> Reference:
        kind = _KINDS.get(source.path.rpartition(".")[2], "other")
        return Reference(
            kind=kind,
            project=source.project,
            place=location(self._root, readable(source.path), line),
            text=shortened(text.strip(), _LONGEST_TEXT),
            certain=certain,
            rewritable=certain and not by_uuid and kind != "script",
            by_uuid=by_uuid,
        )


@dataclass(frozen=True)
class _Source:
    """A file that may name objects, parsed on demand."""

    project: str
    path: str
    data: bytes

    @cached_property
    def document(self) -> Document:
        return read_document(self.data)

    @cached_property
    def script(self) -> str:
        return self.data.decode(errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.script.split("\n")


class _Target:
    """An object to search for.

    Args:
        stored: The object.
        relations: Names of all relations, which may precede it in a chain.
        meant: Projects in which its name means it, and whether this is certain.
    """

    def __init__(self, stored: StoredObject, relations: frozenset[str], meant: Mapping[str, bool]) -> None:
        self.stored = stored
        self.meant = meant
        self._relations = relations
        self.name, self.uuid = stored.record.name, stored.record.uuid
        self._encoded = self.name.encode()
        self._word = re.compile(rb"(?<![\w$])" + re.escape(self._encoded) + rb"(?![\w$])")
        self._marks = [one.encode() for one in (self.uuid, self.uuid.upper(), self.uuid.lower()) if one]

    def may_be_in(self, data: bytes) -> bool:
        """Return whether a file is worth parsing: it contains the name as a word, the UUID, or escaped letters."""
        # `in` is much faster than a pattern, and most files contain none of it.
        if _ESCAPED in data or any(mark in data for mark in self._marks):
            return True
        return self._encoded in data and self._word.search(data) is not None

    def mentions(self, document: Document) -> Iterator[Mention]:
        """Yield where a document names it."""
        if isinstance(self.stored.record, Relation):
            return relation_mentions(document, self.name, self.uuid, self._relations)
        return value_list_mentions(document, self.name, self.uuid)

    def words(self, script: str) -> Iterator[ScriptWord]:
        """Yield where a script may mean it."""
        if isinstance(self.stored.record, Relation):
            return relation_words(script, self.name)
        return value_list_words(script, self.name, self.uuid)


class _Targets:
    """Objects to search for at once.

    Args:
        targets: In the order of the answer.
    """

    def __init__(self, targets: Sequence[_Target]) -> None:
        self._targets = targets
        self._by_word: dict[str, list[int]] = {}
        for place, target in enumerate(targets):
            for word in {target.name, target.uuid.upper()} - {""}:
                self._by_word.setdefault(word, []).append(place)

    def perhaps_in(self, source: _Source) -> list[tuple[int, _Target]]:
        """Return the objects that a file may name, with their positions."""
        if len(self._targets) <= _FEW:
            return [(place, one) for place, one in enumerate(self._targets) if one.may_be_in(source.data)]
        if _ESCAPED in source.data:
            return list(enumerate(self._targets))
        words = {*_WORD.findall(source.script), *(uuid.upper() for uuid in _UUID.findall(source.script))}
        places = {place for word in words & self._by_word.keys() for place in self._by_word[word]}
        return [(place, self._targets[place]) for place in sorted(places)]


def files_to_rewrite(references: Sequence[Reference], own: str) -> list[str]:
    """Return the paths of the files with rewritable references, each once, except the object's own."""
    return list(dict.fromkeys(one.place.path for one in references if one.rewritable and one.place.path != own))


def with_name(document: Document, name: str, changes: dict[tuple[str | int, ...], str]) -> bytes:
    """Return an object's own file under another name."""
    return with_changes(document, {("name",): name, **changes})


def beside(path: str, name: str) -> str:
    """Return the path of a file with another name in the same folder."""
    return str(Path(path).with_name(name + Path(path).suffix).as_posix())
