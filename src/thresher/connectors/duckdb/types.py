"""Types of DuckDB whose values its driver would round: they are read as DuckDB writes them.

Invariant: what comes out is exact. The driver makes months of an interval days, infinite dates the last date, cuts
nanoseconds, and needs a library that is not here for times with a zone; single floats get digits that they never had.
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
    """What DuckDB's driver tells of a type."""

    @property
    def id(self) -> str:
        """What sort it is, lower case."""
        ...

    @property
    def children(self) -> list[tuple[str, Any]]:
        """Types inside of it."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column is read.

    Attributes:
        cast: The type that it is asked for as.
        convert: Makes the exact value of what then comes.
    """

    cast: str
    convert: Convert


def reading_of(kind: DuckType) -> Reading | None:
    """How values of a type are read exactly; None where the driver's are exact."""
    name = str(kind)
    if kind.id in _TIMES:
        return Reading("VARCHAR", iso_text)
    if kind.id == "interval":
        return Reading("VARCHAR", read_interval)
    if kind.id == "float":
        return Reading("VARCHAR", float)
    if name == "JSON":
        return Reading("VARCHAR", read_json)
    if kind.id in ("variant", "tuple"):
        return Reading("JSON", read_json)
    if kind.id == "union":
        return Reading("VARCHAR", str)
    return _of_container(kind)


def read_interval(text: str) -> str:
    """DuckDB's `1 year 2 months -3 days 25:00:00.5` in ISO 8601."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return text
    years, months, days, sign, hours, minutes, seconds = found.groups()
    clock = Decimal(seconds or 0) + 60 * int(minutes or 0) + 3600 * int(hours or 0)
    return duration(12 * int(years or 0) + int(months or 0), int(days or 0), -clock if sign else clock)


def _of_container(kind: DuckType) -> Reading | None:
    if kind.id not in ("list", "array", "struct", "map"):
        return None
    inner = [(name, child) for name, child in kind.children if name != "size"]
    readings = [reading_of(child) for _, child in inner]
    if not any(readings):
        return None
    casts = [reading.cast if reading else str(child) for reading, (_, child) in zip(readings, inner, strict=True)]
    converts = [_kept(reading.convert) if reading else _same for reading in readings]
    match kind.id:
        case "list":
            return Reading(f"{casts[0]}[]", _each(converts[0]))
        case "array":
            return Reading(f"{casts[0]}[{dict(kind.children)['size']}]", _each(converts[0]))
        case "map":
            return Reading(f"MAP({casts[0]}, {casts[1]})", _entries(converts[0], converts[1]))
        case _:
            fields = [f"{_quoted(name)} {cast}" for (name, _), cast in zip(inner, casts, strict=True)]
            names = [name for name, _ in inner]
            return Reading(f"STRUCT({', '.join(fields)})", _fields(dict(zip(names, converts, strict=True))))


def _same(value: Any) -> Any:
    return value


def _kept(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _fields(converts: dict[str, Convert]) -> Convert:
    return lambda fields: {name: converts.get(name, _same)(value) for name, value in fields.items()}


def _entries(key: Convert, value: Convert) -> Convert:
    """A map is a dictionary, or two lists under `key` and `value` where its keys cannot be those of a dictionary."""
    keys, values = _each(key), _each(value)

    def convert(entries: dict[Any, Any]) -> dict[Any, Any]:
        if set(entries) == {"key", "value"} and isinstance(entries["key"], list):
            return {"key": keys(entries["key"]), "value": values(entries["value"])}
        return {key(name): value(item) for name, item in entries.items()}

    return convert


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
