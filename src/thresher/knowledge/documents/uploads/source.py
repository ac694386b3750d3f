"""Uploaded files as a source.

Invariant: a file's bytes are those that the database has under its path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from thresher.knowledge.documents.models import SourceFile
from thresher.knowledge.documents.sources.findings import FindingCache
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import FileSource, FileUnavailable, digest_of


class UploadSource(FileSource):
    """The files of a repository of uploads.

    Args:
        files: The files.
        load: Returns the bytes of a file by its path, None if it is gone; blocks.
        cache: Folder for findings that are kept between runs.
        limits: How much is read.

    Raises:
        InvalidInput: They are too large together.
    """

    def __init__(
        self, files: Sequence[SourceFile], load: Callable[[str], bytes | None], cache: Path, limits: SourceLimits
    ) -> None:
        super().__init__(limits)
        self._load = load
        findings = FindingCache(cache / "uploads.json", limits.scope)
        for file in files:
            if self._accepts(file.path, file.size):
                self._take(file, findings, f"{file.blob} {file.path}")
        findings.save()

    @property
    def version(self) -> str:
        """A digest of the files."""
        return digest_of(self._tally.files)

    def close(self) -> None:
        """Nothing is open."""

    def _bytes(self, file: SourceFile) -> bytes:
        if (data := self._load(file.path)) is None:
            raise FileUnavailable("It was removed.")
        return data
