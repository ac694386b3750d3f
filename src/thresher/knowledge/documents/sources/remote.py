"""Fetches one commit of a repository elsewhere into a bare copy, without its history.

Invariant: the copy is worth nothing but time: what is wrong with it is mended by fetching anew. What a server sends is
bounded in bytes and in time.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException, ObjectFormatException
from dulwich.file import FileLocked
from dulwich.objects import ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from thresher.core import InvalidInput, ThresherError
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.apart.packs import TooLarge, check
from thresher.knowledge.documents.sources.deadlines import Deadline
from thresher.knowledge.documents.sources.failures import BREAKS, failure_of
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.references import HEADS, TAGS, is_commit, target, unknown
from thresher.knowledge.documents.sources.transports import client_of
from thresher.knowledge.documents.sources.trees import commit_of
from thresher.store import make_private

_KEPT: Final = Ref(b"refs/heads/kept")
"""The commit of the last fetch: from it, the server knows what need not be sent."""
_NAMED: Final = Ref(b"refs/tags/kept")
"""What the name led to then: that commit, or a tag."""
_PREFIXES: Final = (b"HEAD", b"refs/heads/", b"refs/tags/")
_MOST_PACKS: Final = 25
"""Each fetch that brings something adds one; beyond it, the copy is made anew and leaves behind what nobody needs."""
_DAMAGE: Final = (
    KeyError, ValueError, AssertionError, zlib.error, FileLocked, FileFormatException, ObjectFormatException,
    ApplyDeltaError, ChecksumMismatch, struct.error, EOFError,
)  # fmt: skip
_PACK_FACTOR: Final = 2
"""What is sent may hold pictures and the like, which are not indexed, and may be this much more than what is."""


@dataclass(slots=True)
class _Asked:
    """What a server was asked for: the name, and what its answer made of it."""

    ref: str
    every: bool = False
    kept: str = ""
    refs: Mapping[str, str] = field(default_factory=dict[str, str])
    found: str | None = None

    def wants(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:  # noqa: ARG002 - passed by name
        """The objects to be sent; called with all names that the server has."""
        self.refs = {name.decode("utf-8", "replace"): tip.decode() for name, tip in refs.items()}
        self.found = target(self.ref, self.refs)
        if self.every:
            tips = {tip for name, tip in self.refs.items() if name.startswith((HEADS, TAGS))}
            return [ObjectID(tip.encode()) for tip in sorted(tips)]
        return [ObjectID(self.found.encode())] if self.found and self.found != self.kept else []


def fetched(origin: Origin, cache: Path, limits: Limits) -> tuple[Path, str]:
    """The folder of a bare copy that holds the commit which an origin names, and the commit's id.

    Args:
        origin: Its location is an address.
        cache: Folder for the copy.
        limits: How many bytes, and how long.

    Returns:
        The copy, and an id; empty where the repository is.

    Raises:
        NotFound: There is no such repository, branch, tag or commit.
        NotAllowed: The server wants a sign-in.
        SourceUnavailable: It cannot be reached, breaks off or takes too long.
        InvalidInput: It sends too much.
    """
    place = cache / "git"
    try:
        return place, _brought_up(origin, place, limits)
    except _DAMAGE:
        shutil.rmtree(place, ignore_errors=True)
    try:
        return place, _brought_up(origin, place, limits)
    except _DAMAGE as error:
        raise failure_of(error, origin.location) from error


def _brought_up(origin: Origin, place: Path, limits: Limits) -> str:
    repo = _opened(place)
    try:
        asked = _Asked(origin.ref, kept=repo.refs.as_dict().get(_NAMED, b"").decode())
        with Deadline(limits.seconds) as deadline:
            try:
                _fetch(repo, origin, asked, limits, deadline)
            except ThresherError:
                if not is_commit(origin.ref) or asked.found != origin.ref or deadline.passed:
                    raise
                asked.found = None  # the server gives out the tips of branches alone
            if asked.found is None and is_commit(origin.ref):
                repo.close()
                shutil.rmtree(place, ignore_errors=True)
                repo = _opened(place)
                asked = _Asked(origin.ref, every=True)
                _fetch(repo, origin, asked, limits, deadline)
                asked.found = _in(repo, origin.ref)
        if asked.found is None and (origin.ref or asked.refs):
            raise unknown(origin.ref, asked.refs, origin.location)
        if asked.found:
            repo.refs[_KEPT] = commit_of(repo.object_store, asked.found).id
            repo.refs[_NAMED] = ObjectID(asked.found.encode())
    finally:
        repo.close()
    return asked.found or ""


def _opened(place: Path) -> Repo:
    """The copy, made where there is none or where it has grown old."""
    packs = place / "objects" / "pack"
    for stray in packs.glob("tmp*.pack"):
        stray.unlink(missing_ok=True)
    if len(list(packs.glob("*.pack"))) > _MOST_PACKS or (place.exists() and not (place / "HEAD").exists()):
        shutil.rmtree(place, ignore_errors=True)
    if place.exists():
        return Repo(str(place))
    make_private(place)
    return Repo.init_bare(str(place))


def _fetch(repo: Repo, origin: Origin, asked: _Asked, limits: Limits, deadline: Deadline) -> None:
    """Have the server send what is missing.

    Raises:
        ThresherError: It does not.
    """
    walker = repo.get_graph_walker()
    client, path, talk = client_of(origin.location, deadline)
    with tempfile.TemporaryFile(dir=repo.path) as pack:
        try:
            result = client.fetch_pack(
                path.encode(),
                asked.wants,
                walker,
                _bounded(pack, limits, deadline),
                depth=None if asked.every else 1,
                ref_prefix=_PREFIXES,
                filter_spec=b"blob:limit=%d" % (limits.document_bytes + 1),
            )
        except BREAKS as error:
            raise failure_of(error, origin.location, talk.said() if talk else "", late=deadline.passed) from error
        finally:
            client.close()
            if talk:
                talk.close()
        if pack.tell():
            _check(pack)
            pack.seek(0)
            repo.object_store.add_thin_pack(pack.read, None)
    repo.update_shallow(result.new_shallow, result.new_unshallow)


def _check(pack: IO[bytes]) -> None:
    try:
        check(pack)
    except TooLarge as error:
        raise InvalidInput(
            f"The repository holds a file of {error.args[0] >> 20:,} MiB, which is too large to be fetched.",
            hint="Clone it, and index folders of the clone.",
        ) from None


def _bounded(pack: IO[bytes], limits: Limits, deadline: Deadline) -> Callable[[bytes], int]:
    left = _PACK_FACTOR * limits.repository_bytes

    def write(data: bytes) -> int:
        nonlocal left
        left -= len(data)
        if left < 0:
            raise InvalidInput(
                f"The repository sends more than {_PACK_FACTOR * limits.repository_bytes >> 20:,} MiB.",
                hint="Raise THRESHER_REPOSITORY_MB, or clone it and index folders of the clone.",
            )
        if deadline.passed:
            raise TimeoutError
        return pack.write(data)

    return write


def _in(repo: Repo, ref: str) -> str | None:
    """The only object whose id begins so."""
    found = {name.decode() for name in repo.object_store.iter_prefix(ref.encode())}
    return found.pop() if len(found) == 1 else None
