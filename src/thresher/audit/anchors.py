"""Notes of how far each chain has come, in files beside the database.

Invariant: a note only moves on. Who has the database alone cannot take a chain back to an earlier state unseen.
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
    """The last link that was noted: its place, its hash, and the number of its tenant."""

    id: int
    hash: bytes
    tenant: int


class Anchors:
    """The notes of one data folder.

    Args:
        folder: The data folder; None: nothing is noted.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / _FOLDER
        self._failed = False

    def note(self, tenant: Tenant, place: int, digest: bytes) -> None:
        """Note the last link. That it fails is logged once and keeps nobody from working."""
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
        """What was noted; None: nothing, or it cannot be read."""
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
        """By the tenant's name, so that one that was dropped and made anew is known."""
        assert self._folder is not None  # noqa: S101 - asked by both callers
        name = hashlib.sha256(tenant.name.encode()).hexdigest()[:24]
        return self._folder / f"{name}.head"
