"""Looks at plain data as the shared rules do, whose language calls some values true that Python calls false."""

from __future__ import annotations

from typing import cast

from thresher.openapi.records import Json


def stands(value: Json) -> bool:
    """Whether a value counts as given: empty lists and mappings do; null, false, zero and empty text do not."""
    return isinstance(value, dict | list) or bool(value)


def look(value: Json, *keys: str) -> Json:
    """What stands under these keys; None where there is nothing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Json]", value).get(key)
    return value


def mapping_of(value: Json) -> dict[str, Json]:
    """The value where it is a mapping; an empty one else."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def counted(value: Json, most: int) -> int:
    """How many values one holds, itself among them; counting ends above `most`."""
    count = 0
    left = [value]
    while left and count <= most:
        here = left.pop()
        count += 1
        if isinstance(here, dict):
            left += cast("dict[str, Json]", here).values()
        elif isinstance(here, list):
            left += cast("list[Json]", here)
    return count


def text_of(value: Json) -> str:
    """The value where it is text; empty text else."""
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    """The texts of a list."""
    return [each for each in cast("list[Json]", value) if isinstance(each, str)] if isinstance(value, list) else []
