"""DuckDB types whose values the driver would round: they are read as text in DuckDB's own notation.

Invariant: the result is exact. The driver turns months of an interval into days and infinite dates into the last
date, cuts nanoseconds, and needs a missing library for times with a zone; single floats gain digits they never had.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol, TypeAlias

from thresher.connectors.values import duration, iso_text, read_json

Convert: TypeAlias = Callable[[Any], Any]

_INTERVAL: Final = re.compile(
    r"(?:(-?\d+) years? ?)?(?:(-?\d+) months? ?)?(?:(-?\d+) days? ?)?(?:(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?))?"
)
_TIMES: Final = frozenset(
    {"date", "time", "time_ns", "time with time zone", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
     "timestamp with time zone", "timestamp_tz", "timestamptz", "timetz", "timestamp_tz_ns"}
)  # fmt: skip


class DuckType(Protocol):
    """A type as DuckDB's driver describes it."""

    @property
    def id(self) -> str:
        """Its kind, in lower case."""
        ...

    @property
    def children(self) -> list[tuple[str, Any]]:
        """The types inside it."""
        ...


@dataclass(frozen=True, slots=True)
class ExactConversion:
    """How a column is read exactly.

    Attributes:
        cast: The type to cast the column to.
        convert: Converts the cast value to the exact value.
    """

    cast: str
    convert: Convert


def conversion_of(kind: DuckType) -> ExactConversion | None:
    """How values of a type are read exactly; None if the driver's values are exact."""
    name = str(kind)
    if kind.id in _TIMES:
        return ExactConversion("VARCHAR", iso_text)
    if kind.id == "interval":
        return ExactConversion("VARCHAR", read_interval)
    if kind.id == "float":
        return ExactConversion("VARCHAR", float)
    if name == "JSON":
        return ExactConversion("VARCHAR", read_json)
    if kind.id in ("variant", "tuple"):
        return ExactConversion("JSON", read_json)
    if kind.id == "union":
        return ExactConversion("VARCHAR", str)
    return _of_container(kind)


def read_interval(text: str) -> str:
    """Convert DuckDB's `1 year 2 months -3 days 25:00:00.5` to ISO 8601."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return text
    years, months, days, sign, hours, minutes, seconds = found.groups()
    clock = Decimal(seconds or 0) + 60 * int(minutes or 0) + 3600 * int(hours or 0)
    return duration(12 * int(years or 0) + int(months or 0), int(days or 0), -clock if sign else clock)


def _of_container(kind: DuckType) -> ExactConversion | None:
    if kind.id not in ("list", "array", "struct", "map"):
        return None
    inner = [(name, child) for name, child in kind.children if name != "size"]
    readings = [conversion_of(child) for _, child in inner]
    if not any(readings):
        return None
    casts = [reading.cast if reading else str(child) for reading, (_, child) in zip(readings, inner, strict=True)]
    converts = [_kept(reading.convert) if reading else _same for reading in readings]
    match kind.id:
        case "list":
            return ExactConversion(f"{casts[0]}[]", _each(converts[0]))
        case "array":
            return ExactConversion(f"{casts[0]}[{dict(kind.children)['size']}]", _each(converts[0]))
        case "map":
            return ExactConversion(f"MAP({casts[0]}, {casts[1]})", _entries(converts[0], converts[1]))
        case _:
            fields = [f"{_quoted(name)} {cast}" for (name, _), cast in zip(inner, casts, strict=True)]
            names = [name for name, _ in inner]
            return ExactConversion(f"STRUCT({', '.join(fields)})", _fields(dict(zip(names, converts, strict=True))))


def _same(value: Any) -> Any:
    return value


def _kept(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _fields(converts: dict[str, Convert]) -> Convert:
    return lambda fields: {name: converts.get(name, _same)(value) for name, value in fields.items()}


def _entries(key: Convert, value: Convert) -> Convert:
    """A map arrives as a dictionary, or as two lists under `key` and `value` if its keys are not hashable."""
    keys, values = _each(key), _each(value)

    def convert(entries: dict[Any, Any]) -> dict[Any, Any]:
        if set(entries) == {"key", "value"} and isinstance(entries["key"], list):
            return {"key": keys(entries["key"]), "value": values(entries["value"])}
        return {key(name): value(item) for name, item in entries.items()}

    return convert


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
