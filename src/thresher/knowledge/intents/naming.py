"""Names of packs: 1 to 64 of `a-z0-9-`, made from whatever a foreign file or folder is called.

Invariant: the name of a pack holds no path, no control character and nothing that a URL must escape.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

LONGEST_NAME: Final = 64
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_name(text: str) -> bool:
    """Whether it is a name by the Agent Skills specification."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def name_of(text: str) -> str:
    """The name nearest to a text; the same text always gives the same name.

    `PDF Tools` gives `pdf-tools`; a text without any Latin letter or digit gives `pack-` and a part of its hash.
    """
    plain = unicodedata.normalize("NFKD", _HUMP.sub("-", text)).encode("ascii", "ignore").decode("ascii")
    name = _OTHER.sub("-", plain.lower()).strip("-")[:LONGEST_NAME].rstrip("-")
    return name or f"pack-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
