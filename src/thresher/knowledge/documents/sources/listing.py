"""What every source does with a file: judge it, count it, give out its bytes.

Invariant: a file is examined once for each version of its bytes; what is given out is what was listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.documents.models import Skipped, SourceFile
from thresher.knowledge.documents.sources.contents import judged_by_content
from thresher.knowledge.documents.sources.measuring import Tally, blob_id, too_large
from thresher.knowledge.documents.sources.memory import Finding, Memory
from thresher.knowledge.documents.sources.naming import judged_by_name
from thresher.knowledge.documents.sources.records import Limits


class Unfit(Exception):
    """The bytes of a file cannot be had.

    Args:
        detail: Why, in a sentence.
        reason: As of a `Skipped`.
    """

    def __init__(self, detail: str, reason: str = "unreadable") -> None:
        super().__init__(detail)
        self.reason = reason


class Listing(ABC):
    """A source whose files have been listed.

    Args:
        limits: How much is read.
    """

    def __init__(self, limits: Limits) -> None:
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
        """What is not indexed, by path; a folder's path ends with a slash."""
        return sorted(self._skipped, key=lambda one: one.path)

    def read(self, path: str) -> bytes:
        """The bytes of a listed file.

        Raises:
            Conflict: It is gone or has changed since it was listed; the next run takes it.
            NotFound: No such file was listed.
        """
        if (listed := self._tally.files.get(path)) is None:
            raise NotFound(f"No file {path!r} was listed.")
        try:
            data = self._bytes(listed)
        except (OSError, InvalidInput, Unfit):
            data = b""
        if blob_id(data) != listed.blob:
            raise Conflict(f"The file {path!r} changed while it was indexed.", hint="The next run takes it.")
        return data

    @abstractmethod
    def close(self) -> None:
        """Let go of the files; may be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _bytes(self, file: SourceFile) -> bytes:
        """The bytes of a file as they are now.

        Raises:
            OSError: They cannot be read.
            InvalidInput: It is no regular file.
            Unfit: Its size is another one, or it cannot be had.
        """

    def _take(self, file: SourceFile, memory: Memory, key: str) -> None:
        """Count a file, or say why it is skipped.

        Args:
            file: Its blob id may be missing; the size too where its bytes have to be read to know it.
            memory: What is known from former runs.
            key: Of the file in the memory; empty where nothing is remembered.
        """
        finding = (memory.recall(key) if key else None) or self._examined(file)
        if finding.blob and key:
            memory.keep(key, finding)
        if finding.reason:
            self._skipped.append(Skipped(file.path, finding.reason, finding.detail))
        else:
            self._tally.add(SourceFile(file.path, finding.blob, finding.size))

    def _passes(self, path: str, size: int) -> bool:
        """Whether the name and size of a file let it through; else it is skipped."""
        skipped = judged_by_name(path)
        if skipped is None and size > self._limits.document_bytes:
            skipped = too_large(path, size, self._limits)
        if skipped is not None:
            self._skipped.append(skipped)
        return skipped is None

    def _examined(self, file: SourceFile) -> Finding:
        """What the bytes of a file say; without a blob id where they cannot be had."""
        try:
            data = self._bytes(file)
        except OSError as error:
            return Finding("", 0, "unreadable", f"{error.strerror or 'It cannot be read'}.")
        except InvalidInput as error:
            return Finding("", 0, "unreadable", error.message)
        except Unfit as error:
            return Finding("", 0, error.reason, str(error))
        if len(data) > self._limits.document_bytes:
            skipped: Skipped | None = too_large(file.path, len(data), self._limits)
        else:
            skipped = judged_by_content(file.path, data)
        if skipped is None:
            return Finding(blob_id(data), len(data))
        return Finding(blob_id(data), len(data), skipped.reason, skipped.detail)
