"""The one error of the readers.

Invariant: it never carries content of the file.
"""

from __future__ import annotations

from thresher.core import InvalidInput


class Unreadable(InvalidInput):
    """A file that no reader makes text of.

    Args:
        reason: As `Skipped` has it: `binary`, `empty`, `too large`, `unknown format` or `unreadable`.
        detail: A sentence for people.
    """

    code = "unreadable"

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail, hint="Leave the file out, or store it in a format that docs name.")
        self.reason = reason
        self.detail = detail
