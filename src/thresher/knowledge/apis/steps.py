"""Operations that come before others: who asks for the pictures of a named film must find the film first.

A path such as `/movie/{movie_id}/images` wants an id. Where the query names a thing, by a proper name or in quotation
marks, the operation that finds things of that kind is put behind the first one that needs its id.

Invariant: pure; nothing is taken out of the order, and operations that need no id keep their places among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from thresher.knowledge.apis.heads import Brief
from thresher.knowledge.apis.paths import literals, parameters, squeezed
from thresher.knowledge.apis.shelf import Located

DEPTH: Final = 6
"""Operations that are looked at for what they need."""
_QUOTED: Final = re.compile(r"[\"\u201c\u00ab'][^\"\u201d\u00bb']{2,60}[\"\u201d\u00bb']")
_NAME: Final = re.compile(r"(?<=[a-z,:;] )[A-Z][a-z\u00e0-\u00ff]+(?:['\u2019]s)?\b")
_FINDS: Final = re.compile(r"^(?:search|find|lookup)$", re.I)

Key = tuple[int, str]
"""A provider's id, and the name of a kind of thing."""


def names_a_thing(query: str, known: frozenset[str]) -> bool:
    """Whether a query names one thing: a quotation, or a capitalised word inside a sentence.

    Args:
        query: As asked.
        known: Words in lower case that are no such name, such as those of providers.
    """
    names = (found[0].removesuffix("'s").removesuffix("\u2019s").lower() for found in _NAME.finditer(query))
    return _QUOTED.search(query) is not None or any(name not in known for name in names)


def finders(found: Sequence[Located]) -> Mapping[Key, int]:
    """The operation that finds things of a kind, by provider and kind: place in the sequence.

    It is a GET without an id, under a segment such as `search`, and the kind is the last word of its path.
    """
    places: dict[Key, int] = {}
    for place, one in enumerate(found):
        segments = literals(one.brief.path)
        if one.brief.method != "GET" or parameters(one.brief.path) or len(segments) < 2:
            continue
        if _FINDS.match(segments[0]):
            places.setdefault((one.provider.id, squeezed(segments[-1])), place)
        elif _FINDS.match(segments[-1]):
            places.setdefault((one.provider.id, squeezed(segments[-2])), place)
    return places


def needed(brief: Brief) -> str:
    """The kind of thing whose id a path asks for first; empty for none."""
    before = ""
    for segment in brief.path.split("/"):
        if segment.startswith("{"):
            return squeezed(before)
        before = segment
    return ""


def with_finders(rows: Sequence[int], found: Sequence[Located], known: Mapping[Key, int]) -> list[int]:
    """An order in which what finds a thing stands behind the first of the best that needs its id.

    Args:
        rows: Rows in order, best first.
        found: The operation of each row.
        known: As `finders` gives it.
    """
    order: list[int] = []
    for place, row in enumerate(rows):
        if row not in order:
            order.append(row)
        key = (found[row].provider.id, needed(found[row].brief))
        if place < DEPTH and key in known and known[key] not in order:
            order.append(known[key])
    return list(dict.fromkeys(order))
