"""What a query names besides what it is about: providers, HTTP methods, paths and ids of operations.

Invariant: pure; what is detected is soft evidence, but for a method that is typed as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from thresher.knowledge.apis.heads import ProviderHead
from thresher.search import terms

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY")
_WORD: Final = re.compile(r"[^\W_]+")
_TYPED: Final = re.compile(rf"(?<![\w-])({'|'.join(METHODS)})(?![\w-])")
_PATH: Final = re.compile(r"(?:(?<=\s)|^)(?:https?://[^\s/]+)?(/[^\s?#,;\"'<>]+)")
_SEVERAL: Final = re.compile(r"\b(?:all|every|list|which|what|many|each|any)\b", re.I)
_EVERYWHERE: Final = re.compile(
    r"\b(?:all|across|every|any|each|whole|entire|everywhere|anywhere|wide|whatever|cluster)\b", re.I
)
_TOGETHER: Final = re.compile(
    r"\b(?:bulk|batch|at once|in one (?:go|call|request)|many|several|multiple|together|mass|all)\b", re.I
)
_COMMON: Final = frozenset("api apis rest the of platform cloud service services collection reference public".split())  # noqa: SIM905 - a text is easier to read
_LEAST_TITLE_WORD: Final = 4


def named_providers(query: str, providers: Iterable[ProviderHead]) -> tuple[ProviderHead, ...]:
    """The providers that a query names: by name, by another word for them, or by a word of their display name."""
    said = f" {' '.join(_WORD.findall(query.lower()))} "
    return tuple(head for head in providers if any(f" {name} " in said for name in _names(head)))


def _names(head: ProviderHead) -> set[str]:
    whole = {" ".join(_WORD.findall(name.lower())) for name in (head.name, head.display_name, *head.aliases)}
    title = {word for word in _WORD.findall(head.display_name.lower()) if len(word) >= _LEAST_TITLE_WORD}
    return {name for name in whole | (title - _COMMON) if name and name not in _COMMON}


def typed_methods(query: str) -> tuple[str, ...]:
    """HTTP methods that stand in a query in capitals, where it is not all in capitals."""
    found = tuple(dict.fromkeys(_TYPED.findall(query)))
    rest = _TYPED.sub("", _PATH.sub("", query))
    return found if found and (rest != rest.upper() or not rest.strip()) else ()


def typed_path(query: str) -> str:
    """The first path that stands in a query, such as `/pets/{id}`; empty without one."""
    found = _PATH.search(query)
    return found[1].rstrip(").") if found else ""


def asks_for_several(query: str) -> bool:
    """Whether a query asks for a list of things rather than for one."""
    return _SEVERAL.search(query) is not None


def asks_everywhere(query: str) -> bool:
    """Whether a query looks beyond one place: `in all namespaces`."""
    return _EVERYWHERE.search(query) is not None


def asks_together(query: str) -> bool:
    """Whether a query wants something done to many things at once."""
    return _TOGETHER.search(query) is not None


def said_words(query: str) -> Sequence[str]:
    """The words of a query, in lower case."""
    return _WORD.findall(query.lower())


def distinct_terms(text: str) -> frozenset[str]:
    """The terms of a text."""
    return frozenset(terms(text))
