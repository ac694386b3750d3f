"""Where documents come from: folders, git repositories and single files.

Invariant: a source lists only files that are worth indexing, gives a reason for every other file, and reads nothing
outside itself.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.changes import WatchedFolders, watched_folders
from thresher.knowledge.documents.sources.credentials import secret_in
from thresher.knowledge.documents.sources.folder import FolderSource
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import FileSource
from thresher.knowledge.documents.sources.origins import is_remote, may_index, origin_of

__all__ = [
    "FileSource",
    "SourceLimits",
    "WatchedFolders",
    "has_changed",
    "is_remote",
    "may_index",
    "open_source",
    "origin_of",
    "secret_in",
    "watched_folders",
]


def open_source(
    origin: Origin, cache: Path, *, limits: SourceLimits | None = None, forbidden: tuple[Path, ...] = ()
) -> FileSource:
    """Open a source and list its files; what has not changed since the last run is neither fetched nor read again.

    This function blocks, for minutes if much has to be fetched: call it in a thread.

    Args:
        origin: The origin, made by `origin_of`.
        cache: A folder for this repository alone, made when needed; deleting it costs only time.
        limits: How much is read.
        forbidden: Folders that are never entered, such as the product's own data.

    Raises:
        NotFound: There is nothing at this location, or no such branch, tag or commit.
        NotAllowed: A server requires a sign-in.
        SourceUnavailable: A server cannot be reached, disconnects or takes too long.
        InvalidInput: The source cannot be read, or is too large.
    """
    limits = limits or SourceLimits()
    if not is_remote(origin.location) and any(Path(origin.location).is_relative_to(one.resolve()) for one in forbidden):
        raise InvalidInput(f"{origin.location} is the product's own data.", hint="Index another folder.")
    if origin.kind != "git":
        return FolderSource(origin, cache, limits, forbidden)
    return _git().open_repository(origin, cache, limits)


def has_changed(
    origin: Origin, version: str, cache: Path, limits: SourceLimits, forbidden: tuple[Path, ...] = ()
) -> bool:
    """Whether a source has another version than the one that was indexed.

    Of a folder, files are read whose size or times are new; of a git repository only its branches and tags. This
    function blocks: call it in a thread.

    Args:
        origin: The origin of the source.
        version: The version that was indexed.
        cache: The folder of its runs.
        limits: Limits of bytes and time.
        forbidden: Folders that are never entered.

    Raises:
        ThresherError: The source cannot be read.
    """
    if origin.kind != "git":
        with FolderSource(origin, cache, limits, forbidden) as source:
            return source.version != version
    return _git().has_moved(origin, version, limits)


def _git():
    """The module of git repositories, whose library takes 0.1 s of a start."""
    from thresher.knowledge.documents.sources import git  # noqa: PLC0415 - as said

    return git
