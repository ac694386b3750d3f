"""The sections of a document: the characters under a heading, or of a function.

Invariant: pure; a section ends where the next one of its level or above begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import NotFound, did_you_mean, nearest
from thresher.knowledge.documents.models import Block

Section: TypeAlias = tuple[int, str, int]
"""Level, title and first character."""

MOST: Final = 20_000
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class CharacterRange:
    """Characters of a document, from `start` up to but not including `end`."""

    start: int
    end: int


def sections_of(blocks: Iterable[Block]) -> list[Section]:
    """The sections of a parsed document, in order; if there are very many, the first of them."""
    named = (block for block in blocks if block.kind in ("heading", "code") and block.title)
    return [(block.level, block.title[:_LONGEST], block.start) for block, _ in zip(named, range(MOST), strict=False)]


def section_of(name: str, sections: Sequence[Section], end: int) -> CharacterRange:
    """The range of a section.

    Args:
        name: Its title, or the last titles of its path separated by ` > `; case is ignored.
        sections: Sections of the document, in order.
        end: End of the document.

    Raises:
        NotFound: There is no such section; the hint offers near ones.
    """
    paths = _paths(sections)
    titles = tuple(_plain(part) for part in name.split(">") if part.strip()) or (_plain(name),)
    for sought in (titles, (_plain(name),)):
        for place, path in enumerate(paths):
            if path[-len(sought) :] == sought:
                return _range(place, sections, end)
    near = nearest(name, dict.fromkeys(title for _, title, _ in sections))
    starting = next((place for place, path in enumerate(paths) if path[-1].startswith(titles[-1])), None)
    if starting is not None and titles[-1]:
        return _range(starting, sections, end)
    hint = did_you_mean(near) or ("Read by lines." if not sections else f"The first is '{sections[0][1]}'.")
    raise NotFound(f"There is no section '{name}'.", hint=hint)


def _range(place: int, sections: Sequence[Section], end: int) -> CharacterRange:
    level, _, start = sections[place]
    after = (begin for other, _, begin in sections[place + 1 :] if other <= level)
    return CharacterRange(start, next(after, end))


def _paths(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    """The titles above each section and its own, normalised."""
    paths: list[tuple[str, ...]] = []
    above: list[tuple[int, str]] = []
    for level, title, _ in sections:
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, _plain(title)))
        paths.append(tuple(name for _, name in above))
    return paths


def _plain(title: str) -> str:
    return " ".join(title.split()).strip("#*`_ ").casefold()
