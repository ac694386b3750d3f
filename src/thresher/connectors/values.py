"""Converts a driver's values to exact JSON, and clips long ones.

Invariant: no digit is lost and nothing is rounded: a value that JSON or its usual readers cannot hold becomes a string.
A clipped value is marked and counted. `docs/reference/sql-values.md` describes this for users.
"""

from __future__ import annotations

import array
import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

EXACT: Final = 2**53 - 1
"""Readers that store numbers as 64-bit floats lose digits beyond this."""
_STAMP: Final = re.compile(
    r"(?P<date>\d{4,}-\d\d-\d\d)?(?:(?:^|[ T])(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)(?P<zone>Z|[+-]\d\d(?::?\d\d)*)?)?"
)
_SHORT_ZONE: Final = 3
_DEPTH: Final = 60
_LONG_EXPONENT: Final = 400
_DIGITS_OF_INT: Final = 2_000
_SECONDS_OF_DAY: Final = 86_400


class _CellBudget:
    """The characters left for one cell, and whether anything was clipped."""

    __slots__ = ("clipped", "left")

    def __init__(self, cell: int) -> None:
        self.left = cell
        self.clipped = False


def to_json(value: Any, cell: int) -> tuple[Any, bool]:
    """Convert a driver's value to JSON; returns the value and whether it was clipped.

    Args:
        value: The driver's value.
        cell: Maximum characters; a longer value is clipped, and its mark says how long it was.
    """
    if value is None or value is True or value is False:
        return value, False
    if type(value) is str:
        return _text(value, cell)
    if isinstance(value, Mapping | list | tuple | set | frozenset | array.array):
        return _nested(cast("Any", value), cell)
    plain = _scalar(value)
    return _text(plain, cell) if type(plain) is str else (plain, False)


def clip(text: str, cell: int) -> tuple[str, bool]:
    """Clip a text that is too long, and mark how long it was; returns the text and whether it was clipped."""
    if len(text) <= cell:
        return text, False
    return f"{text[:cell]}… [clipped: {len(text):,} characters]", True


def digest(value: bytes | bytearray | memoryview) -> dict[str, Any]:
    """How bytes are shown: their number and SHA-256."""
    return {"bytes": len(memoryview(value).cast("B")), "sha256": hashlib.sha256(value).hexdigest()}


def duration(months: int, days: int, seconds: Decimal | int) -> str:
    """An interval in ISO 8601; months, days and seconds stay separate, because none is a fixed number of another."""
    years, months = divmod(abs(months), 12) if months >= 0 else tuple(-part for part in divmod(-months, 12))
    sign, rest = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    date = "".join(f"{count}{unit}" for count, unit in ((years, "Y"), (months, "M"), (days, "D")) if count)
    fraction = f"{Decimal(rest):f}"
    fraction = fraction.rstrip("0").rstrip(".") if "." in fraction else fraction
    pairs = ((int(hours), "H"), (int(minutes), "M"), (fraction if rest else 0, "S"))
    time = "".join(f"{sign}{count}{unit}" for count, unit in pairs if count)
    return f"P{date}{'T' if time else ''}{time}" if date or time else "PT0S"


def clock(value: dt.timedelta) -> str:
    """A time of day, or a span of hours as MySQL's `TIME` holds it: `-25:10:00.5`."""
    sign, whole = ("-", -value) if value < dt.timedelta(0) else ("", value)
    minutes, seconds = divmod(whole.days * _SECONDS_OF_DAY + whole.seconds, 60)
    fraction = f".{whole.microseconds:06d}" if whole.microseconds else ""
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"


def iso_text(text: str) -> str:
    """Convert a database's notation of a date or time to ISO 8601: `2024-01-02 03:04:05+00` gets a `T` and `+00:00`.

    Values that ISO 8601 cannot express (`infinity`, years BC) keep the database's notation.
    """
    found = _STAMP.fullmatch(text)
    if found is None:
        return text
    date, time, zone = found["date"] or "", found["time"] or "", found["zone"] or ""
    if zone and zone != "Z" and ":" not in zone:
        zone = f"{zone}:00" if len(zone) == _SHORT_ZONE else f"{zone[:3]}:{zone[3:]}"
    return f"{date}{'T' if date and time else ''}{time}{zone}"


def read_json(text: str | bytes) -> Any:
    """Parse a JSON document; numbers that would lose digits become strings, and invalid JSON stays text."""
    try:
        return json.loads(text, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError):
        return text if isinstance(text, str) else text.decode("utf-8", "replace")


def comparable(value: Any) -> str | None:
    """A string that is the same for values that a join treats as equal, whatever their types; None for NULL.

    1, 1.0 and `1.00` give `1`; trailing blanks of a text are ignored, as in `CHAR(n)`.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value.normalize():f}" if abs(value.adjusted()) < _LONG_EXPONENT else str(value)
    plain, _ = to_json(value, _DIGITS_OF_INT)
    return plain.rstrip() if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _text(text: str, cell: int) -> tuple[str, bool]:
    short, clipped = clip(text, cell)
    return (short if short.isascii() else _clean(short)), clipped


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _scalar(value: Any) -> Any:
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    item = getattr(value, "item", None)  # numbers of numpy
    if callable(item) and getattr(value, "shape", None) == ():
        return _scalar(item())
    return str(value)


def _integer(value: int) -> int | str:
    if -EXACT <= value <= EXACT:
        return int(value)
    return str(value) if value.bit_length() < _DIGITS_OF_INT else str(Decimal(value))


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"
    return f"{value:f}" if abs(value.adjusted()) < _LONG_EXPONENT else str(value)


def _span(value: dt.timedelta) -> str:
    micro = (value.days * _SECONDS_OF_DAY + value.seconds) * 1_000_000 + value.microseconds
    seconds, sign = Decimal(abs(micro)) / 1_000_000, -1 if micro < 0 else 1
    days, rest = divmod(seconds, _SECONDS_OF_DAY)
    return duration(0, sign * int(days), sign * rest)


_SCALARS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...]] = (
    (bool, bool),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    ((dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, _span),
    (UUID, str),
    ((bytes, bytearray, memoryview), digest),
    (str, str),
)


def _nested(value: Any, cell: int) -> tuple[Any, bool]:
    room = _CellBudget(cell)
    plain = _inner(value, room, 0)
    written = json.dumps(plain, ensure_ascii=False)
    if not room.clipped and len(written) <= cell:
        return plain, False
    size = f"{len(value):,} {'entries' if isinstance(value, Mapping) else 'values'}"
    return f"{_clean(written[:cell])}… [clipped: {size}]", True


def _inner(value: Any, room: _CellBudget, depth: int) -> Any:
    """Convert a value inside another one within the cell's budget, so that a huge value is not converted whole."""
    if room.left < 0 or depth > _DEPTH:
        room.clipped = True
        return None
    room.left -= 1
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {_key(key): _inner(item, room, depth + 1) for key, item in items if room.left >= 0 or _leave_out(room)}
    if isinstance(value, list | tuple | set | frozenset | array.array):
        elements = cast("Iterable[Any]", value)
        return [_inner(item, room, depth + 1) for item in elements if room.left >= 0 or _leave_out(room)]
    plain, clipped = to_json(value, max(room.left, 0))
    room.clipped = room.clipped or clipped
    room.left -= len(plain) if isinstance(plain, str) else 0
    return plain


def _leave_out(room: _CellBudget) -> bool:
    room.clipped = True
    return False


def _key(key: Any) -> str:
    plain, _ = to_json(key, _DIGITS_OF_INT)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _number(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) and Decimal(repr(value)) == Decimal(text) else text
