"""Plain data of JSON text, by Python's own reader, within bounds that it does not have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from thresher.core import InvalidInput
from thresher.openapi.limits import Limits, check_depth, too_deep
from thresher.openapi.notes import Notes, doubled
from thresher.openapi.positions import JsonIndex
from thresher.openapi.records import Json

_DIGITS: Final = 400


class JsonBroken(Exception):
    """The text is not JSON.

    Args:
        what: Where and why, in a sentence without its full stop.
        line: From 1.
    """

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line

    def refusal(self) -> InvalidInput:
        """The error for the caller."""
        return InvalidInput(f"{self.what}.", hint="Mend that line; any JSON checker shows it.")


def read_json(text: str, limits: Limits, notes: Notes) -> Json:
    """The value of a text; of keys that stand twice in one mapping, the last counts, and each is noted.

    Raises:
        JsonBroken: It is not JSON.
        InvalidInput: It is nested too deeply.
    """
    twice: list[int] = []

    def gathered(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            twice.append(len(pairs))
        return entries

    try:
        value = json.loads(
            text, object_pairs_hook=gathered, parse_int=_whole, parse_float=_fraction, parse_constant=str
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonBroken(f"The JSON cannot be read: {error.msg}, at {where}", error.lineno) from error
    except RecursionError as error:
        raise too_deep(limits) from error
    check_depth(value, limits)
    if twice:
        for pointer, key, first, last in JsonIndex(text).doubled():
            notes.add("duplicate-key", doubled(key, first, last), pointer)
    return value


def _whole(digits: str) -> int | str:
    """A whole number; text where it is absurdly long."""
    return int(digits) if len(digits) <= _DIGITS else digits


def _fraction(digits: str) -> float | str:
    """A number with a fraction; text where it is beyond what a double holds, for JSON has no infinity."""
    value = float(digits)
    return digits if value in {float("inf"), float("-inf")} else value
