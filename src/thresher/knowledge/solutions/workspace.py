"""What a workspace of any low-code tool must be able to do; `servoy_workspace.py` is one.

Invariant: a workspace only reads; every write goes through `storage.Storage` as a plan of whole files, and a file that
cannot be read is in no plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from thresher.knowledge.solutions.models import Broken, ObjectKind, Project, Reference
from thresher.servoy import Relation, TableFacts, ValueList


@dataclass(frozen=True, slots=True)
class Stored:
    """An object and the bytes that it was read from.

    Attributes:
        project: That holds it.
        path: Relative to the workspace.
        data: All bytes of its file, as they were when it was read.
        record: What they say.
    """

    project: str
    path: str
    data: bytes
    record: Relation | ValueList


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one file becomes.

    Attributes:
        path: Relative to the workspace.
        before: Its bytes as they were read; None: there must be no such file.
        after: Its bytes from now on; None: it goes.
    """

    path: str
    before: bytes | None
    after: bytes | None


class Workspace(Protocol):
    """One workspace, as it is on disk now. Methods block: they are called in threads."""

    @property
    def root(self) -> Path:
        """Its folder, resolved."""
        ...

    @property
    def format(self) -> str:
        """Of its files, such as `servoy`."""
        ...

    def folder(self, project: str) -> str:
        """Path of a project's folder, relative to the workspace; empty where it is the workspace itself."""
        ...

    def projects(self) -> Sequence[Project]:
        """Solutions and modules, by name."""
        ...

    def modules(self, project: str) -> Sequence[str]:
        """The modules that a project uses, and theirs, each once, in order; a circle is followed once."""
        ...

    def objects(self, kind: ObjectKind, projects: Sequence[str]) -> tuple[Sequence[Stored], Sequence[Broken]]:
        """All objects of a kind in some projects, by project and name, and the files that cannot be read."""
        ...

    def find(self, kind: ObjectKind, name: str, projects: Sequence[str]) -> Sequence[Stored]:
        """Objects of exactly this name.

        Raises:
            BrokenFile: A file of this name cannot be read.
        """
        ...

    def tables(self, server: str | None = None) -> tuple[Sequence[TableFacts], Sequence[Broken]]:
        """Column information that the workspace holds, of one server or of all; in-memory tables too."""
        ...

    def servers(self) -> Sequence[str]:
        """Names of the servers of which it holds column information."""
        ...

    def server_folder(self, server: str) -> Path:
        """The folder with a server's column information."""
        ...

    def methods(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Global methods: project, qualified name (`scopes.NAME.method`), UUID."""
        ...

    def variables(self, projects: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """Global variables: project, qualified name (`scopes.NAME.variable`), UUID."""
        ...

    def scopes(self, projects: Sequence[str]) -> Sequence[str]:
        """Names of the scopes that scripts of some projects are in, `globals` always among them."""
        ...

    def forms_declaring(self, datasource: str, name: str) -> Sequence[str]:
        """Forms on a data source, over all projects, whose script has a method or variable of a name."""
        ...

    def calculations(self, server: str, table: str) -> Sequence[str]:
        """Names of a table's calculations, over all projects; the server of an in-memory table is empty."""
        ...

    def problems(self) -> Sequence[Broken]:
        """What is wrong with projects themselves: unreadable metadata, links that lead out of the workspace."""
        ...

    def references(self, stored: Stored) -> Sequence[Reference]:
        """Every place of the workspace that names an object, or holds its UUID."""
        ...

    def references_to(self, stored: Sequence[Stored]) -> Sequence[Sequence[Reference]]:
        """The same for each of several objects; quicker than one after the other."""
        ...

    def created(self, project: str, record: Relation | ValueList) -> FileChange:
        """The file of a new object, in the project's dialect; UUIDs that are missing are made.

        Raises:
            InvalidInput: Its name is not legal.
            Conflict: A file of this name is there.
        """
        ...

    def changed(self, stored: Stored, record: Relation | ValueList) -> FileChange:
        """The file of an object that became another record of the same name; other lines stay as they are."""
        ...

    def renamed(self, stored: Stored, name: str, references: Sequence[Reference]) -> Sequence[FileChange]:
        """The file under its new name, and every file whose rewritable references say it now."""
        ...
