"""Examples of what a schema asks for: given ones where they hold, else made up from types, formats and bounds.

Invariant: pure; an example is small whatever the schema, cut where a schema holds itself, and checked against the
schema: what does not hold is tried again without the part that is at fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from thresher.openapi.description import Description
from thresher.openapi.example_building import TRIES, WIDE, Builder
from thresher.openapi.plain_schemas import Check, Direction
from thresher.openapi.records import Json

DEPTH: Final = 3
"""Levels of objects that show properties which need not be there."""
_SHOWN: Final = (12, 4, 2)
"""How many such properties an object shows, by its level; below the first level only one that asks for none."""


def example_of(
    description: Description, schema: Json, *, direction: Direction = "request", depth: int = DEPTH, given: bool = True
) -> Json:
    """An example of what a schema asks for; as near as it gets where nothing can hold.

    Args:
        description: Where references lead.
        schema: A schema, or a reference to one.
        direction: A request shows no properties that can only be read, a response none that can only be written.
        depth: Levels of objects that show more than what must be there.
        given: Whether examples in the schemas are used.
    """
    return checked_example(description, schema, direction=direction, depth=depth, given=given)[0]


def checked_example(
    description: Description, schema: Json, *, direction: Direction = "request", depth: int = DEPTH, given: bool = True
) -> tuple[Json, bool]:
    """The same, and whether it holds."""
    check = Check(description, schema, direction)
    made: list[Json] = []
    for levels, shown, offered in ((depth, _SHOWN, given), (depth, WIDE, given), (0, _SHOWN, False)):
        value, holds = _tried(Builder(description, direction, levels, shown, given=offered), schema, check)
        if holds:
            return value, True
        made.append(value)
    return made[0], False


def _tried(builder: Builder, schema: Json, check: Check) -> tuple[Json, bool]:
    """What a builder makes of a schema in some tries, and whether it holds."""
    value: Json = None
    for _ in range(TRIES):
        value = builder.build(schema)
        at = check.fails_at(value)
        if at is None:
            return value, True
        if not builder.mend(at):
            break
    return value, False


def best_example(
    description: Description, schema: Json, given: Json, *, direction: Direction, depth: int = DEPTH
) -> Json:
    """A given example where there is one that holds, else one that is made.

    Args:
        description: Where references lead.
        schema: What is asked for; None where nothing is said of it.
        given: The example that the description gives; None without. Text that holds JSON is read.
        direction: As of `example_of`.
        depth: As of `example_of`.
    """
    if given is None:
        return None if schema is None else example_of(description, schema, direction=direction, depth=depth)
    if schema is None:
        return given
    check = Check(description, schema, direction)
    for candidate in _readings(given):
        if check.fits(candidate):
            return candidate
    return example_of(description, schema, direction=direction, depth=depth)


def _readings(given: Json) -> Iterator[Json]:
    """An example as it stands, and as the JSON that its text holds."""
    yield given
    if isinstance(given, str) and given.lstrip()[:1] in {"{", "["}:
        try:
            yield json.loads(given)
        except (ValueError, RecursionError):
            return
