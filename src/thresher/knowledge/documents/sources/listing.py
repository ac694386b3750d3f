"""What every source does with a file: check it, count it, return its bytes.

Invariant: each version of a file is examined once; `read` returns the bytes that were listed. The error for a
repository that is too large names its largest folders and the settings.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.documents.models import Skipped, SourceFile
from thresher.knowledge.documents.sources.exclusion import content_exclusion, name_exclusion
from thresher.knowledge.documents.sources.findings import FileFinding, FindingCache
from thresher.knowledge.documents.sources.limits import SourceLimits


class FileUnavailable(Exception):
    """The bytes of a file cannot be read.

    Args:
        detail: Why, in a sentence.
        reason: A reason of `Skipped`.
    """

    def __init__(self, detail: str, reason: str = "unreadable") -> None:
        super().__init__(detail)
        self.reason = reason


class FileSource(ABC):
    """Files as they were when the source was opened. Every method blocks: call it in a thread, one at a time.

    Args:
        limits: How much is read.
    """

    def __init__(self, limits: SourceLimits) -> None:
        self._limits = limits
        self._skipped: list[Skipped] = []
        self._tally = Tally(limits)

    @property
    @abstractmethod
    def version(self) -> str:
        """Commit, or a digest of the files."""

    def files(self) -> list[SourceFile]:
        """The files to index, by path."""
        return [self._tally.files[path] for path in sorted(self._tally.files)]

    def skipped(self) -> list[Skipped]:
        """The files and folders that are not indexed, by path; a folder's path ends with a slash."""
        return sorted(self._skipped, key=lambda one: one.path)

    def read(self, path: str) -> bytes:
        """The bytes of a listed file.

        Raises:
            Conflict: It is gone or has changed since it was listed; the next run reads it.
            NotFound: No such file was listed.
        """
        if (listed := self._tally.files.get(path)) is None:
            raise NotFound(f"No file {path!r} was listed.")
        try:
            data = self._bytes(listed)
        except (OSError, InvalidInput, FileUnavailable):
            data = b""
        if blob_id(data) != listed.blob:
            raise Conflict(f"The file {path!r} changed while it was indexed.", hint="The next run reads it.")
        return data

    @abstractmethod
    def close(self) -> None:
        """Release the files; idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _bytes(self, file: SourceFile) -> bytes:
        """The current bytes of a file.

        Raises:
            OSError: They cannot be read.
            InvalidInput: It is not a regular file.
            FileUnavailable: Its size has changed, or it is missing.
        """

    def _take(self, file: SourceFile, findings: FindingCache, key: str) -> None:
        """Count a file, or record why it is skipped.

        Args:
            file: The file; its blob id may be missing, and its size too if its bytes must be read to know it.
            findings: Findings of earlier runs.
            key: Key of the file among the findings; empty to record nothing.
        """
        finding = (findings.recall(key) if key else None) or self._examined(file)
        if finding.blob and key:
            findings.keep(key, finding)
        if finding.reason:
            self._skipped.append(Skipped(file.path, finding.reason, finding.detail))
        else:
            self._tally.add(SourceFile(file.path, finding.blob, finding.size))

    def _accepts(self, path: str, size: int) -> bool:
        """Whether the name and size of a file are acceptable; if not, it is recorded as skipped."""
        skipped = name_exclusion(path)
        if skipped is None and size > self._limits.document_bytes:
            skipped = too_large(path, size, self._limits)
        if skipped is not None:
            self._skipped.append(skipped)
        return skipped is None

    def _examined(self, file: SourceFile) -> FileFinding:
        """The result of examining the bytes of a file; without a blob id if they cannot be read."""
        try:
            data = self._bytes(file)
        except OSError as error:
            return FileFinding("", 0, "unreadable", f"{error.strerror or 'It cannot be read'}.")
        except InvalidInput as error:
            return FileFinding("", 0, "unreadable", error.message)
        except FileUnavailable as error:
            return FileFinding("", 0, error.reason, str(error))
        if len(data) > self._limits.document_bytes:
            skipped: Skipped | None = too_large(file.path, len(data), self._limits)
        else:
            skipped = content_exclusion(file.path, data)
        if skipped is None:
            return FileFinding(blob_id(data), len(data))
        return FileFinding(blob_id(data), len(data), skipped.reason, skipped.detail)


_SHOWN: Final = 3
_DIGITS: Final = 40


class Tally:
    """The files of a source so far.

    Args:
        limits: Upper bounds of their number and size.
    """

    def __init__(self, limits: SourceLimits) -> None:
        self.files: dict[str, SourceFile] = {}
        self._limits = limits
        self._bytes = 0
        self._by_folder: Counter[str] = Counter()

    def add(self, file: SourceFile) -> None:
        """Add a file.

        Raises:
            InvalidInput: The repository is too large.
        """
        self.files[file.path] = file
        self._bytes += file.size
        self._by_folder[file.path.partition("/")[0]] += file.size
        if len(self.files) > self._limits.files:
            raise self._refusal(f"more than {self._limits.files:,} files", "THRESHER_REPOSITORY_FILES")
        if self._bytes > self._limits.repository_bytes:
            raise self._refusal(f"more than {_megabytes(self._limits.repository_bytes)}", "THRESHER_REPOSITORY_MB")

    def _refusal(self, what: str, setting: str) -> InvalidInput:
        most = ", ".join(f"{name} ({_megabytes(size)})" for name, size in self._by_folder.most_common(_SHOWN))
        return InvalidInput(
            f"The repository has {what} that can be indexed; the largest folders so far: {most}.",
            hint=f"Exclude folders with --exclude, select with --include, or raise {setting}.",
        )


def too_large(path: str, size: int, limits: SourceLimits) -> Skipped:
    """The record of a file above the size limit."""
    allowed = _megabytes(limits.document_bytes)
    return Skipped(path, "too large", f"It has {_megabytes(size)}; THRESHER_DOCUMENT_MB allows {allowed}.")


def blob_id(data: bytes) -> str:
    """The id that git gives to a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest_of(files: Mapping[str, SourceFile]) -> str:
    """40 hexadecimal digits that change with any path or content."""
    digest = hashlib.sha256()
    for path in sorted(files):
        name = path.encode()
        digest.update(b"%d %b %b\n" % (len(name), name, files[path].blob.encode()))
    return digest.hexdigest()[:_DIGITS]


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB" if size < 10 << 20 else f"{size >> 20:,} MiB"
