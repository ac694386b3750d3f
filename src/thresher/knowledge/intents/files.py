"""Gives out a file of a pack, exactly as it was when the pack was read.

Invariant: what is given has the hash that was recorded, and so the content that was scanned and approved; a file that
has changed since is refused.
"""

from __future__ import annotations

import hashlib

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.intents.folders import opened
from thresher.knowledge.intents.models import Pack


def file_of(pack: Pack, path: str) -> bytes:
    """The octets of one of a pack's files.

    Args:
        pack: The pack.
        path: As in `pack.files`: inside the folder, slashes forward.

    Raises:
        NotFound: The pack has no such file, or it has gone.
        Conflict: It has changed since the pack was read.
    """
    file = next((file for file in pack.files if file.path == path), None)
    if file is None:
        raise NotFound(f"Pack '{pack.name}' has no file '{path[:200]}'.", hint="Its SKILL.md names those it has.")
    place = pack.path if pack.path.name == path and pack.form in ("cursor", "copilot") else pack.path / path
    try:
        real = place.resolve(strict=True)
        if not real.is_relative_to(pack.path):
            raise NotFound(f"'{path}' of pack '{pack.name}' has gone.")
        with opened(real) as stream:
            octets = stream.read(file.size + 1)
    except (OSError, RuntimeError, InvalidInput):
        raise NotFound(f"'{path}' of pack '{pack.name}' has gone or cannot be read.") from None
    if hashlib.sha256(octets).hexdigest() != file.sha256:
        raise Conflict(
            f"'{path}' of pack '{pack.name}' has changed since the pack was read.", hint="Try again in a few seconds."
        )
    return octets
