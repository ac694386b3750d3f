"""Keeps the last lines that a server wrote beside the protocol: its stderr, and rubbish on its stdout.

Invariant: bounded memory, secrets hidden, and nothing of it reaches our own stdout.
"""

from __future__ import annotations

from collections import deque

from thresher.upstream.masking import Redactor

KEPT_LINES = 200
LINE_CHARS = 500


class ServerLog:
    """The last lines of one server, oldest first."""

    def __init__(self, redact: Redactor) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._redact = redact

    def add(self, line: bytes) -> None:
        """Keep one line; a long one is cut, an empty one ignored."""
        # Redacted before the cut: half a secret is one still.
        text = self._redact(line[: 8 * LINE_CHARS].decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} ...")

    def lines(self) -> tuple[str, ...]:
        """All kept lines."""
        return tuple(self._lines)

    def tail(self, count: int = 5) -> str:
        """The last lines in one text, for an error; empty when there are none."""
        return " | ".join(list(self._lines)[-count:])
