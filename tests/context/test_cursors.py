"""Cursors belong to one question and its candidates."""

from __future__ import annotations

import pytest

from thresher.context.cursors import Cursors
from thresher.core import InvalidInput, Piece


def pieces(*names: str) -> list[Piece]:
    """Pieces with these names."""
    return [Piece("tools", name, f"text of {name}", "tools", {}, 0.5) for name in names]


def test_a_cursor_survives_a_restart() -> None:
    """Nothing is stored: the same question with the same candidates accepts it."""
    candidates = pieces("a", "b", "c")
    cursor = Cursors.of(["what"], candidates).after(candidates[:1])

    left = Cursors.of(["what"], pieces("a", "b", "c")).left(cursor)

    assert [piece.name for piece in left] == ["b", "c"]


@pytest.mark.parametrize(
    ("question", "names"),
    [(["other"], ["a", "b"]), (["wh", "at"], ["a", "b"]), (["what"], ["b", "a"]), (["what"], ["a"])],
)
def test_a_stale_cursor_is_refused_and_says_what_to_do(question: list[str], names: list[str]) -> None:
    """Another question, or other candidates: the message says which, the hint how to continue."""
    candidates = pieces("a", "b")
    cursor = Cursors.of(["what"], candidates).after(candidates[:1])

    with pytest.raises(InvalidInput, match="another list or question, the content has changed since") as refused:
        Cursors.of(question, pieces(*names)).left(cursor)

    assert "without a cursor" in refused.value.hint


@pytest.mark.parametrize("cursor", ["x", "../../etc", "01.", "0g.123456", "é" * 99, "01.123456", "f" * 65 + ".123456"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    """Anything that we did not write."""
    with pytest.raises(InvalidInput, match="cursor is not valid"):
        Cursors.of(["what"], pieces("a")).left(cursor)


def test_a_cursor_for_more_candidates_than_there_are_is_refused() -> None:
    """A forged one gives an error, not a wrong answer."""
    cursors = Cursors.of(["what"], pieces("a"))
    longer = Cursors(cursors.digest, tuple(pieces(*"abcdefgh")))

    with pytest.raises(InvalidInput, match="changed since"):
        cursors.left(longer.only(longer.candidates[0]))
