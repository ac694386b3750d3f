"""Files that a command is given the text of.

Invariant: what cannot be read is one line with a hint, as every error of a command.
"""

from __future__ import annotations

import sys
from pathlib import Path

from thresher.daemon import DaemonFailure


def text_of(file: Path) -> str:
    """The text of a file; `-` is standard input.

    Raises:
        DaemonFailure: It cannot be read, or is not UTF-8.
    """
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonFailure(
            f"{file} cannot be read: {error}.", hint="Correct the path.", code="invalid_input", exit_code=2
        ) from None
