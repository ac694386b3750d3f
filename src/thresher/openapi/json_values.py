"""Plain data of JSON text, by Python's own reader, within bounds that it does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, cast

from thresher.core import InvalidInput
from thresher.openapi.limits import Limits
from thresher.openapi.records import Json
from thresher.openapi.yaml_values import too_deep

_DIGITS: Final = 400


class JsonBroken(Exception):
    """The text is not JSON.

    Args:
        what: Where and why, in a sentence without its full stop.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def refusal(self) -> InvalidInput:
        """The error for the caller."""
        return InvalidInput(f"{self.what}.", hint="Mend that line; any JSON checker shows it.")


def read_json(text: str, limits: Limits) -> Json:
    """The value of a text.

    Raises:
        JsonBroken: It is not JSON.
        InvalidInput: It is nested too deeply, or has too many values.
    """
    if text.count(",") + text.count("{") + text.count("[") > limits.values:
        raise InvalidInput(
            f"The description has more than {limits.values:,} values.",
            hint="Split it by product or version, and add each part as a version of its own.",
        )
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_fraction, parse_constant=str)
    except json.JSONDecodeError as error:
        raise JsonBroken(
            f"The JSON cannot be read: {error.msg}, at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError as error:
        raise too_deep(limits) from error
    check_depth(value, limits)
    return value


def _whole(digits: str) -> int | str:
    """A whole number; text where it is absurdly long."""
    return int(digits) if len(digits) <= _DIGITS else digits


def _fraction(digits: str) -> float | str:
    """A number with a fraction; text where it is beyond what a double holds, for JSON has no infinity."""
    value = float(digits)
    return digits if value in (float("inf"), float("-inf")) else value


def children_of(value: Json) -> Iterable[Json]:
    """What a list or a mapping holds; nothing for any other value."""
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).values()
    return cast("list[Json]", value) if isinstance(value, list) else ()


def check_depth(value: Json, limits: Limits) -> None:
    """Refuse what is nested too deeply.

    Raises:
        InvalidInput: It is.
    """
    level = [value]
    for _ in range(limits.depth):
        following: list[Json] = []
        for each in level:
            following += [child for child in children_of(each) if isinstance(child, dict | list)]
        if not following:
            return
        level = following
    raise too_deep(limits)
