"""Cursors: where an answer continues.

There are two kinds. One fetches the rules of a pack in full, and names the pack and its content. The other names the
candidates that were given already, and identifies the question and its candidates. Neither contains a secret or is
signed: a forged cursor grants no extra access. Nothing is stored on this side.

Invariant: pure; a cursor of another question, or of candidates that have changed since, is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thresher.core import InvalidInput, Piece

_DIGEST_CHARACTERS = 10
_CURSOR = re.compile(rf"([0-9a-f]{{{_DIGEST_CHARACTERS}}})\.([0-9a-f]{{1,64}})")
_RULES = re.compile(rf"rules\.([a-z0-9-]{{1,64}})\.([0-9a-f]{{{_DIGEST_CHARACTERS}}})")
_AGAIN = "Call again without cursor, and take the cursors of that answer."


def rules_cursor(pack: str, digest: str) -> str:
    """Return the cursor that fetches the rules of a pack in full.

    Args:
        pack: Its name.
        digest: The digest of its content.
    """
    return f"rules.{pack}.{digest[:_DIGEST_CHARACTERS]}"


def pack_of(cursor: str) -> str:
    """Return the pack whose rules a cursor fetches in full; empty for any other cursor."""
    return match[1] if (match := _RULES.fullmatch(cursor)) else ""


def stale() -> InvalidInput:
    """Return the error for a cursor that does not match the question or the current content."""
    return InvalidInput(
        "The cursor belongs to another question, or the rules, tools or passages have changed since.", hint=_AGAIN
    )


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursors of one question.

    Attributes:
        digest: Identifies the question and its candidates.
        candidates: All of them, in order.
    """

    digest: str
    candidates: tuple[Piece, ...]

    @classmethod
    def of(cls, question: Sequence[str], candidates: Sequence[Piece]) -> Cursors:
        """Return the cursors of a question (its words, in order) with these candidates."""
        whole = hashlib.sha256()
        for text in (
            *question,
            "",
            *(part for piece in candidates for part in (piece.kind, piece.name, piece.content or piece.text)),
        ):
            encoded = text.encode("utf-8", "replace")
            whole.update(len(encoded).to_bytes(8, "big") + encoded)
        return cls(whole.hexdigest()[:_DIGEST_CHARACTERS], tuple(candidates))

    def only(self, piece: Piece) -> str:
        """Return the cursor that fetches just this piece."""
        return self._written(index for index, one in enumerate(self.candidates) if one is not piece)

    def after(self, given: Sequence[Piece]) -> str:
        """Return the cursor that fetches everything except these pieces; empty if nothing is left."""
        held = {id(piece) for piece in given}
        if len(held) >= len(self.candidates):
            return ""
        return self._written(
            index for index, one in enumerate(self.candidates) if id(one) in held or id(one.whole) in held
        )

    def left(self, cursor: str) -> tuple[Piece, ...]:
        """Return the candidates that a cursor fetches; all without one.

        Raises:
            InvalidInput: It is not a cursor, or belongs to another question or to candidates that have changed.
        """
        if not cursor:
            return self.candidates
        if (parts := _CURSOR.fullmatch(cursor)) is None:
            raise InvalidInput("That is no cursor of get_context.", hint=_AGAIN)
        digest, given = parts[1], int(parts[2], 16)
        if digest != self.digest or given >> len(self.candidates):
            raise stale()
        return tuple(piece for index, piece in enumerate(self.candidates) if not given >> index & 1)

    def _written(self, given: Iterable[int]) -> str:
        mask = sum(1 << index for index in given)
        return f"{self.digest}.{mask:x}"
