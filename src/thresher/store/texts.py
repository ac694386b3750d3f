"""What rows may hold of texts that people wrote: messages where the setting says so, and only what can be stored.

Invariant: a secret that is known by its form is masked before a text is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.core import Settings, mask_text

_TEXT = 4_000
"""Characters of a message that are kept: rows wait in memory."""


def message_of(texts: Sequence[str], settings: Settings) -> str | None:
    """What a row holds of the words that were asked: nothing, unless the setting says so; never a secret."""
    if settings.log_text == "off":
        return None
    # Masked before the cut, since half a secret is one still; and only so much, for that is work.
    text = mask_text(clean("\n".join(texts)[: 2 * _TEXT]))
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def clean(text: str) -> str:
    """The text without what PostgreSQL cannot hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
