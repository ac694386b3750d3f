"""The protocol of a workspace of any low-code tool; `servoy_workspace` implements it.

Invariant: a workspace only reads. Every write goes through `Storage` as a plan of whole files, and a file that cannot
be read is in no plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from thresher.knowledge.solutions.models import ObjectKind, Project, Reference, UnreadableFile
from thresher.servoy import Relation, TableFacts, ValueList

Record: TypeAlias = Relation | ValueList
"""A record in a file of a workspace."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object and the bytes that it was read from.

    Attributes:
        project: Its project.
        path: Relative to the workspace.
        data: Bytes of its file when it was read.
        record: The record in these bytes.
    """

    project: str
    path: str
    data: bytes
    record: Record


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file.

    Attributes:
        path: Relative to the workspace.
        before: The bytes that were read; None if the file must not exist.
        after: The new bytes; None to delete the file.
    """

    path: str
    before: bytes | None
    after: bytes | None


class Workspace(Protocol):
    """A workspace as it is on disk now. Methods block, so they are called in threads."""

    @property
    def root(self) -> Path:
        """The resolved folder."""
        ...

    @property
    def format(self) -> str:
        """The format of its files, such as `servoy`."""
        ...

    def folder(self, project: str) -> str:
        """Return the relative path of a project's folder; empty if it is the workspace's own."""
        ...

    def projects(self) -> Sequence[Project]:
        """Return solutions and modules, by name."""
        ...

    def modules(self, project: str) -> Sequence[str]:
        """Return the modules that a project reaches, each once, in order; circles are allowed."""
        ...

    def objects(
        self, kind: ObjectKind, projects: Sequence[str]
    ) -> tuple[Sequence[StoredObject], Sequence[UnreadableFile]]:
        """Return all objects of a kind in some projects, by project and name, and the files that cannot be read."""
        ...

    def find(self, kind: ObjectKind, name: str, projects: Sequence[str]) -> Sequence[StoredObject]:
        """Return the objects of exactly this name.

        Raises:
            BrokenFile: A file of this name cannot be read.
        """
        ...

    def tables(self, server: str | None = None) -> tuple[Sequence[TableFacts], Sequence[UnreadableFile]]:
        """Return the column information of one server or of all, including in-memory tables."""
        ...

    def servers(self) -> Sequence[str]:
        """Return the names of the servers with column information."""
        ...

    def server_folder(self, server: str) -> Path:
        """Return the folder with a server's column information."""
        ...

    def methods(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Return the global methods: project, qualified name (`scopes.NAME.method`), UUID."""
        ...

    def variables(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Return the global variables: project, qualified name (`scopes.NAME.variable`), UUID."""
        ...

    def scopes(self, projects: Sequence[str]) -> Sequence[str]:
        """Return the names of the scripts' scopes in some projects, always including `globals`."""
        ...

    def forms_declaring(self, datasource: str, name: str) -> Sequence[str]:
        """Return the forms on a data source, over all projects, whose script has a method or variable of a name."""
        ...

    def calculations(self, server: str, table: str) -> Sequence[str]:
        """Return the names of a table's calculations, over all projects; an in-memory table has an empty server."""
        ...

    def problems(self) -> Sequence[UnreadableFile]:
        """Return problems of the projects themselves: unreadable metadata, links out of the workspace."""
        ...

    def references(self, stored: StoredObject) -> Sequence[Reference]:
        """Return every place of the workspace that contains the name or UUID of an object."""
        ...

    def references_to(self, stored: Sequence[StoredObject]) -> Sequence[Sequence[Reference]]:
        """Return the references to each of several objects, faster than one by one."""
        ...

    def created(self, project: str, record: Record) -> FileChange:
        """Return the file of a new object in the project's dialect; missing UUIDs are generated.

        Raises:
            InvalidInput: Its name is not valid.
            Conflict: A file of this name exists.
        """
        ...

    def changed(self, stored: StoredObject, record: Record) -> FileChange:
        """Return the file of an object with a changed record of the same name; other lines stay the same."""
        ...

    def renamed(self, stored: StoredObject, name: str, references: Sequence[Reference]) -> Sequence[FileChange]:
        """Return the file under its new name, and every file with its rewritable references changed."""
        ...
