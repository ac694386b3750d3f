"""Where documents come from: folders, git and single files.

Invariant: what a source lists is worth reading, what it does not list has a reason, and nothing outside of it is read.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.folder import FolderSource
from thresher.knowledge.documents.sources.git import GitSource
from thresher.knowledge.documents.sources.local import opened
from thresher.knowledge.documents.sources.objects import ObjectReader
from thresher.knowledge.documents.sources.origins import is_remote, may_index, origin_of
from thresher.knowledge.documents.sources.records import Limits, Source
from thresher.knowledge.documents.sources.remote import fetched
from thresher.knowledge.documents.sources.secrecy import secret_in

__all__ = ["Limits", "Source", "may_index", "open_source", "origin_of", "secret_in"]


def open_source(origin: Origin, cache: Path, *, limits: Limits | None = None, apart: tuple[Path, ...] = ()) -> Source:
    """Open a source and list its files; what did not change since the last time is neither fetched nor read again.

    It blocks, for minutes where much has to be fetched: call it in a thread.

    Args:
        origin: As `origin_of` makes it.
        cache: A folder for this repository alone; made when something has to be kept, and worth nothing but time.
        limits: How much is read.
        apart: Folders that are never entered, such as the product's own data.

    Raises:
        NotFound: There is nothing at this place, or no such branch, tag or commit.
        NotAllowed: A server wants a sign-in.
        SourceUnavailable: A server cannot be reached, breaks off or takes too long.
        InvalidInput: It cannot be read, or holds too much.
    """
    limits = limits or Limits()
    if not is_remote(origin.location) and any(Path(origin.location).is_relative_to(one.resolve()) for one in apart):
        raise InvalidInput(f"{origin.location} is the product's own data.", hint="Index another folder.")
    if origin.kind != "git":
        return FolderSource(origin, cache, limits, apart)
    remote = is_remote(origin.location)
    objects, commit = _reader(origin, cache, limits) if remote else opened(origin, limits)
    try:
        return GitSource(objects, commit, origin, cache, limits, partial=remote)
    except KeyError:
        objects.close()
        raise NotFound(
            f"{origin.location} lacks parts of {origin.ref or 'its default branch'}.",
            hint="Fetch it whole: `git fetch`.",
        ) from None
    except BaseException:
        objects.close()
        raise


def _reader(origin: Origin, cache: Path, limits: Limits) -> tuple[ObjectReader, str]:
    """The copy of a repository elsewhere, and the commit that an origin names."""
    copy, commit = fetched(origin, cache, limits)
    return ObjectReader(copy.resolve(), origin.location, limits.seconds), commit
