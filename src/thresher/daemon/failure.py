"""The one error of the daemon's light half.

Invariant: the standard library only, so that the bridge starts in the time that Python itself takes. For that
reason it stands beside the tree of `thresher.core.errors`; the CLI shows both alike.
"""

from __future__ import annotations


class DaemonFailure(Exception):
    """The daemon cannot be started, reached or used, or it answered with an error.

    Args:
        message: What happened, in one sentence, without secrets.
        hint: What the reader can do about it.
        code: The stable code of the error tree.
        exit_code: What a command ends with.
        trace: The trace id under which the daemon logged it; empty when it logged nothing.
    """

    def __init__(
        self, message: str, *, hint: str = "", code: str = "daemon", exit_code: int = 9, trace: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.exit_code = exit_code
        self.trace = trace

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()
