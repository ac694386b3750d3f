"""The solutions kind: workspaces of low-code tools, their relations and value lists, and changes that can be undone.

Invariant: the contents of a workspace exist on disk only and are read from there; only `Storage` writes.

Uses: core, servoy, store.
"""

from thresher.knowledge.solutions.changes.storage import Planned, RehearsedStorage, Storage
from thresher.knowledge.solutions.models import (
    Backup,
    Change,
    Deleted,
    ListedObject,
    Location,
    ObjectKind,
    ObjectListing,
    Project,
    Reference,
    ReferenceKind,
    RelationAnswer,
    RoundTrip,
    Scope,
    SolutionContext,
    UnreadableFile,
    ValueListAnswer,
    WorkspaceInfo,
)
from thresher.knowledge.solutions.requests import RelationChanges, RelationSpec, ValueListChanges, ValueListSpec
from thresher.knowledge.solutions.service import SolutionService
from thresher.knowledge.solutions.servoy_workspace.files import check_round_trip
from thresher.knowledge.solutions.servoy_workspace.workspace import ServoyWorkspace
from thresher.knowledge.solutions.workspace import FileChange, StoredObject, Workspace

__all__ = [
    "Backup",
    "Change",
    "Deleted",
    "FileChange",
    "ListedObject",
    "Location",
    "ObjectKind",
    "ObjectListing",
    "Planned",
    "Project",
    "Reference",
    "ReferenceKind",
    "RehearsedStorage",
    "RelationAnswer",
    "RelationChanges",
    "RelationSpec",
    "RoundTrip",
    "Scope",
    "ServoyWorkspace",
    "SolutionContext",
    "SolutionService",
    "Storage",
    "StoredObject",
    "UnreadableFile",
    "ValueListAnswer",
    "ValueListChanges",
    "ValueListSpec",
    "Workspace",
    "WorkspaceInfo",
    "check_round_trip",
]
