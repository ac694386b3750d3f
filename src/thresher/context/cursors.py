"""Cursors: where an answer continues.

There are two kinds. One fetches the rules of a pack in full, and names the pack and its content. The other names the
candidates that were given already, and belongs to the question and its candidates.

Invariant: pure; a cursor of another question, or of candidates that have changed since, is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import CursorCodec, InvalidCursor, Piece

_CURSOR: Final[CursorCodec[bytes]] = CursorCodec("get_context", bytes)
"""The given candidates: one bit each, the first one lowest."""
_RULES: Final[CursorCodec[str, str]] = CursorCodec("rules in full", str, str)
"""Name of the pack, and the beginning of the digest of its content."""
_DIGEST_CHARACTERS: Final = 10


def rules_cursor(pack: str, digest: str) -> str:
    """Return the cursor that fetches the rules of a pack in full.

    Args:
        pack: Its name.
        digest: The digest of its content.
    """
    return _RULES.encode(pack, digest[:_DIGEST_CHARACTERS])


def pack_of(cursor: str) -> str:
    """Return the pack whose rules a cursor fetches in full; empty for any other cursor."""
    try:
        return _RULES.decode(cursor)[0]
    except InvalidCursor:
        return ""


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
        return cls(whole.hexdigest(), tuple(candidates))

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
            InvalidCursor: It belongs to another question or to candidates that have changed.
        """
        if not cursor:
            return self.candidates
        given = int.from_bytes(_CURSOR.decode(cursor, [self.digest])[0], "big")
        if given >> len(self.candidates):
            raise InvalidCursor
        return tuple(piece for index, piece in enumerate(self.candidates) if not given >> index & 1)

    def _written(self, given: Iterable[int]) -> str:
        mask = sum(1 << index for index in given)
        return _CURSOR.encode(mask.to_bytes(max(1, (mask.bit_length() + 7) // 8), "big"), question=[self.digest])
