"""Writes who asks, for the server's own view of its sessions.

Invariant: what comes from outside is cut down to letters that mean nothing anywhere: no quote, no comment, no control
character gets into a server's setting, or into a log that somebody reads in a terminal.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.connectors.records import Tag

PROGRAM: Final = "thresher"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._:@+-]+")
_DASHES: Final = re.compile(r"-{2,}")


def cleaned(text: str, limit: int) -> str:
    """The text with runs of anything else as one `_`, at most `limit` characters; `--` begins a comment, so `-`."""
    return _DASHES.sub("-", _UNSAFE.sub("_", text)).strip("_")[:limit]


def session_name(tag: Tag, limit: int) -> str:
    """`thresher <client> <thread> #<audit id>` in at most `limit` ASCII characters; the id is never cut."""
    end = f" #{tag.audit_id}"
    room = limit - len(PROGRAM) - len(end) - 2
    client = cleaned(tag.client, room // 2)
    thread = cleaned(tag.thread, room - len(client))
    return " ".join(part for part in (PROGRAM, client, thread) if part) + end
