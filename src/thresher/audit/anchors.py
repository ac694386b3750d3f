"""Notes of each chain's last link, in files beside the database.

Invariant: a note only moves forward. Access to the database alone is not enough to reset a chain to an earlier state
unnoticed.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Tenant, event

_logger = logging.getLogger("thresher.audit")

_FOLDER = "audit"
_LENGTH = 160
"""Bytes of a note: it is written in one piece over the former one."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last link that was noted: its position, its hash, and the number of its tenant."""

    id: int
    hash: bytes
    tenant: int


class Anchors:
    """The notes of one data folder.

    Args:
        folder: The data folder; None to note nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / _FOLDER
        self._failed = False

    def note(self, tenant: Tenant, place: int, digest: bytes) -> None:
        """Note the last link. A failure is logged once and stops no one."""
        if self._folder is None:
            return
        text = f"{place} {digest.hex()} {tenant.id}".encode().ljust(_LENGTH - 1) + b"\n"
        try:
            descriptor = self._opened(tenant)
            try:
                os.write(descriptor, text)
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._failed:
                event(_logger, "audit log not anchored", level=logging.WARNING, reason=error.strerror)
            self._failed = True
        else:
            self._failed = False

    def read(self, tenant: Tenant) -> Anchor | None:
        """Return the note; None without one, or if it cannot be read."""
        if self._folder is None:
            return None
        try:
            place, digest, number = self._path(tenant).read_bytes().split()
            return Anchor(int(place), bytes.fromhex(digest.decode()), int(number))
        except (OSError, ValueError):
            return None

    def _opened(self, tenant: Tenant) -> int:
        path = self._path(tenant)
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return os.open(path, flags, 0o600)

    def _path(self, tenant: Tenant) -> Path:
        """Name the file by the tenant's name, so that a tenant that was dropped and created again is recognised."""
        assert self._folder is not None  # noqa: S101 - asked by both callers
        name = hashlib.sha256(tenant.name.encode()).hexdigest()[:24]
        return self._folder / f"{name}.head"
