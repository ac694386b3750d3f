"""The resources, words and parameters in the path of an operation.

Invariant: pure; any text is a valid path.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_PARAMETER: Final = re.compile(r"\{([^{}]*)\}")
_PREFIX: Final = re.compile(r"(?:apis?|rest|latest|public|v?\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?)", re.I)
"""Segments that say nothing about the resource, since they appear in every path."""
_KNOWN: Final = 16_384


@lru_cache(_KNOWN)
def spaced(name: str) -> str:
    """Split a name into words: `listNamespacedPod` becomes `list Namespaced Pod`, `on-call_page` `on call page`."""
    return " ".join(_PUNCTUATION.sub(" ", _HUMP.sub(" ", name)).split())


@lru_cache(_KNOWN)
def literals(path: str) -> tuple[str, ...]:
    """Return the segments of a path that are neither parameters nor an API-wide prefix, in order."""
    kept = [segment for segment in path.split("/") if segment and "{" not in segment]
    return tuple(segment for segment in kept if not _PREFIX.fullmatch(segment))


@lru_cache(_KNOWN)
def parameters(path: str) -> tuple[str, ...]:
    """Return the names of the path parameters, in order."""
    return tuple(_PARAMETER.findall(path))


@lru_cache(_KNOWN)
def ends_in_parameter(path: str) -> bool:
    """Return whether a path names one thing (`/pets/{id}`) rather than a collection or an action (`/pets`)."""
    return path.rstrip("/").endswith("}")


@lru_cache(_KNOWN)
def singular(word: str) -> str:
    """Return the approximate singular of an English noun, in lower case."""
    word = word.lower()
    if word.endswith("ies") and len(word) > len("series") - 1:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(_KNOWN)
def squeezed(segment: str) -> str:
    """Return a segment as one singular word without punctuation: `dashboard-lists` becomes `dashboardlist`."""
    return singular(_PUNCTUATION.sub("", segment))
