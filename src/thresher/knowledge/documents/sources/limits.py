"""How much of a source is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from thresher.core import Settings


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
