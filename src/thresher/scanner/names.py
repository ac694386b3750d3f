"""Parameters whose names or preset values do harm without a word of description.

Invariant: a name counts only where it asks for the content of a secret, a value only where it acts unless somebody
looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.commands import shell
from thresher.scanner.lexicon import ADDRESS, words
from thresher.scanner.signs import Said

_PARTS: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_ASKS: Final = words(
    r"""\b(?:contents?|reading|read|dump|value|file)\b.*\b(?:ssh|id\ rsa|private\ key|passwd|shadow|env\ file
      |dotenv|aws\ credentials|mcp\ json|keychain|cookies)\b
    |\b(?:ssh|id\ rsa|private\ key|etc\ passwd|env\ file|dotenv|aws\ credentials|mcp\ json|keychain
    |browser\ cookies)\b.*\b(?:contents?|dump|reading)\b"""
)
_TALK: Final = words(
    r"\b(?:chain\ of\ thought|tool\ call\ history|tools\ list|your\ system\ prompt|hidden\ instructions?)\b"
)
_COPIES: Final = words(r"\b(?:bcc|cc|forward|copy\ to|callback|webhook|collector|exfil|mirror|report\ to|beacon)\b")
_SKIPS: Final = words(
    r"""\b(?:skip|no|disable|bypass|ignore|without|auto)\ (?:\w+\ )?(?:confirm(?:ation)?|verif(?:y|ication)
    |auth(?:entication)?
    |approv(?:e|al)|consent|safety|ssl|tls|certificate)\b"""
)
_ADDRESS: Final = words(ADDRESS)


def names(name: str) -> Iterator[Said]:
    """What a tool's or parameter's name asks for."""
    parts = _PARTS.sub(" ", name).strip()
    if _ASKS.search(parts):
        yield "exfiltration", "danger", "Its name asks for the content of a secret."
    elif _TALK.search(parts):
        yield "exfiltration", "warning", "Its name asks for what only the model knows."


def values(name: str, value: str) -> Iterator[Said]:
    """What a parameter's preset value does."""
    parts = _PARTS.sub(" ", name).strip()
    if value == "true":
        if _SKIPS.search(parts):
            yield "command", "warning", "A safeguard is off unless somebody turns it on."
        return
    if _COPIES.search(parts) and _ADDRESS.search(value) and not re.search(r"example\.|localhost|127\.0\.0\.1", value):
        yield "exfiltration", "warning", "What the tool gets is copied to an address unless somebody changes it."
    for kind, _, _ in shell(value):
        yield kind, "warning", "A shell command is the preset value."
