"""Cursors of documents: the delivered chunks, in digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InvalidInput
from thresher.knowledge.documents.answers import cursors
from thresher.search import Bools

QUESTION = ("manual", "what", "hybrid")


def mask(*runs: tuple[int, int], size: int = 2_000) -> Bools:
    """The delivered chunks."""
    delivered = np.zeros(size, np.bool_)
    for first, end in runs:
        delivered[first:end] = True
    return delivered


@given(st.integers(0, 2**42), st.lists(st.booleans(), min_size=1, max_size=300), st.text(max_size=20))
def test_an_encoded_cursor_is_decoded(document: int, held: list[bool], query: str) -> None:
    """Any chunks of any document; if all were delivered there is no cursor."""
    delivered = np.array(held, np.bool_)

    cursor = cursors.encode(document, delivered, [query])

    if all(held):
        assert cursor == ""
        return
    read = cursors.decode(cursor, [query])
    assert read.document == document
    assert read.mask(len(held)).tolist() == held


def test_a_cursor_is_short() -> None:
    """Eight runs in a document of 2,000 chunks take fewer than 15 tokens, three digits per token."""
    cursor = cursors.encode(1_234, mask(*((place * 240, place * 240 + 2) for place in range(8))), QUESTION)

    assert len(cursor) <= 45


@pytest.mark.parametrize("size", [3_000, 300_000])
def test_a_cursor_of_very_many_runs_is_read_too(size: int) -> None:
    """Beyond the digits that Python turns into one number; a cursor that is too long is refused, not computed."""
    delivered = mask(*((place, place + 1) for place in range(0, size, 2)), size=size)
    cursor = cursors.encode(1, delivered, QUESTION)

    if len(cursor) > cursors.LONGEST:
        with pytest.raises(InvalidInput):
            cursors.decode(cursor, QUESTION)
        return
    assert np.array_equal(cursors.decode(cursor, QUESTION).mask(size), delivered)


@pytest.mark.parametrize(
    "cursor", ["0", "12", "abc", "-5", "9" * 40, "٣", "1" * 100_000, "1_000", "18446744073709551616"]
)
def test_an_invalid_cursor_is_refused(cursor: str) -> None:
    """The hint says what to do."""
    with pytest.raises(InvalidInput) as refused:
        cursors.decode(cursor, QUESTION)

    assert "without a cursor" in refused.value.hint


def test_a_wrong_digit_or_another_question_is_refused() -> None:
    """A model that miscopies a cursor gets an error."""
    cursor = cursors.encode(7, mask((3, 5), (90, 91)), QUESTION)
    digits = [at for at, character in enumerate(cursor) if character != "."]
    wrong = [cursor[:at] + str((int(cursor[at]) + 1) % 10) + cursor[at + 1 :] for at in digits]

    for one, question in [*((each, QUESTION) for each in wrong), (cursor, ("manual", "else", "hybrid"))]:
        with pytest.raises(InvalidInput):
            cursors.decode(one, question)


def test_a_cursor_of_a_longer_document_is_refused() -> None:
    """The chunks that it names must exist."""
    cursor = cursors.encode(7, mask((1_900, 1_950)), QUESTION)

    with pytest.raises(InvalidInput, match="another list or question"):
        cursors.decode(cursor, QUESTION).mask(100)
