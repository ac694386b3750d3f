"""A Servoy workspace: solutions, modules, relations, value lists and column information, as they are on disk now.

Invariant: only reads. Every result comes from files as they are now; a file is read again after it has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from thresher.core import BrokenFile, Conflict, InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.solutions.models import ObjectKind, Project, Reference, UnreadableFile
from thresher.knowledge.solutions.servoy_workspace.files import FileCache, Files, FoundFile, named
from thresher.knowledge.solutions.servoy_workspace.mentions import (
    CALCULATION_TYPE,
    METHOD_TYPE,
    VARIABLE_TYPE,
    Declaration,
    declared,
)
from thresher.knowledge.solutions.servoy_workspace.references import References, beside, files_to_rewrite, with_name
from thresher.knowledge.solutions.workspace import FileChange, Record, StoredObject
from thresher.servoy import (
    Document,
    Relation,
    SolutionFacts,
    TableFacts,
    changes_of,
    checked_name,
    new_document,
    read_document,
    relation_of,
    relation_value,
    solution_facts,
    table_facts,
    value_list_of,
    value_list_value,
    with_changes,
)

T = TypeVar("T")
METADATA: Final = "rootmetadata.obj"
SETTINGS: Final = "solution_settings.obj"
SOLUTION_KINDS: Final = {
    1: "solution",
    2: "module",
    4: "web client solution",
    8: "smart client solution",
    16: "login solution",
    32: "authenticator",
    64: "pre-import hook",
    128: "post-import hook",
    256: "mobile solution",
    512: "mobile module",
    1024: "NG client solution",
    2048: "NG module",
    4096: "service",
}
"""`solutionType` in words; an unknown number is shown as it is."""
_MODULES: Final = {2, 512, 2048}
_BY_HAND: Final = "It is never written. Resolve the merge, correct it by hand, or restore it from version control."


@dataclass(frozen=True, slots=True)
class _Kind:
    folder: str
    ending: str
    read: Callable[[Document], Record]


_OBJECTS: Final[dict[ObjectKind, _Kind]] = {
    "relation": _Kind("relations", ".rel", relation_of),
    "value list": _Kind("valuelists", ".val", value_list_of),
}


class ServoyWorkspace:
    """One workspace. Methods block, and may be called from several threads.

    Args:
        root: Its folder.

    Raises:
        NotFound: There is no such folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.expanduser().resolve()
        if not self._root.is_dir():
            raise NotFound(
                f"There is no folder {self._root}.", hint="Give the folder that holds the solutions' folders."
            )
        self._files = Files(self._root)
        self._documents = FileCache(self._files, lambda _, data: read_document(data))
        self._objects = FileCache(self._files, _object_of)
        self._tables = FileCache(self._files, _table_of)
        self._scripts = FileCache(self._files, lambda _, data: declared(data.decode(errors="replace")))

    @property
    def root(self) -> Path:
        """The resolved folder."""
        return self._root

    @property
    def format(self) -> str:
        """The format of its files."""
        return "servoy"

    def folder(self, project: str) -> str:
        """Return the path of a project's folder; empty if the workspace is itself a solution."""
        return "" if self._is_solution() else project

    def projects(self) -> Sequence[Project]:
        """Return solutions and modules, by name; `problems` names those whose metadata cannot be read."""
        names = self._project_names()
        return tuple(self._project(name, names) for name in names)

    def modules(self, project: str) -> Sequence[str]:
        """Return the modules of the workspace that a project reaches, each once, nearest first."""
        known = set(self._project_names())
        found: dict[str, None] = {}
        waiting = [project]
        while waiting:
            facts = self._facts(waiting.pop(0))
            fresh = [name for name in (facts.modules if facts else ()) if name in known and name not in found]
            fresh = [name for name in dict.fromkeys(fresh) if name != project]
            found.update(dict.fromkeys(fresh))
            waiting.extend(fresh)
        return tuple(found)

    def problems(self) -> Sequence[UnreadableFile]:
        """Return solutions whose metadata cannot be read, and links out of the workspace."""
        _, broken = self._files.folders()
        for name in self._project_names():
            for file in (METADATA, SETTINGS):
                if found := self._files.found(self._path(name, file)):
                    list(self._documents.all([found], broken))
        return tuple(broken)

    def objects(
        self, kind: ObjectKind, projects: Sequence[str]
    ) -> tuple[Sequence[StoredObject], Sequence[UnreadableFile]]:
        """Return all objects of a kind in some projects, by project and name, and the files that cannot be read."""
        stored: list[StoredObject] = []
        broken: list[UnreadableFile] = []
        for project in sorted(set(projects)):
            listed, unread = self._files.listed(self._path(project, _OBJECTS[kind].folder), _OBJECTS[kind].ending)
            broken.extend(unread)
            found = [
                StoredObject(project, one.path, data, record) for one, data, record in self._objects.all(listed, broken)
            ]
            stored.extend(sorted(found, key=lambda one: one.record.name))
        return tuple(stored), tuple(broken)

    def find(self, kind: ObjectKind, name: str, projects: Sequence[str]) -> Sequence[StoredObject]:
        """Return the objects of exactly this name.

        Raises:
            BrokenFile: A file of this name cannot be read.
        """
        stored, broken = self.objects(kind, projects)
        for one in broken:
            if Path(one.path).stem == name:
                raise named(one.path, BrokenFile(one.message, hint=_BY_HAND, line=one.line, column=one.column))
        return tuple(one for one in stored if one.record.name == name)

    def tables(self, server: str | None = None) -> tuple[Sequence[TableFacts], Sequence[UnreadableFile]]:
        """Return the column information of one server or of all; in-memory tables have an empty server."""
        found: list[TableFacts] = []
        broken: list[UnreadableFile] = []
        for name in self.servers() if server is None else [server] if server in self.servers() else []:
            listed, unread = self._files.listed(self._server_path(name), ".dbi")
            broken.extend(unread)
            found.extend(facts for _, _, facts in self._tables.all(listed, broken) if facts)
        for project in self._project_names() if not server else ():
            listed, unread = self._files.listed(self._path(project, "datasources/mem"), ".tbl")
            broken.extend(unread)
            found.extend(facts for _, _, facts in self._tables.all(listed, broken) if facts)
        return tuple(found), tuple(broken)

    def servers(self) -> Sequence[str]:
        """Return the names of the servers with column information."""
        return tuple(sorted(self._server_paths()))

    def server_folder(self, server: str) -> Path:
        """Return the folder with a server's column information.

        Raises:
            NotFound: There is none of this server.
        """
        return self._root / self._server_path(server)

    def methods(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Return the global methods: project, qualified name (`scopes.NAME.method`), UUID."""
        return self._declared(projects, METHOD_TYPE)

    def variables(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Return the global variables: project, qualified name (`scopes.NAME.variable`), UUID."""
        return self._declared(projects, VARIABLE_TYPE)

    def scopes(self, projects: Sequence[str]) -> Sequence[str]:
        """Return the names of the scripts' scopes in some projects, always including `globals`."""
        scripts = (found.stem for project in projects for found in self._files.listed(self.folder(project), ".js")[0])
        return tuple(sorted({"globals", *scripts}))

    def forms_declaring(self, datasource: str, name: str) -> Sequence[str]:
        """Return the forms on a data source, over all projects, whose script has a method or variable of a name."""
        return tuple(
            script.stem
            for project in self._project_names()
            for script in self._files.listed(self._path(project, "forms"), ".js")[0]
            if self._declares(script, name)
            and self._datasource(f"{script.path.removesuffix('.js')}.frm").casefold() == datasource.casefold()
        )

    def calculations(self, server: str, table: str) -> Sequence[str]:
        """Return the names of a table's calculations, over all projects; an in-memory table has an empty server."""
        path = f"datasources/{server or 'mem'}/{table}_calculations.js"
        found = [self._files.found(self._path(project, path)) for project in self._project_names()]
        scripts = (one for file in found if file for one in self._script(file))
        return tuple(dict.fromkeys(one.name for one in scripts if one.typeid == CALCULATION_TYPE))

    def references(self, stored: StoredObject) -> Sequence[Reference]:
        """Return every place of the workspace that contains the name or UUID of an object."""
        return self.references_to([stored])[0]

    def references_to(self, stored: Sequence[StoredObject]) -> Sequence[Sequence[Reference]]:
        """Return the references to each of several objects; each file is read once."""
        return tuple(map(tuple, References(self, self._files).all(stored)))

    def created(self, project: str, record: Record) -> FileChange:
        """Return the file of a new object in the project's dialect; missing UUIDs are generated.

        Raises:
            InvalidInput: Its name is not valid.
            Conflict: A file of this name exists.
            NotFound: There is no such project.
            BrokenFile: The project's metadata cannot be read.
        """
        kind: ObjectKind = "relation" if isinstance(record, Relation) else "value list"
        checked_name(record.name, kind)
        dialect = self._required(project).dialect
        path = self._path(project, f"{_OBJECTS[kind].folder}/{record.name}{_OBJECTS[kind].ending}")
        self._check_free(path)
        value = relation_value(record) if isinstance(record, Relation) else value_list_value(record, dialect)
        return FileChange(path, None, _read_again(kind, record, new_document(value, dialect)))

    def changed(self, stored: StoredObject, record: Record) -> FileChange:
        """Return the file of an object with a changed record of the same name; other lines stay the same."""
        document = read_document(stored.data)
        data = with_changes(document, changes_of(document, record))
        kind: ObjectKind = "relation" if isinstance(record, Relation) else "value list"
        return FileChange(stored.path, stored.data, _read_again(kind, record, data))

    def renamed(self, stored: StoredObject, name: str, references: Sequence[Reference]) -> Sequence[FileChange]:
        """Return the file under its new name, and every file with its rewritable references changed.

        Raises:
            InvalidInput: The name is not valid.
            Conflict: A file of this name exists.
            BrokenFile: A file that names it cannot be read.
        """
        checked_name(name, "relation" if isinstance(stored.record, Relation) else "value list")
        path = beside(stored.path, name)
        if path.casefold() != stored.path.casefold():
            self._check_free(path)
        users = References(self, self._files)
        document = read_document(stored.data)
        data = with_name(document, name, users.changes_in(stored, document, name))
        if path == stored.path:  # only the name in the file differed
            changes = [FileChange(path, stored.data, data)]
        else:
            changes = [FileChange(stored.path, stored.data, None), FileChange(path, None, data)]
        for other in files_to_rewrite(references, stored.path):
            if change := _with_path(other, lambda other=other: users.rewritten(stored, other, name)):
                changes.append(change)
        return tuple(changes)

    def _path(self, project: str, path: str) -> str:
        folder = self.folder(project)
        return f"{folder}/{path}" if folder else path

    def _is_solution(self) -> bool:
        """Return whether the folder is itself a solution and contains no other."""
        return self._files.found(METADATA) is not None and not self._below()

    def _below(self) -> list[str]:
        """Return the folders in it that are solutions or modules."""
        folders, _ = self._files.folders()
        return [folder for folder in folders if self._files.found(f"{folder}/{METADATA}")]

    def _project_names(self) -> list[str]:
        return [self._root.name] if self._is_solution() else self._below()

    def _project(self, name: str, known: Sequence[str]) -> Project:
        facts = self._facts(name)
        counts = [self._files.count(self._path(name, folder), ending) for folder, ending in _COUNTED]
        if facts is None:
            return Project(name, "unreadable", False, "classic", (), (), *counts)
        return Project(
            name=name,
            kind=SOLUTION_KINDS.get(facts.solution_type, f"solution of type {facts.solution_type}"),
            module=facts.solution_type in _MODULES,
            dialect=facts.dialect,
            modules=facts.modules,
            missing=tuple(one for one in facts.modules if one not in known),
            relations=counts[0],
            value_lists=counts[1],
            forms=counts[2],
        )

    def _facts(self, project: str) -> SolutionFacts | None:
        try:
            return self._required(project)
        except (BrokenFile, NotFound):
            return None

    def _required(self, project: str) -> SolutionFacts:
        names = self._project_names()
        found = self._files.found(self._path(project, METADATA)) if project in names else None
        if found is None:
            hint = did_you_mean(nearest(project, names)) or f"There are: {', '.join(names)}."
            raise NotFound(f"There is no solution or module '{project}' in {self._root}.", hint=hint)
        settings = self._files.found(self._path(project, SETTINGS))
        metadata = _with_path(found.path, lambda: self._documents.get(found)[1])
        other = _with_path(settings.path, lambda: self._documents.get(settings)[1]) if settings else None
        return _with_path(found.path, lambda: solution_facts(metadata, other))

    def _check_free(self, path: str) -> None:
        folder, _, wanted = path.rpartition("/")
        listed, _ = self._files.listed(folder, "")
        for one in listed:
            if one.path.casefold() == path.casefold():
                raise Conflict(
                    f"There is already a file {one.path}.",
                    hint=f"Choose another name than {wanted.rpartition('.')[0]}, or change the existing file.",
                )

    def _server_paths(self) -> dict[str, str]:
        """Return server to folder: in projects that are not solutions, the first with files of its tables."""
        folders, _ = self._files.folders()
        found: dict[str, str] = {}
        for project in folders:
            if self._files.found(f"{project}/{METADATA}"):
                continue
            for path in self._files.folders(f"{project}/datasources")[0]:
                server = path.rpartition("/")[2]
                if server not in found and self._files.listed(path, ".dbi")[0]:
                    found[server] = path
        return found

    def _server_path(self, server: str) -> str:
        paths = self._server_paths()
        if server not in paths:
            hint = did_you_mean(nearest(server, paths)) or f"Known servers: {', '.join(sorted(paths)) or 'none'}."
            raise NotFound(f"{self._root} holds no column information of a server '{server}'.", hint=hint)
        return paths[server]

    def _declares(self, script: FoundFile, name: str) -> bool:
        """Return whether a script, which is not cached, declares a method or variable."""
        try:
            data = self._files.read(script.path)
        except BrokenFile:
            return False
        return name.encode() in data and any(one.name == name for one in declared(data.decode(errors="replace")))

    def _datasource(self, path: str) -> str:
        """Return the data source of a form, or of the form that it extends; empty if it has none."""
        seen = set[str]()
        while path and path not in seen:
            seen.add(path)
            found = self._files.found(path)
            document = next((one for _, _, one in self._documents.all([found] if found else [], [])), None)
            if document is None:
                return ""
            if own := document.get("dataSource", default=""):
                return str(own)
            path = self._form_of(str(document.get("extendsID", default="")))
        return ""

    def _form_of(self, uuid: str) -> str:
        """Return the path of a form; empty if no solution has it."""
        forms = [
            one
            for project in self._project_names()
            for one in self._files.listed(self._path(project, "forms"), ".frm")[0]
        ]
        documents = self._documents.all(forms if uuid else [], [])
        return next((found.path for found, _, one in documents if str(one.get("uuid")).upper() == uuid.upper()), "")

    def _script(self, found: FoundFile) -> list[Declaration]:
        try:
            return self._scripts.get(found)[1]
        except BrokenFile:
            return []

    def _declared(self, projects: Sequence[str], typeid: int) -> Sequence[tuple[str, str, str]]:
        return tuple(
            (project, f"scopes.{found.stem}.{one.name}", one.uuid)
            for project in dict.fromkeys(projects)
            for found in self._files.listed(self.folder(project), ".js")[0]
            for one in self._script(found)
            if one.typeid == typeid
        )


_COUNTED: Final = (("relations", ".rel"), ("valuelists", ".val"), ("forms", ".frm"))


def _object_of(path: str, data: bytes) -> Record:
    kind = next(kind for kind in _OBJECTS.values() if path.endswith(kind.ending))
    return kind.read(read_document(data))


def _read_again(kind: ObjectKind, record: Record, data: bytes) -> bytes:
    """Return bytes to write, after checking that they can be read.

    Raises:
        InvalidInput: They cannot be read back, because of a value that was given.
    """
    try:
        _OBJECTS[kind].read(read_document(data))
    except BrokenFile as error:
        message = f"The {kind} '{record.name}' cannot be written: {error.message}"
        raise InvalidInput(message, hint="Give another value.") from error
    return data


def _table_of(path: str, data: bytes) -> TableFacts | None:
    server = path.split("/")[-2] if path.endswith(".dbi") else ""
    return table_facts(read_document(data), server)


def _with_path(path: str, read: Callable[[], T]) -> T:
    """Return what `read` returns, with the file's name in its error."""
    try:
        return read()
    except BrokenFile as error:
        raise named(path, error) from None
