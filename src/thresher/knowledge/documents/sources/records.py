"""The protocol of a source, and its limits.

Invariant: the bytes that a source returns for a path have the blob id that it listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from thresher.core import Settings
from thresher.knowledge.documents.models import Skipped, SourceFile


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How much is read.

    Attributes:
        document_bytes: Most bytes of one file; a larger one is skipped.
        repository_bytes: Most bytes of all files that are not skipped; a larger repository is refused.
        files: Most files that are not skipped; a repository with more is refused.
        seconds: Time limit for listing and fetching.
    """

    document_bytes: int = 20 << 20
    repository_bytes: int = 1 << 30
    files: int = 50_000
    seconds: float = 900.0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The limits in the settings."""
        return cls(
            settings.document_mb << 20, settings.repository_mb << 20, settings.repository_files, settings.source_seconds
        )

    @property
    def scope(self) -> str:
        """The part of the limits on which findings about single files depend."""
        return str(self.document_bytes)


class DocumentSource(Protocol):
    """Files as they were when the source was opened. Every method blocks: call it in a thread, one at a time."""

    @property
    def version(self) -> str:
        """Commit, or a digest of the files."""
        ...

    def files(self) -> list[SourceFile]:
        """The files to index, by path."""
        ...

    def skipped(self) -> list[Skipped]:
        """The files and folders that are not indexed, by path; a folder's path ends with a slash."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a listed file.

        Raises:
            Conflict: It is gone or has changed since it was listed; the next run reads it.
            NotFound: No such file was listed.
        """
        ...

    def close(self) -> None:
        """Release the files; idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
