"""One JSON encoder for every face; the same value gives the same text everywhere."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

_COUNTED = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([,\[{])', re.DOTALL)
"""A string; or a comma between values; or the opening bracket of an array or object."""


def has_more_values(text: bytes | bytearray, most: int) -> bool:
    """Return whether a JSON text has more values than this, without decoding it: commas and brackets are counted."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") < most:  # nearly always
        return False
    counted = (found for found in _COUNTED.finditer(text) if found[1])
    return next(islice(counted, most, None), None) is not None


def plain(value: Any) -> Any:
    """Turn a value into one that JSON can hold.

    Decimals become strings (no digit is lost), dates ISO 8601, UUIDs their text, bytes base64, NaN and
    infinities null, frozen records objects, sets sorted lists.

    Raises:
        TypeError: The value has no JSON form.
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(name): plain(item) for name, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in cast("Iterable[Any]", value)), key=repr)
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("Iterable[Any]", value)]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    match value:
        case enum.Enum():
            return plain(value.value)
        case Decimal():
            return str(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return value.total_seconds()
        case UUID() | PurePath():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
        case _:
            return _record(value)


def _record(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    for method in ("model_dump", "tolist"):  # pydantic models; numpy scalars and arrays
        if callable(convert := getattr(value, method, None)):
            return plain(convert())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key(name: Any) -> str:
    return name if isinstance(name, str) else str(plain(name))


def dumps(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """Encode any value of ours as JSON text (UTF-8 kept as it is, lone surrogates replaced)."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent, sort_keys=sort_keys)
    return text.encode("utf-8", "replace").decode("utf-8")
