"""Results of examining files, kept between runs so that unchanged files are not read again.

Invariant: wrong or missing findings cost only time; a file that may have changed within the clock's resolution is not
recorded.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from thresher.core import dumps
from thresher.store import make_private

RULES: Final = 1
"""Raised when files are examined in a new way."""
_GRAIN: Final = 2_000_000_000
"""Nanoseconds within which a file system may give two versions of a file the same time (FAT's 2 s, the coarsest)."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """The result of examining the bytes of a file.

    Attributes:
        blob: Their git blob id.
        size: Number of bytes.
        reason: Why the file is not indexed; empty if it is.
        detail: The reason in a sentence.
    """

    blob: str
    size: int
    reason: str = ""
    detail: str = ""


class FindingCache:
    """Findings by key, in a file.

    Args:
        path: The file; its folder is made when it is written.
        scope: What all findings depend on; findings of another scope are dropped.
    """

    def __init__(self, path: Path, scope: str) -> None:
        self._path = path
        self._scope = f"{RULES} {scope}"
        self._before = self._load()
        self._now: dict[str, FileFinding] = {}

    def recall(self, key: str) -> FileFinding | None:
        """The finding of a key, or None; it is kept for the next run."""
        if (finding := self._now.get(key) or self._before.get(key)) is not None:
            self._now[key] = finding
        return finding

    def keep(self, key: str, finding: FileFinding) -> None:
        """Record a finding."""
        self._now[key] = finding

    def save(self) -> None:
        """Write what was recalled or recorded in this run; if that fails, the next run examines the files again."""
        if self._now == self._before:
            return
        entries = {key: [one.blob, one.size, one.reason, one.detail] for key, one in self._now.items()}
        partial = self._path.with_suffix(f".{os.getpid()}")
        try:
            make_private(self._path.parent)
            partial.write_text(dumps({"scope": self._scope, "found": entries}), encoding="utf-8")
            partial.replace(self._path)
        except OSError:
            partial.unlink(missing_ok=True)

    def _load(self) -> Mapping[str, FileFinding]:
        try:
            content: Any = json.loads(self._path.read_text(encoding="utf-8"))
            if content["scope"] != self._scope:
                return {}
            entries = cast("Mapping[str, tuple[str, int, str, str]]", content["found"])
            found = {key: FileFinding(str(a), int(b), str(c), str(d)) for key, (a, b, c, d) in entries.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}
        return found


def key_of(path: str, status: os.stat_result) -> str:
    """A key that changes with the file; empty if the file may have changed just now without showing it."""
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    if newest > time.time_ns() - _GRAIN:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {path}"
