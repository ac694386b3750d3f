"""Where documents come from: folders, git repositories and single files.

Invariant: a source lists only files that are worth indexing, gives a reason for every other file, and reads nothing
outside itself.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.credentials import secret_in
from thresher.knowledge.documents.sources.folder import FolderSource
from thresher.knowledge.documents.sources.git import GitSource, open_local
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import FileSource
from thresher.knowledge.documents.sources.objects import ObjectReader
from thresher.knowledge.documents.sources.origins import is_remote, may_index, origin_of
from thresher.knowledge.documents.sources.remote import fetch_commit

__all__ = ["FileSource", "SourceLimits", "may_index", "open_source", "origin_of", "secret_in"]


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
    remote = is_remote(origin.location)
    objects, commit = _reader(origin, cache, limits) if remote else open_local(origin, limits)
    try:
        return GitSource(objects, commit, origin, cache, limits, partial=remote)
    except KeyError:
        objects.close()
        raise NotFound(
            f"{origin.location} lacks parts of {origin.ref or 'its default branch'}.",
            hint="Fetch all of it: `git fetch`.",
        ) from None
    except BaseException:
        objects.close()
        raise


def _reader(origin: Origin, cache: Path, limits: SourceLimits) -> tuple[ObjectReader, str]:
    """The local copy of a remote repository, and the commit that an origin names."""
    copy, commit = fetch_commit(origin, cache, limits)
    return ObjectReader(copy.resolve(), origin.location, limits.seconds), commit
