"""What an upload holds: one file, or the files of an archive, checked before anything of it is stored.

Invariant: pure; what is unpacked is bounded in bytes, files and depth before it is read, whatever an archive says of
itself. An archive with a link, or with a path that leads outside, is refused as a whole.
"""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from thresher.core import InvalidInput, one_line
from thresher.knowledge.documents.models import Skipped
from thresher.knowledge.documents.sources.exclusion import content_exclusion, decoded_path, name_exclusion
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import blob_id, too_large

LARGEST: Final = 11 << 20
"""Most bytes of an upload: in base64 it fits into a request of the command line."""
UNPACKED: Final = 64 << 20
"""Most bytes of all files of an archive."""
MOST_FILES: Final = 2_000
"""Most entries of an archive."""
DEEPEST: Final = 20
"""Most folders above a file."""
_TAR: Final = (".tar", ".tar.gz", ".tgz")
_ENDINGS: Final = (".zip", *_TAR)
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE: Final = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, LookupError, OverflowError,
    RuntimeError,  # of which one is a chain of headers that is too deep
)  # fmt: skip
_SIGNATURE: Final = b"PK\x01\x02"
"""Begins an entry in the directory of a zip archive, and so in those of the documents that it holds unpacked."""
_MOST_SIGNATURES: Final = 16 * MOST_FILES
_TAR_BLOCKS: Final = 2 * 512 * MOST_FILES + 10_240
"""Bytes of a tar file beside those of its files: a header and padding for each."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file to store.

    Attributes:
        path: Path inside the repository.
        blob: Git blob id of its bytes.
        data: Its bytes.
    """

    path: str
    blob: str
    data: bytes


def bytes_of(content: str, encoding: str) -> bytes:
    """The bytes of an upload as a program sends them: `text`, or `base64`.

    Raises:
        InvalidInput: It is not base64.
    """
    if encoding == "text":
        return content.encode("utf-8", "replace")
    try:
        return b64decode(content, validate=True)
    except ValueError:
        raise InvalidInput("The content is not base64.", hint="Send text with encoding: text.") from None


def is_archive(path: str) -> bool:
    """Whether the name of an upload is that of an archive."""
    return path.lower().endswith(_ENDINGS)


def files_of(path: str, data: bytes, limits: SourceLimits) -> tuple[list[UploadedFile], list[Skipped]]:
    """The files of an upload that can be indexed, and of an archive those that cannot, with the reason.

    Args:
        path: Path of the file, or name of the archive; its files keep their own paths.
        data: Its bytes.
        limits: How large a file may be.

    Raises:
        InvalidInput: The path is not valid, the upload is too large, the file cannot be indexed, or the archive is
            damaged, has links or leads outside.
    """
    checked_path(path)
    if len(data) > LARGEST:
        hint = "Upload it in parts, or index the folder that holds it."
        raise InvalidInput(f"An upload has up to {LARGEST >> 20} MiB.", hint=hint)
    if not is_archive(path):
        if (refused := _exclusion(path, data, limits)) is not None:
            raise InvalidInput(f"{path} cannot be indexed ({refused.reason}). {refused.detail}", hint=_FORMATS)
        return [UploadedFile(path, blob_id(data), data)], []
    found: dict[str, UploadedFile] = {}
    skipped: dict[str, Skipped] = {}
    entries = _zipped if path.lower().endswith(".zip") else _tarred
    try:
        for name, content in entries(data):
            found.pop(name, None)
            if (refused := _exclusion(name, content, limits)) is not None:
                skipped[name] = refused
            else:
                found[name] = UploadedFile(name, blob_id(content), content)
    except _DAMAGE:
        raise InvalidInput(f"{path} is not a sound archive.", hint=_ARCHIVES) from None
    if not found:
        raise InvalidInput(f"{path} holds no file that can be indexed.", hint=_FORMATS)
    return sorted(found.values(), key=lambda one: one.path), sorted(skipped.values(), key=lambda one: one.path)


def checked_path(path: str) -> str:
    """A path inside a repository.

    Raises:
        InvalidInput: It is absolute, has steps such as `..`, or cannot be shown on one line.
    """
    sound = decoded_path(path.encode("utf-8", "surrogatepass")) is not None and "\\" not in path
    if not sound or path.count("/") >= DEEPEST or (path[1:2] == ":" and path[:1].isalpha()):
        raise InvalidInput(
            f"{one_line(path, 80)!r} is not a path inside a repository.",
            hint=f"Write it as guides/start.md: relative, with /, without .., at most {DEEPEST} folders deep.",
        )
    return path


_FORMATS: Final = "Text, Markdown, reStructuredText, HTML, PDF, DOCX, notebooks and source code can be indexed."
_ARCHIVES: Final = "Send .zip, .tar, .tar.gz or .tgz with plain files, or the files one by one."


def _exclusion(path: str, data: bytes, limits: SourceLimits) -> Skipped | None:
    if len(data) > limits.document_bytes:
        return too_large(path, len(data), limits)
    return name_exclusion(path) or content_exclusion(path, data)


def _refuse(name: str, what: str) -> NoReturn:
    raise InvalidInput(f"The archive is refused: {one_line(name, 80)!r} {what}.", hint=_ARCHIVES)


def _too_many() -> InvalidInput:
    return InvalidInput(f"An archive has up to {MOST_FILES:,} entries.", hint="Send it in parts.")


class _Left:
    """How much may still be unpacked."""

    def __init__(self) -> None:
        self._bytes, self._files = UNPACKED, MOST_FILES

    def enter(self, name: str, *, folder: bool) -> str:
        """Count an entry; return its path."""
        self._files -= 1
        if self._files < 0:
            raise _too_many()
        path = name.removeprefix("./").rstrip("/")
        if not folder or path not in ("", "."):
            checked_path(path)
        return path

    def take(self, size: int) -> None:
        """Count bytes."""
        self._bytes -= size
        if self._bytes < 0:
            raise InvalidInput(f"The files of an archive have up to {UNPACKED >> 20} MiB.", hint="Send it in parts.")

    @property
    def most(self) -> int:
        """Bytes that may be read: one more than may be taken."""
        return self._bytes + 1


def _zipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.count(_SIGNATURE) > _MOST_SIGNATURES:  # the directory would be read whole
        raise _too_many()
    left = _Left()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            path = left.enter(info.filename, folder=info.is_dir())
            mode = info.external_attr >> 16
            if stat.S_ISLNK(mode) or (stat.S_IFMT(mode) and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)):
                _refuse(info.filename, "is a link or a device")
            if info.is_dir():
                continue
            if info.flag_bits & 1 or info.compress_type not in _METHODS:
                _refuse(info.filename, "is encrypted, or packed in a way that is not read")
            with archive.open(info) as stream:
                content = stream.read(left.most)
            left.take(len(content))
            yield path, content


def _tarred(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            data = stream.read(UNPACKED + _TAR_BLOCKS + 1)
        if len(data) > UNPACKED + _TAR_BLOCKS:
            raise InvalidInput(f"The files of an archive have up to {UNPACKED >> 20} MiB.", hint="Send it in parts.")
    left = _Left()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            path = left.enter(member.name, folder=member.isdir())
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                _refuse(member.name, "is a link, a device or sparse")
            left.take(member.size)
            stream = archive.extractfile(member)
            content = stream.read() if stream is not None else b""
            if len(content) != member.size:
                raise EOFError
            yield path, content


def total_of(files: Sequence[UploadedFile]) -> int:
    """Bytes of some files."""
    return sum(len(one.data) for one in files)
