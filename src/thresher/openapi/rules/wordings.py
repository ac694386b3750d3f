"""Words of texts and of names, as rules about wording compare them."""

from __future__ import annotations

import re
from typing import Final

_MARKUP: Final = re.compile(r"<[^<>]{0,200}>|[`*_#|]|\]\([^()\s]{0,400}\)|[\[\]]")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_INITIALS: Final = re.compile(r"\b[A-Z][A-Z0-9]{1,7}s?\b")
_SMALL: Final = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its", "of", "on", "or"),
        *("that", "the", "this", "to", "with", "your"),
    }
)
_KNOWN: Final = frozenset(
    {
        *("AND", "API", "BOTH", "CSV", "DELETE", "DNS", "GET", "HTML", "HTTP", "HTTPS", "ID", "IDs", "IP", "JSON"),
        *("JWT", "MUST", "NOT", "NOTE", "OR", "PATCH", "PDF", "POST", "PUT", "REST", "SAML", "SHOULD", "SQL", "SSH"),
        *("SSL", "SSO", "TCP", "TLS", "UI", "URI", "URIs", "URL", "URLs", "US", "USD", "UTC", "UUID", "UUIDs"),
        *("WARNING", "XML"),
    }
)
"""Initials that stand for themselves."""
LENGTH: Final = 20_000
"""Characters of a text that are looked at."""


def plain(text: str) -> str:
    """A text without markup, on one line."""
    return " ".join(_MARKUP.sub(" ", text[:LENGTH]).split())


def words_of(text: str) -> tuple[str, ...]:
    """Lower-case words in order, names taken apart where their letters change."""
    return tuple(word.lower() for word in _WORD.findall(plain(text)))


def telling(words: tuple[str, ...]) -> frozenset[str]:
    """The words that say something, without plural's `s`."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if word not in _SMALL
    )


def initials_in(text: str) -> tuple[str, ...]:
    """Initials that the text does not write out, each once."""
    found = dict.fromkeys(_INITIALS.findall(plain(text)))
    return tuple(each for each in found if each not in _KNOWN and f"({each})" not in text and f"{each} (" not in text)
