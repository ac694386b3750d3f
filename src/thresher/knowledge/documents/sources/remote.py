"""Fetches one commit of a remote repository into a bare copy, without its history.

Invariant: deleting the copy costs only time: a damaged copy is fetched again. What a server sends is limited in bytes
and in time.
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

from dulwich.client import HTTPProxyUnauthorized, HTTPUnauthorized
from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    GitProtocolError,
    HangupException,
    NotGitRepository,
    ObjectFormatException,
)
from dulwich.file import FileLocked
from dulwich.objects import ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError
from urllib3.exceptions import TimeoutError as UrllibTimeout

from thresher.core import InvalidInput, NotAllowed, NotFound, SourceUnavailable, ThresherError, mask_text, shortened
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.references import HEADS, TAGS, is_commit, ref_target, unknown_ref
from thresher.knowledge.documents.sources.sandbox.packs import ObjectTooLarge, check_pack
from thresher.knowledge.documents.sources.transports import Deadline, client_of
from thresher.knowledge.documents.sources.trees import commit_of
from thresher.store import make_private

_KEPT: Final = Ref(b"refs/heads/kept")
"""The commit of the last fetch, which tells the server what need not be sent."""
_NAMED: Final = Ref(b"refs/tags/kept")
"""What the name led to then: that commit, or a tag."""
_PREFIXES: Final = (b"HEAD", b"refs/heads/", b"refs/tags/")
_MOST_PACKS: Final = 25
"""Each fetch that brings something adds a pack; beyond this number, the copy is made again without unused objects."""
_DAMAGE: Final = (
    KeyError, ValueError, AssertionError, zlib.error, FileLocked, FileFormatException, ObjectFormatException,
    ApplyDeltaError, ChecksumMismatch, struct.error, EOFError,
)  # fmt: skip
_LISTED: Final = 32 << 20
"""Most bytes of a list of branches and tags: some hundred thousand of them."""
_PACK_FACTOR: Final = 2
"""The transfer may include unindexed data, such as pictures, and may be larger by this factor than what is indexed."""


@dataclass(slots=True)
class _FetchRequest:
    """A request to a server: the ref, and what the server's answer made of it."""

    ref: str
    every: bool = False
    kept: str = ""
    refs: Mapping[str, str] = field(default_factory=dict[str, str])
    found: str | None = None

    def wants(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:  # noqa: ARG002 - passed by name
        """The objects to send; called with all refs of the server."""
        self.refs = {name.decode("utf-8", "replace"): tip.decode() for name, tip in refs.items()}
        self.found = ref_target(self.ref, self.refs)
        if self.every:
            tips = {tip for name, tip in self.refs.items() if name.startswith((HEADS, TAGS))}
            return [ObjectID(tip.encode()) for tip in sorted(tips)]
        return [ObjectID(self.found.encode())] if self.found and self.found != self.kept else []


def fetch_commit(origin: Origin, cache: Path, limits: SourceLimits) -> tuple[Path, str]:
    """The folder of a bare copy with the commit that an origin names, and the commit's id.

    Args:
        origin: An origin whose location is an address.
        cache: Folder for the copy.
        limits: Limits of bytes and time.

    Returns:
        The copy, and an id; the id is empty if the repository is.

    Raises:
        NotFound: There is no such repository, branch, tag or commit.
        NotAllowed: The server requires a sign-in.
        SourceUnavailable: The server cannot be reached, disconnects or takes too long.
        InvalidInput: It sends too much.
    """
    copy = cache / "git"
    try:
        return copy, _update(origin, copy, limits)
    except _DAMAGE:
        shutil.rmtree(copy, ignore_errors=True)
    try:
        return copy, _update(origin, copy, limits)
    except _DAMAGE as error:
        raise failure_of(error, origin.location) from error


def listed_tips(origin: Origin, limits: SourceLimits) -> set[str]:
    """What a server says that a ref leads to, without fetching: a commit, or a tag and its commit (`git ls-remote`).

    Args:
        origin: An origin whose location is an address.
        limits: Time limit.

    Raises:
        NotFound: There is no such repository, or it has no such branch or tag.
        NotAllowed: The server requires a sign-in.
        SourceUnavailable: The server cannot be reached, disconnects, takes too long or sends too much.
    """
    with Deadline(limits.seconds) as deadline:
        client, path, ssh = client_of(origin.location, deadline, _LISTED)
        try:
            listed = client.get_refs(path.encode(), ref_prefix=_PREFIXES)
        except FETCH_ERRORS as error:
            raise failure_of(error, origin.location, ssh.last_errors() if ssh else "", late=deadline.passed) from error
        finally:
            client.close()
            if ssh:
                ssh.close()
    refs = {name.decode("utf-8", "replace"): tip.decode() for name, tip in listed.refs.items() if tip}
    found = ref_target(origin.ref, refs)
    if found is None:
        raise unknown_ref(origin.ref, refs, origin.location)
    peeled = (refs.get(f"{name}^{{}}") for name, tip in refs.items() if tip == found)
    return {found, *filter(None, peeled)}


def _update(origin: Origin, copy: Path, limits: SourceLimits) -> str:
    repo = _opened(copy)
    try:
        request = _FetchRequest(origin.ref, kept=repo.refs.as_dict().get(_NAMED, b"").decode())
        with Deadline(limits.seconds) as deadline:
            try:
                _fetch(repo, origin, request, limits, deadline)
            except ThresherError:
                if not is_commit(origin.ref) or request.found != origin.ref or deadline.passed:
                    raise
                request.found = None  # the server serves only the tips of branches
            if request.found is None and is_commit(origin.ref):
                repo.close()
                shutil.rmtree(copy, ignore_errors=True)
                repo = _opened(copy)
                request = _FetchRequest(origin.ref, every=True)
                _fetch(repo, origin, request, limits, deadline)
                request.found = _in(repo, origin.ref)
        if request.found is None and (origin.ref or request.refs):
            raise unknown_ref(origin.ref, request.refs, origin.location)
        if request.found:
            repo.refs[_KEPT] = commit_of(repo.object_store, request.found).id
            repo.refs[_NAMED] = ObjectID(request.found.encode())
    finally:
        repo.close()
    return request.found or ""


def _opened(copy: Path) -> Repo:
    """The copy; made if it does not exist or has too many packs."""
    packs = copy / "objects" / "pack"
    for stray in packs.glob("tmp*.pack"):
        stray.unlink(missing_ok=True)
    if len(list(packs.glob("*.pack"))) > _MOST_PACKS or (copy.exists() and not (copy / "HEAD").exists()):
        shutil.rmtree(copy, ignore_errors=True)
    if copy.exists():
        return Repo(str(copy))
    make_private(copy)
    return Repo.init_bare(str(copy))


def _fetch(repo: Repo, origin: Origin, request: _FetchRequest, limits: SourceLimits, deadline: Deadline) -> None:
    """Have the server send what is missing.

    Raises:
        ThresherError: The fetch fails.
    """
    walker = repo.get_graph_walker()
    client, path, ssh = client_of(origin.location, deadline)
    with tempfile.TemporaryFile(dir=repo.path) as pack:
        try:
            result = client.fetch_pack(
                path.encode(),
                request.wants,
                walker,
                _bounded(pack, limits, deadline),
                depth=None if request.every else 1,
                ref_prefix=_PREFIXES,
                filter_spec=b"blob:limit=%d" % (limits.document_bytes + 1),
            )
        except FETCH_ERRORS as error:
            raise failure_of(error, origin.location, ssh.last_errors() if ssh else "", late=deadline.passed) from error
        finally:
            client.close()
            if ssh:
                ssh.close()
        if pack.tell():
            _check_pack(pack)
            pack.seek(0)
            repo.object_store.add_thin_pack(pack.read, None)
    repo.update_shallow(result.new_shallow, result.new_unshallow)


def _check_pack(pack: IO[bytes]) -> None:
    try:
        check_pack(pack)
    except ObjectTooLarge as error:
        raise InvalidInput(
            f"The repository has a file of {error.args[0] >> 20:,} MiB, which is too large to be fetch_commit.",
            hint="Clone it, and index folders of the clone.",
        ) from None


def _bounded(pack: IO[bytes], limits: SourceLimits, deadline: Deadline) -> Callable[[bytes], int]:
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
    """The only object whose id has this prefix."""
    found = {name.decode() for name in repo.object_store.iter_prefix(ref.encode())}
    return found.pop() if len(found) == 1 else None


FETCH_ERRORS: Final = (
    OSError, HTTPError, GitProtocolError, NotGitRepository, HTTPUnauthorized, HTTPProxyUnauthorized, AssertionError,
    ValueError, KeyError, IndexError,
)  # fmt: skip
"""What a fetch that fails raises; the last ones if the server's answers are malformed."""
_DESCRIPTIVE: Final = (OSError, HTTPError, GitProtocolError, HTTPUnauthorized, HTTPProxyUnauthorized)
"""Errors whose text comes from the system, the network or the server."""
_SHOWN: Final = 300
_SIGN_IN: Final = (
    "Use an ssh address with your key, or let git store the credentials (`git config --global credential.helper "
    "store`), or clone it and index the clone."
)
_DENIED: Final = ("permission denied", "authentication failed", "could not read username", "access denied")
_STRANGER: Final = ("host key verification failed", "no matching host key")
_MISSING: Final = ("not found", "does not exist", "not appear to be a git repository", "no such file", "unable to open")


def failure_of(error: BaseException, location: str, complaint: str = "", *, late: bool = False) -> ThresherError:
    """Our error for one of dulwich, urllib3 or the system.

    The server's words are shortened, masked and on one line; the address is shown as it is stored, without credentials.

    Args:
        error: The error that was raised.
        location: The address.
        complaint: Error output of the ssh program.
        late: Whether the time was up.
    """
    words = _words(error, complaint)
    lowered = words.lower()
    if late or _is_timeout(error):
        return SourceUnavailable(
            f"{location} takes too long.",
            hint="Try again, raise THRESHER_SOURCE_SECONDS, or clone it and index the clone.",
        )
    forbidden = isinstance(error, GitProtocolError) and "http resp 403" in str(error)
    if forbidden or isinstance(error, HTTPUnauthorized) or any(part in lowered for part in _DENIED):
        return NotAllowed(f"{location} requires a sign-in.", hint=_SIGN_IN)
    if any(part in lowered for part in _STRANGER):
        return NotAllowed(f"The host of {location} is not known to ssh.", hint="Connect to it once with ssh.")
    if isinstance(error, NotGitRepository) or any(part in lowered for part in _MISSING):
        return NotFound(
            f"There is no git repository at {location}.",
            hint="Check the address; a private repository may answer like this.",
        )
    if "certificate" in lowered:
        return SourceUnavailable(
            f"The certificate of {location} is not trusted.",
            hint="Set the authority's certificate for git: `git config http.sslCAInfo`.",
        )
    return SourceUnavailable(
        f"{location} cannot be fetched: {words or type(error).__name__}.", hint="Check the address and the network."
    )


def _is_timeout(error: BaseException | None) -> bool:
    while error is not None:
        # urllib3 treats a refused connection and an unknown host name as connect time-outs.
        if isinstance(error, TimeoutError | UrllibTimeout) and not isinstance(error, NewConnectionError):
            return True
        error = error.__cause__
    return False


def _words(error: BaseException, complaint: str) -> str:
    """The reason, as far as it is known, on one line."""
    if isinstance(error, HangupException) and not complaint:
        return "the server hung up"
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, MaxRetryError) and error.reason is not None:
        error = error.reason
    if not complaint and not isinstance(error, _DESCRIPTIVE):
        return "its answer violates git's protocol"  # a parser's error may quote a local file
    text = complaint or str(error).rpartition("): ")[2]
    return shortened(mask_text(" ".join(text.split())), _SHOWN).rstrip(".")
