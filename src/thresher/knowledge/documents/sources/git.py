"""A commit as a source: read from the object database, without a checkout.

Invariant: listed files and their bytes are those of the commit, whatever happens to the working tree. Objects are read
below the repository's folder by a process that can be killed; its configuration is neither read nor run.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dulwich.objects import Blob

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin, SourceFile
from thresher.knowledge.documents.sources.findings import FindingCache
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import FileSource, FileUnavailable, too_large
from thresher.knowledge.documents.sources.objects import ObjectReader, Oversized
from thresher.knowledge.documents.sources.origins import is_remote
from thresher.knowledge.documents.sources.patterns import PathSelection
from thresher.knowledge.documents.sources.references import is_commit, ref_target, unknown_ref
from thresher.knowledge.documents.sources.remote import fetch_commit, listed_tips
from thresher.knowledge.documents.sources.trees import TreeWalk, commit_of


class GitSource(FileSource):
    """The files of a commit that are worth indexing.

    Args:
        objects: Reads the commit's objects; closed with the source.
        commit: Id of the commit, or of a tag that leads to it; empty if the repository has no commit.
        origin: The origin, for its patterns.
        cache: Folder for findings that are kept between runs.
        limits: How much is read.
        partial: Whether large objects may be missing.

    Raises:
        InvalidInput: The commit is too large.
        KeyError: A tree is missing.
    """

    def __init__(
        self,
        objects: ObjectReader,
        commit: str,
        origin: Origin,
        cache: Path,
        limits: SourceLimits,
        *,
        partial: bool = False,
    ) -> None:
        super().__init__(limits)
        self._objects = objects
        self._partial = partial
        self._version = ""
        if commit:
            self._list(commit, origin, FindingCache(cache / "blobs.json", limits.scope))

    @property
    def version(self) -> str:
        """Id of the commit; empty if there is none."""
        return self._version

    def close(self) -> None:
        """End the process that reads the repository."""
        self._objects.close()

    def _list(self, name: str, origin: Origin, findings: FindingCache) -> None:
        commit = commit_of(self._objects, name)
        self._version = commit.id.decode()
        walk = TreeWalk(self._objects, PathSelection(origin.include, origin.exclude), self._limits)
        for tracked in walk.files(commit):
            if self._accepts(tracked.path, 0):
                self._take(SourceFile(tracked.path, tracked.blob, 0), findings, f"{tracked.blob} {tracked.path}")
        self._skipped += walk.skipped
        findings.save()

    def _bytes(self, file: SourceFile) -> bytes:
        try:
            kind, data = self._objects.read(file.blob, self._limits.document_bytes)
        except Oversized as error:
            raise self._oversized(file.path, error.size) from None
        except KeyError:
            if self._partial:
                raise self._oversized(file.path, 0) from None
            raise FileUnavailable("This clone does not contain it.") from None
        except InvalidInput:
            raise FileUnavailable("Git's copy of it is damaged.") from None
        if kind != Blob.type_num:
            raise FileUnavailable("It is not a file.")
        return data

    def _oversized(self, path: str, size: int) -> FileUnavailable:
        """The reason for a file that is larger than the limit; `size` is 0 if unknown."""
        if size:
            return FileUnavailable(too_large(path, size, self._limits).detail, "too large")
        allowed = self._limits.document_bytes >> 20
        return FileUnavailable(f"It has more than THRESHER_DOCUMENT_MB allows, {allowed} MiB.", "too large")


def open_repository(origin: Origin, cache: Path, limits: SourceLimits) -> GitSource:
    """Open a local repository, or fetch a remote one and open the copy.

    Raises:
        NotFound: There is no such branch, tag or commit, or the repository lacks parts of it.
        NotAllowed: A server requires a sign-in.
        SourceUnavailable: A server cannot be reached, disconnects or takes too long.
        InvalidInput: The repository cannot be read, or is too large.
    """
    remote = is_remote(origin.location)
    if remote:
        copy, commit = fetch_commit(origin, cache, limits)
        objects = ObjectReader(copy.resolve(), origin.location, limits.seconds)
    else:
        objects, commit = open_local(origin, limits)
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


def open_local(origin: Origin, limits: SourceLimits) -> tuple[ObjectReader, str]:
    """Open a local repository and find the commit or tag of an origin; the id is empty if the repository has no commit.

    The caller closes the reader.

    Raises:
        NotFound: There is no such repository, branch, tag or commit.
        InvalidInput: Its objects are elsewhere, or it cannot be read.
    """
    root = Path(origin.location)
    if root.resolve() != root:
        raise InvalidInput(f"A link leads to {str(root)!r}.", hint="Index the folder that it leads to.")
    objects = ObjectReader(root, repr(str(root)), limits.seconds)
    try:
        return objects, _named(objects, origin)
    except BaseException:
        objects.close()
        raise


def _named(objects: ObjectReader, origin: Origin) -> str:
    found = ref_target(origin.ref, objects.refs)
    if found is None and is_commit(origin.ref):
        ids = objects.matching(origin.ref)
        found = ids[0] if len(ids) == 1 else None
    if found is not None and not _contains(objects, found):
        found = None
    if found is None and (origin.ref or objects.refs):
        raise unknown_ref(origin.ref, objects.refs, origin.location)
    return found or ""


def _contains(objects: ObjectReader, name: str) -> bool:
    try:
        objects.read(name, 0)
    except Oversized:
        return True
    except KeyError:
        return False
    return True


def has_moved(origin: Origin, version: str, limits: SourceLimits) -> bool:
    """Whether a repository's ref is at another commit than the one that was indexed; only branches and tags are read.

    Raises:
        ThresherError: The repository cannot be read.
    """
    if is_remote(origin.location):
        tips = set[str]() if is_commit(origin.ref) else listed_tips(origin, limits)
        return bool(tips) and version not in tips
    objects, name = open_local(origin, limits)
    with closing(objects):
        return bool(name) and commit_of(objects, name).id.decode() != version
