"""A commit as a source: read from the object database, nothing is checked out.

Invariant: what is listed and given out is what the commit holds, whatever happens to the working tree.
"""

from __future__ import annotations

from pathlib import Path

from dulwich.objects import Blob

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Origin, SourceFile
from thresher.knowledge.documents.sources.listing import Listing, Unfit
from thresher.knowledge.documents.sources.measuring import too_large
from thresher.knowledge.documents.sources.memory import Memory
from thresher.knowledge.documents.sources.objects import ObjectReader, Oversized
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.selecting import Selection
from thresher.knowledge.documents.sources.trees import TreeWalk, commit_of


class GitSource(Listing):
    """The files of a commit that are worth indexing.

    Args:
        objects: Hold the commit; closed with the source.
        commit: Id of the commit, or of a tag that leads to it; empty where the repository has none yet.
        origin: Its patterns count.
        cache: Folder for what is remembered between runs.
        limits: How much is read.
        partial: Whether objects may be missing because they are large.

    Raises:
        InvalidInput: It holds too much.
        KeyError: The store lacks a tree.
    """

    def __init__(
        self, objects: ObjectReader, commit: str, origin: Origin, cache: Path, limits: Limits, *, partial: bool = False
    ) -> None:
        super().__init__(limits)
        self._objects = objects
        self._partial = partial
        self._version = ""
        if commit:
            self._list(commit, origin, Memory(cache / "blobs.json", limits.scope))

    @property
    def version(self) -> str:
        """Id of the commit; empty where there is none yet."""
        return self._version

    def close(self) -> None:
        """End the process that reads the repository."""
        self._objects.close()

    def _list(self, name: str, origin: Origin, memory: Memory) -> None:
        commit = commit_of(self._objects, name)
        self._version = commit.id.decode()
        walk = TreeWalk(self._objects, Selection(origin.include, origin.exclude), self._limits)
        for tracked in walk.files(commit):
            if self._passes(tracked.path, 0):
                self._take(SourceFile(tracked.path, tracked.blob, 0), memory, f"{tracked.blob} {tracked.path}")
        self._skipped += walk.skipped
        memory.save()

    def _bytes(self, file: SourceFile) -> bytes:
        try:
            kind, data = self._objects.read(file.blob, self._limits.document_bytes)
        except Oversized as error:
            raise self._oversized(file.path, error.size) from None
        except KeyError:
            if self._partial:
                raise self._oversized(file.path, 0) from None
            raise Unfit("This clone does not hold it.") from None
        except InvalidInput:
            raise Unfit("Git's copy of it is damaged.") from None
        if kind != Blob.type_num:
            raise Unfit("It is no file.")
        return data

    def _oversized(self, path: str, size: int) -> Unfit:
        """The reason of a file that has more bytes than are read; 0 where their number is unknown."""
        if size:
            return Unfit(too_large(path, size, self._limits).detail, "too large")
        allowed = self._limits.document_bytes >> 20
        return Unfit(f"It has more than THRESHER_DOCUMENT_MB allows, {allowed} MiB.", "too large")
