"""The solutions kind: workspaces of low-code tools, their relations and value lists, and changes that can be undone.

Invariant: what lies in a workspace stands on disk alone and is read from there; nothing is written but by `Storage`.

Uses: core, servoy, store.
"""

from thresher.knowledge.solutions.checking import check_round_trip
from thresher.knowledge.solutions.models import (
    Backup,
    Broken,
    Change,
    Deleted,
    ListedObject,
    Listing,
    Location,
    ObjectKind,
    Project,
    Reference,
    ReferenceKind,
    RelationAnswer,
    RoundTrip,
    Scope,
    SolutionContext,
    ValueListAnswer,
    WorkspaceInfo,
)
from thresher.knowledge.solutions.service import SolutionService
from thresher.knowledge.solutions.servoy_workspace import ServoyWorkspace
from thresher.knowledge.solutions.storage import Planned, RehearsedStorage, Storage
from thresher.knowledge.solutions.wishes import RelationChanges, RelationWish, ValueListChanges, ValueListWish
from thresher.knowledge.solutions.workspace import FileChange, Stored, Workspace

__all__ = [
    "Backup",
    "Broken",
    "Change",
    "Deleted",
    "FileChange",
    "ListedObject",
    "Listing",
    "Location",
    "ObjectKind",
    "Planned",
    "Project",
    "Reference",
    "ReferenceKind",
    "RehearsedStorage",
    "RelationAnswer",
    "RelationChanges",
    "RelationWish",
    "RoundTrip",
    "Scope",
    "ServoyWorkspace",
    "SolutionContext",
    "SolutionService",
    "Storage",
    "Stored",
    "ValueListAnswer",
    "ValueListChanges",
    "ValueListWish",
    "Workspace",
    "WorkspaceInfo",
    "check_round_trip",
]
