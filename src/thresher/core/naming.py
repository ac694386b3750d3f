"""Names that people give to what they add.

Invariant: pure; a name that passes can stand in a command, an address and a message as it is.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.core.errors import InvalidInput

_NAME: Final = re.compile(r"[^\W_][\w.-]{0,62}")


def checked_name(name: str, what: str) -> str:
    """A name that a thing may have.

    Args:
        name: As somebody wrote it.
        what: The thing with its article, such as `a connection`.

    Raises:
        InvalidInput: It is none.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"'{name[:80]}' is no name for {what}.",
            hint="Use up to 63 letters, digits, hyphens, dots and underscores, beginning with a letter or digit.",
        )
    return name
