"""What a message says that it does not mean.

Invariant: plain text work; what is left over always holds words, or the message is taken as it stands.
"""

from __future__ import annotations


def split_negation(message: str) -> tuple[str, tuple[str, ...]]:
    """A message without what it refuses, and the phrases that it refuses."""
    return message, ()
