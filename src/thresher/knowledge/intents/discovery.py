"""Searches places for packs, and leaves out what is broken.

Invariant: one broken pack never stops the rest; the walk is bounded in depth and breadth; the same folder is read once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from thresher.core import InvalidInput
from thresher.knowledge.intents.folders import RULES_BYTES, TEXTS, opened
from thresher.knowledge.intents.installing import BEGIN_FILE, FILES
from thresher.knowledge.intents.models import Found, Origin, Pack, PackProblem
from thresher.knowledge.intents.reader import Reading, read_pack
from thresher.knowledge.intents.sources import Place
from thresher.knowledge.intents.walking import Walk

_TEXT: Final[dict[Origin, int]] = {
    "built-in": 64 << 20, "entry point": 64 << 20, "configured": 64 << 20, "user": 64 << 20, "project": 4 << 20
}  # fmt: skip
"""Octets of text in a place, which bound the scanner's work; anybody may have written a project."""


def discover(places: Iterable[Place], before: Found | None = None) -> Found:
    """Read every pack in some places.

    Args:
        places: As `Sources.places` orders them.
        before: What was found last; a pack of which no octet has changed is not taken apart again.
    """
    known = _known(before or Found())
    packs: dict[Path, Pack] = {}
    problems: list[PackProblem] = []
    for place in places:
        walk, left = Walk(place), _TEXT[place.origin]
        for path in walk.packs():
            if (real := walk.real(path)) is None or real in packs or _is_ours(real):
                continue
            if left < 0:
                problems.append(_too_much(place))
                break
            pack, said = _read(path, walk.label(path), real, place.origin, known)
            problems += said
            if pack is not None:
                packs[real] = pack
                left -= _text_of(pack)
        problems += walk.problems
    return Found(tuple(packs.values()), tuple(problems))


def _read(
    path: Path, label: str, real: Path, origin: Origin, known: dict[tuple[Path, Origin], Reading]
) -> tuple[Pack | None, tuple[PackProblem, ...]]:
    """A pack with its warnings; or none, and what keeps it from being one."""
    try:
        return read_pack(real, origin, label=label, before=known.get((real, origin)))
    except InvalidInput as error:
        return None, (PackProblem(path, error.message, error.hint),)
    except (OSError, RuntimeError, UnicodeError) as error:
        return None, (PackProblem(path, f"It cannot be read: {error}.", "Look at the folder and its rights."),)


def _text_of(pack: Pack) -> int:
    """Octets of its texts that the scanner may have to read."""
    return sum(file.size for file in pack.files if file.path.endswith(TEXTS) and file.size <= RULES_BYTES)


def _too_much(place: Place) -> PackProblem:
    return PackProblem(
        place.path,
        f"It holds more than {_TEXT[place.origin] >> 20} MiB of text.",
        "Packs that come later are left out: remove some, or name them in THRESHER_PACKS.",
    )


def _known(before: Found) -> dict[tuple[Path, Origin], Reading]:
    mended: dict[Path, list[PackProblem]] = {}
    for problem in before.problems:
        mended.setdefault(problem.path, []).append(problem)
    return {(pack.path, pack.origin): (pack, tuple(mended.get(pack.path, ()))) for pack in before.packs}


def _is_ours(path: Path) -> bool:
    """Whether it is the rule that `packs install` wrote for Cursor: who reads it here has done what it asks."""
    if path.name != Path(FILES["cursor"]).name:
        return False
    try:
        with opened(path) as stream:
            return BEGIN_FILE in stream.read(RULES_BYTES)
    except (OSError, InvalidInput):
        return False
