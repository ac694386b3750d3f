"""Where documents come from: folders, git and single files.

Invariant: what a source lists is worth reading, what it does not list has a reason, and nothing outside of it is read.
"""

from __future__ import annotations

from pathlib import Path

from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.folder import FolderSource
from thresher.knowledge.documents.sources.records import Limits, Source
from thresher.knowledge.documents.sources.secrecy import secret_in

__all__ = ["Limits", "Source", "open_source", "secret_in"]


def open_source(origin: Origin, cache: Path, *, limits: Limits | None = None, apart: tuple[Path, ...] = ()) -> Source:
    """Open a source and list its files; what did not change since the last time is not read again.

    It blocks, for minutes where much has to be fetched: call it in a thread.

    Args:
        origin: As `origin_of` makes it.
        cache: A folder for this repository alone; made when something has to be kept, and worth nothing but time.
        limits: How much is read.
        apart: Folders that are never entered, such as the product's own data.

    Raises:
        NotFound: There is nothing at this place, or no such branch, tag or commit.
        InvalidInput: It cannot be read, or holds too much.
    """
    return FolderSource(origin, cache, limits or Limits(), apart)
