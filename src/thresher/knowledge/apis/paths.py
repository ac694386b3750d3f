"""What a path says: its resources, the words of its segments, and what it asks to be told.

Invariant: pure; any text is a path.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_PARAMETER: Final = re.compile(r"\{([^{}]*)\}")
_PREFIX: Final = re.compile(r"(?:apis?|rest|latest|public|v?\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?)", re.I)
"""Segments that say nothing of what is reached: they stand in every path."""
_KNOWN: Final = 16_384


@lru_cache(_KNOWN)
def spaced(name: str) -> str:
    """A name as words: `listNamespacedPod` becomes `list Namespaced Pod`, `on-call_page` becomes `on call page`."""
    return " ".join(_PUNCTUATION.sub(" ", _HUMP.sub(" ", name)).split())


@lru_cache(_KNOWN)
def literals(path: str) -> tuple[str, ...]:
    """The segments of a path that are no parameter and no prefix of the whole API, in order."""
    kept = [segment for segment in path.split("/") if segment and "{" not in segment]
    return tuple(segment for segment in kept if not _PREFIX.fullmatch(segment))


@lru_cache(_KNOWN)
def parameters(path: str) -> tuple[str, ...]:
    """The names of what a path asks to be told, in order."""
    return tuple(_PARAMETER.findall(path))


@lru_cache(_KNOWN)
def ends_in_parameter(path: str) -> bool:
    """Whether a path names one thing (`/pets/{id}`) rather than a collection or an action (`/pets`)."""
    return path.rstrip("/").endswith("}")


@lru_cache(_KNOWN)
def singular(word: str) -> str:
    """An English noun in lower case without the ending of its plural, roughly."""
    word = word.lower()
    if word.endswith("ies") and len(word) > len("series") - 1:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(_KNOWN)
def squeezed(segment: str) -> str:
    """A segment as one singular word without punctuation: `dashboard-lists` becomes `dashboardlist`."""
    return singular(_PUNCTUATION.sub("", segment))
