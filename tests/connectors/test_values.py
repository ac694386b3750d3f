"""Values of drivers as JSON: exact, or clipped and said so."""

from __future__ import annotations

import array
import datetime as dt
import hashlib
import json
from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest

from thresher.connectors.values import clock, comparable, digest, duration, iso_text, read_json, to_json

CELL = 2_000
UTC = dt.UTC
EXACT: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (0, 0),
    (2**53 - 1, 9007199254740991),
    (2**53, "9007199254740992"),
    (-(2**63), "-9223372036854775808"),
    (1.1, 1.1),
    (-0.0, -0.0),
    (5e-324, 5e-324),
    (float("nan"), "NaN"),
    (float("-inf"), "-Infinity"),
    (Decimal("1.10"), "1.10"),
    (Decimal("1E+3"), "1000"),
    (Decimal("0E-10"), "0.0000000000"),
    (Decimal("NaN"), "NaN"),
    (Decimal("-Infinity"), "-Infinity"),
    (Decimal("1E+999999"), "1E+999999"),
    ("", ""),
    ("a\x00b", "a\x00b"),
    ("日本", "日本"),
    ("\ud800x", "?x"),
    (dt.date(2024, 2, 29), "2024-02-29"),
    (dt.time(10, 0, 0, 5), "10:00:00.000005"),
    (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05+00:00"),
    (dt.timedelta(days=1, seconds=3661, microseconds=500_000), "P1DT1H1M1.5S"),
    (dt.timedelta(seconds=-90), "PT-1M-30S"),
    (dt.timedelta(0), "PT0S"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (b"abc", {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}),
    (memoryview(b""), {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}),
    ([1, [2, None]], [1, [2, None]]),
    ((Decimal("1.0"), b"x"), ["1.0", digest(b"x")]),
    ({"a": {1: float("inf")}}, {"a": {"1": "Infinity"}}),
    ({dt.date(2024, 1, 1): 1, (1, 2): 2}, {"2024-01-01": 1, "[1, 2]": 2}),
    (array.array("f", [0.5, 1.0]), [0.5, 1.0]),
    (ip_address("10.0.0.1"), "10.0.0.1"),
]


@pytest.mark.parametrize(("value", "expected"), EXACT, ids=[type(value).__name__ for value, _ in EXACT])
def test_a_value_keeps_every_digit(value: object, expected: object) -> None:
    """JSON values are unchanged; a value that JSON or its readers cannot hold becomes a string."""
    plain, clipped = to_json(value, CELL)

    assert (plain, type(plain)) == (expected, type(expected))
    assert not clipped
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_long_text_is_clipped_with_a_mark() -> None:
    """The beginning is kept, and the mark shows the original length."""
    plain, clipped = to_json("x" * 12_345, 10)

    assert plain == "xxxxxxxxxx… [clipped: 12,345 characters]"
    assert clipped


def test_a_number_of_ten_thousand_digits_is_clipped_like_a_text() -> None:
    """Python refuses to write such an integer by itself; the answer still comes."""
    plain, clipped = to_json(10**10_000, 5)

    assert plain == "10000… [clipped: 10,001 characters]"
    assert clipped


def test_a_huge_list_is_not_turned_over_whole() -> None:
    """The work on a cell is bounded by the cell, and what comes out is its beginning."""
    plain, clipped = to_json(list(range(1_000_000)), 20)

    assert plain == "[0, 1, 2, 3, 4, 5, 6… [clipped: 1,000,000 values]"
    assert clipped


def test_a_long_text_inside_a_document_clips_the_document() -> None:
    """A cell is clipped as a whole: a document is never changed and passed off as whole."""
    plain, clipped = to_json({"a": "y" * 100}, 20)

    assert plain.startswith('{"a": "yyyy')
    assert plain.endswith("… [clipped: 1 entries]")
    assert clipped


def test_a_value_nested_a_thousand_times_is_clipped_not_fatal() -> None:
    """Depth costs no stack."""
    value: list[Any] = []
    for _ in range(1_000):
        value = [value]

    plain, clipped = to_json(value, CELL)

    assert isinstance(plain, str)
    assert clipped


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((14, 3, 0), "P1Y2M3D"),
        ((-14, 0, 0), "P-1Y-2M"),
        ((0, 0, Decimal("90000.000001")), "PT25H0.000001S"),
        ((1, -1, Decimal("-0.5")), "P1M-1DT-0.5S"),
        ((0, 0, 0), "PT0S"),
    ],
)
def test_an_interval_keeps_months_days_and_seconds_apart(parts: tuple[int, int, Any], expected: str) -> None:
    """A month is not a fixed number of days, nor a day of hours."""
    assert duration(*parts) == expected


def test_a_span_of_hours_reads_like_the_engine_writes_it() -> None:
    """MySQL's TIME goes beyond a day and below zero."""
    spans = [dt.timedelta(hours=25, minutes=1), -dt.timedelta(minutes=61), dt.timedelta(microseconds=5)]

    assert [clock(span) for span in spans] == ["25:01:00", "-01:01:00", "00:00:00.000005"]


def test_times_that_the_database_wrote_read_as_iso() -> None:
    """Times beyond what Python holds come as text; what ISO cannot say stays as it is."""
    written = ["2024-01-02 03:04:05.123456789+00", "290000-01-01 00:00:00", "10:00:00+02:30", "2024-01-02", "-infinity"]

    assert [iso_text(text) for text in written] == [
        "2024-01-02T03:04:05.123456789+00:00",
        "290000-01-01T00:00:00",
        "10:00:00+02:30",
        "2024-01-02",
        "-infinity",
    ]
    assert iso_text("0044-03-15 00:00:00 (BC)") == "0044-03-15 00:00:00 (BC)"


def test_numbers_inside_a_json_document_keep_their_digits() -> None:
    """A float that cannot hold its text becomes the text."""
    document = read_json('{"a": 1.10, "b": 0.1000000000000000000001, "c": 1e999, "d": NaN}')

    assert document == {"a": 1.1, "b": "0.1000000000000000000001", "c": "1e999", "d": "NaN"}
    assert read_json("{broken") == "{broken"
    assert read_json("[" * 100_000) == "[" * 100_000


def test_values_that_a_join_takes_as_equal_compare_equal() -> None:
    """Types differ between a key and what points to it; values do not."""
    assert {comparable(value) for value in (1, 1.0, Decimal("1.00"), True, "1", "1  ")} == {"1"}
    assert comparable(None) is None
    assert comparable(1.5) == comparable(Decimal("1.50")) == "1.5"
    assert comparable(2**60) == comparable(Decimal(2**60))
    assert comparable(UUID(int=1)) == str(UUID(int=1))
