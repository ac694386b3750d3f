"""What a worker process is told when it starts, and what it tells: one JSON object a line, over its pipes.

Invariant: addresses and secrets travel through the pipe alone, never through arguments, which other users can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import SecretStr

from thresher.core import Settings, dumps

DATABASE_LOST: Final = 75
"""Exit code of a worker whose database went away (EX_TEMPFAIL of sysexits.h); its job is not to blame."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a worker must know before its first job.

    Attributes:
        url: Address of the database for the application role.
        settings: Those of the process that started it.
        idle_seconds: How long it stays without work.
    """

    url: str
    settings: Settings
    idle_seconds: float

    def packed(self) -> bytes:
        """One line for the worker."""
        given = {name: _plain(getattr(self.settings, name)) for name in Settings.model_fields}
        return dumps({"url": self.url, "settings": given, "idle_seconds": self.idle_seconds}).encode() + b"\n"

    @classmethod
    def unpacked(cls, line: bytes) -> Start:
        """The reverse of `packed`."""
        told: Mapping[str, Any] = json.loads(line)
        return cls(told["url"], Settings(**told["settings"]), told["idle_seconds"])


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value
