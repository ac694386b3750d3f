"""The start message of a worker process, one line of JSON on its standard input.

Invariant: addresses and secrets are sent only through the pipe, never as arguments, which other users can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import SecretStr

from thresher.core import Settings, dumps

DATABASE_LOST: Final = 75
"""Exit code of a worker whose database was lost (EX_TEMPFAIL of sysexits.h); its job is not to blame."""


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """What a worker needs before its first job.

    Attributes:
        url: Address of the database for the application role.
        settings: The settings of the parent process.
        idle_seconds: How long it waits for a next job.
    """

    url: str
    settings: Settings
    idle_seconds: float

    def packed(self) -> bytes:
        """The message as one line."""
        settings = {name: _plain(getattr(self.settings, name)) for name in Settings.model_fields}
        return dumps({"url": self.url, "settings": settings, "idle_seconds": self.idle_seconds}).encode() + b"\n"

    @classmethod
    def unpacked(cls, line: bytes) -> WorkerStart:
        """The reverse of `packed`."""
        message: Mapping[str, Any] = json.loads(line)
        return cls(message["url"], Settings(**message["settings"]), message["idle_seconds"])


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value
