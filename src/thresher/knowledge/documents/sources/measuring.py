"""Counts what a source offers, and refuses a repository that is too large.

Invariant: pure but for the sums it keeps; a refusal names the folders that hold most, and the settings.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Final

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Skipped, SourceFile
from thresher.knowledge.documents.sources.records import Limits

_SHOWN: Final = 3
_DIGITS: Final = 40


class Tally:
    """The files of a source so far.

    Args:
        limits: How much they may be.
    """

    def __init__(self, limits: Limits) -> None:
        self.files: dict[str, SourceFile] = {}
        self._limits = limits
        self._bytes = 0
        self._by_folder: Counter[str] = Counter()

    def add(self, file: SourceFile) -> None:
        """Take a file.

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
            f"The repository holds {what} that can be indexed; so far most lies in {most}.",
            hint=f"Leave folders out with --exclude, choose with --include, or raise {setting}.",
        )


def too_large(path: str, size: int, limits: Limits) -> Skipped:
    """The record of a file that is larger than is read."""
    allowed = _megabytes(limits.document_bytes)
    return Skipped(path, "too large", f"It has {_megabytes(size)}; THRESHER_DOCUMENT_MB allows {allowed}.")


def blob_id(data: bytes) -> str:
    """The id that git gives to a file of these bytes."""
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
