"""Shows an answer while it is said: its words on standard output, its steps beside them.

Invariant: what is written ends with a whole line, however the answer ends.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from thresher.cli.output import dim_note, put

_WAITS: Final = "(Waits for your approval: "
"""How an answer ends for clients that show nothing but words; here each call that waits is shown in full."""

_UNSHOWN: Final = ("called", "usage")
"""Steps that are of use to programs alone."""


class Telling:
    """What a person sees of one answer.

    Args:
        apart: Whether another answer stands above it, with nothing between.

    Attributes:
        begun: Whether anything was told.
    """

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self._held = ""
        self._open = False
        self.begun = False

    def tell(self, event: Mapping[str, Any]) -> None:
        """Show what a turn tells."""
        self.begun = True
        if text := event.get("delta"):
            self._say(text)
        elif (step := event.get("step")) and step not in _UNSHOWN and sys.stderr.isatty():
            dim_note(" ".join((step, event.get("detail", ""))).strip())

    def _say(self, text: str) -> None:
        self._release()
        if text.lstrip().startswith(_WAITS):
            self._held = text
        else:
            self._write(text)

    def _release(self) -> None:
        held, self._held = self._held, ""
        if held:
            self._write(held)

    def _write(self, text: str) -> None:
        parting, self._apart = "\n" if self._apart else "", False
        self._open = not text.endswith("\n")
        put(parting + text)

    def end(self, *, waits: bool = False) -> None:
        """Write what is left.

        Args:
            waits: Whether calls wait, which are shown besides.
        """
        if waits:
            self._held = ""
        self._release()
        if self._open:
            self._write("\n")
