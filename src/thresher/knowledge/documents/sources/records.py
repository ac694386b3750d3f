"""What a source is, and how much of one is read.

Invariant: the bytes that a source gives out under a path have the blob id that it listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from thresher.core import Settings
from thresher.knowledge.documents.models import Skipped, SourceFile


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read.

    Attributes:
        document_bytes: Of one file; a larger one is skipped.
        repository_bytes: Of all files that are not skipped; a repository with more is refused.
        files: How many that are not skipped; a repository with more is refused.
        seconds: For listing, fetching included.
    """

    document_bytes: int = 20 << 20
    repository_bytes: int = 1 << 30
    files: int = 50_000
    seconds: float = 900.0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The limits that a person has set."""
        return cls(
            settings.document_mb << 20, settings.repository_mb << 20, settings.repository_files, settings.source_seconds
        )

    @property
    def scope(self) -> str:
        """What changes with what is found out about single files."""
        return str(self.document_bytes)


class Source(Protocol):
    """Files as they stood when the source was opened. Every method blocks: call it in a thread, one at a time."""

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
            Conflict: It is gone or has changed since it was listed; the next run takes it.
            NotFound: No such file was listed.
        """
        ...

    def close(self) -> None:
        """Let go of the files; may be called again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
