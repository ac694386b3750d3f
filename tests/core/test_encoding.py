"""One JSON encoder for every face."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from thresher.core import Arm, Scored, Why, dumps, plain


class Colour(enum.Enum):
    RED = "red"


class Count(enum.IntEnum):
    ONE = 1


class Page(BaseModel):
    number: Decimal


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("12345678901234567890.10"), "12345678901234567890.10"),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1.5), 90.0),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (b"\x00\xff", "AP8="),
        (memoryview(b"hi"), "aGk="),
        (float("nan"), None),
        (float("-inf"), None),
        (Colour.RED, "red"),
        (Count.ONE, 1),
        (PurePosixPath("a/b"), "a/b"),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, (2,)), [1, [2]]),
        ({Colour.RED: 1, 2: 3}, {"red": 1, "2": 3}),
        (np.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        (Page(number=Decimal("0.1")), {"number": "0.1"}),
    ],
)
def test_each_kind_of_value_has_one_form(value: object, expected: object) -> None:
    """Decimals, dates, UUIDs, bytes, NaN, arrays and models all have a JSON form."""
    encoded = plain(value)

    assert encoded == expected
    assert type(encoded) is type(expected)


def test_frozen_records_become_objects() -> None:
    """A nested record is written field by field."""
    hit = Scored("tool", float("nan"), Why("semantic", Arm(1, 0.5)))

    decoded = json.loads(dumps(hit))

    assert decoded["score"] is None
    assert decoded["why"]["dense"] == {"rank": 1, "score": 0.5}


def test_a_value_without_a_json_form_is_refused_by_type() -> None:
    """The error names the type, not the value."""
    with pytest.raises(TypeError, match="object has no JSON form"):
        dumps({"a": object()})


def test_lone_surrogates_do_not_break_the_output() -> None:
    """Text that cannot be UTF-8 is replaced, since every face sends UTF-8."""
    assert dumps("a\ud800b") == '"a?b"'


@dataclass(frozen=True)
class Pair:
    left: object
    right: object


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.builds(Pair, inner, inner),
    max_leaves=12,
)


@given(values)
def test_whatever_is_encoded_is_valid_json(value: object) -> None:
    """Any composition of known values gives text that a strict parser reads."""
    json.loads(dumps(value), parse_constant=pytest.fail)
