"""Adds missing examples and repairs invalid ones.

Invariant: pure; every result is validated. A repaired example keeps as much of the original as possible.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias, cast

from thresher.openapi.examples import checked_example
from thresher.openapi.pointers import step
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json
from thresher.openapi.schema_checks import Direction, SchemaCheck
from thresher.openapi.schemas import shape_of

Path: TypeAlias = tuple[str | int, ...]

LARGEST: Final = 4_000
"""Longest example that is added, in characters."""
_TRIES: Final = 40
_LONGEST: Final = 200_000
"""Longest example that is repaired, in characters."""
_ABSENT: Final = object()
_MESSAGE: Final = re.compile(r"messages?$|^(?:detail|errors?|reason|title)$", re.IGNORECASE)


def new_example(description: Description, schema: Json, direction: Direction) -> Json:
    """Return an example of a schema, smaller if it would be long; None if none is valid or it would be empty."""
    for depth in (3, 2, 1, 0):
        made, holds = checked_example(description, schema, direction=direction, depth=depth)
        if not holds or made in (None, "", [], {}):
            return None
        if len(json.dumps(made, ensure_ascii=False)) <= LARGEST:
            return made
    return None


def mended_example(description: Description, schema: Json, value: Json, direction: Direction) -> Json:
    """Return an example repaired only where it is invalid; None if that is not possible.

    Text that holds JSON is parsed, values of a wrong type are converted if the meaning stays, missing parts are added,
    and unusable parts are generated.
    """
    if len(repr(value)) > _LONGEST:
        return None
    check = SchemaCheck(description, schema, direction)
    known = shape_of(description, schema).properties.keys()
    made: Json = None
    for tried in range(_TRIES):
        at = check.fails_at(value)
        if at is None:
            return value
        made = made if tried else checked_example(description, schema, direction=direction)[0]
        better = [each for each in _candidates(value, at, made, known) if _better(check, each, at)][:1]
        if not better:
            return None
        value = better[0]
    return None


def _better(check: SchemaCheck, value: Json, at: Path) -> bool:
    """Return whether a value is valid, or fails only at another place."""
    fails = check.fails_at(value)
    return fails is None or (fails != at and len(fails) <= len(at)) or fails[: len(at)] == at != fails


def _candidates(value: Json, at: Path, made: Json, known: Collection[str]) -> Iterator[Json]:
    """Yield values changed at one place, those that keep the most first.

    Args:
        value: The invalid value.
        at: Where it is invalid.
        made: A valid example.
        known: Property names of the whole.
    """
    there, wished = _at(value, at), _at(made, at)
    for changed in _readings(there):
        yield _with(value, at, changed)
    if isinstance(there, dict) and isinstance(wished, dict):
        said, built = cast("dict[str, Json]", there), cast("dict[str, Json]", wished)
        yield _with(value, at, {**said, **{key: each for key, each in built.items() if key not in said}})
        kept = built.keys() if at else built.keys() | known
        yield _with(value, at, {key: each for key, each in {**built, **said}.items() if key in kept})
    elif isinstance(there, str) and isinstance(wished, dict):
        yield from (_with(value, at, each) for each in _as_message(there, cast("dict[str, Json]", wished)))
    if wished is not _ABSENT and (at or not isinstance(there, dict | list)):
        yield _with(value, at, wished)
    holder: Json = _at(value, at[:-1]) if at else None
    if isinstance(holder, dict):
        others = cast("dict[str, Json]", holder)
        yield _with(value, at[:-1], {key: each for key, each in others.items() if key != at[-1]})


def _readings(there: Json) -> Iterator[Json]:
    """Yield what a value may have been meant to be."""
    if isinstance(there, str):
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(there)
        yield [part.strip() for part in there.split(",")] if "," in there else [there]
    elif isinstance(there, list) and there:
        yield cast("list[Json]", there)[0]
    elif isinstance(there, bool | int | float):
        yield str(there).lower() if isinstance(there, bool) else str(there)
        yield [there]
    elif isinstance(there, dict):
        yield [cast("Json", there)]


def _as_message(text: str, built: Mapping[str, Json]) -> Iterator[Json]:
    """Yield a text as the message of an object that has one."""
    with contextlib.suppress(ValueError, RecursionError):
        text = read if isinstance(read := json.loads(text), str) else text
    for key, each in built.items():
        if _MESSAGE.search(key) and isinstance(each, str | list):
            yield {key: text if isinstance(each, str) else [text]}


def _at(value: Json, path: Path) -> Json:
    """Return the value under a path; `_ABSENT` if there is none."""
    there = True
    for key in path:
        there, value = step(value, str(key))
    return value if there else _ABSENT


def _with(value: Json, path: Path, new: Json) -> Json:
    """Return the value with the one under a path replaced."""
    if not path:
        return new
    copied: Json = value.copy()
    copied[path[0]] = _with(copied[path[0]], path[1:], new)
    return copied
