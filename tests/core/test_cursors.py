"""Cursors of all lists: fields and a check, in characters that models copy cheaply."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher
from thresher.core import CursorCodec, InvalidCursor

POSITIONS: CursorCodec[int] = CursorCodec("positions", int)
ALL: CursorCodec[int, str, bytes, UUID, dt.datetime] = CursorCodec("all", int, str, bytes, UUID, dt.datetime)


@given(
    st.integers(0, 10**15),
    st.text(max_size=30),
    st.binary(max_size=8),
    st.uuids(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_an_encoded_cursor_is_decoded(
    number: int, text: str, octets: bytes, identity: UUID, moment: dt.datetime, question: list[str]
) -> None:
    """Fields of every type; white space around the cursor does not count."""
    fields = (number, text, octets, identity, moment)

    cursor = ALL.encode(*fields, question=question)

    assert ALL.decode(f" {cursor}\n", question) == fields


def test_a_position_takes_few_characters() -> None:
    """Itself, and six digits."""
    assert POSITIONS.encode(20).partition(".")[0] == "20"
    assert len(POSITIONS.encode(20)) == 9


def test_a_cursor_of_another_list_version_or_question_is_refused() -> None:
    """By one error, which says what to do."""
    cursor = POSITIONS.encode(20, question=["pods", "k8s"])
    others = (
        (CursorCodec("places", int), ["pods", "k8s"]),
        (CursorCodec("positions", int, version=2), ["pods", "k8s"]),
        (CursorCodec("positions", int, int), ["pods", "k8s"]),
        (CursorCodec("positions", str), ["pod", "k8s"]),
        (POSITIONS, ["pods"]),
        (POSITIONS, ["podsk", "8s"]),
        (POSITIONS, []),
    )

    for codec, question in others:
        with pytest.raises(InvalidCursor) as refused:
            codec.decode(cursor, question)
        assert (refused.value.code, refused.value.exit_code) == ("invalid_cursor", 2)
        assert "without a cursor" in refused.value.hint


def test_a_wrong_character_is_refused() -> None:
    """Wherever it is; also a missing one, and one more."""
    cursor = ALL.encode(12, "Lager Süd.", b"\x05", UUID(int=7), dt.datetime(2026, 11, 27, tzinfo=dt.UTC))
    wrong = [cursor[:at] + other + cursor[at + 1 :] for at in range(len(cursor)) for other in ("7", "x", ".", "")]

    for one in [*(each for each in wrong if each != cursor), f"0{cursor}", f"{cursor}0"]:
        with pytest.raises(InvalidCursor):
            ALL.decode(one)


@pytest.mark.parametrize("number", ["-5", "+5", "05", "5_0", "٣", " 5", str(10**16), "9" * 5_000])
def test_only_what_is_written_is_read(number: str) -> None:
    """A forged check does not help: numbers have one form, and bounds."""
    forged: CursorCodec[str] = CursorCodec("positions", str)
    check = forged.encode(number).rpartition(".")[2]

    with pytest.raises(InvalidCursor):
        POSITIONS.decode(f"{number}.{check}")


@given(st.text(max_size=50))
def test_any_text_is_refused_with_the_same_error(text: str) -> None:
    """Nothing but the one error."""
    with pytest.raises(InvalidCursor):
        ALL.decode(text)


def test_no_two_lists_share_a_name() -> None:
    """Else a cursor of one would be accepted by the other."""
    sources = (file.read_text() for file in Path(thresher.__path__[0]).rglob("*.py"))
    names = [name for source in sources for name in re.findall(r'CursorCodec\("([^"]+)"', source)]

    assert len(names) > 10
    assert len(set(names)) == len(names)
