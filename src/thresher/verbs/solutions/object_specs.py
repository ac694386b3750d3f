"""Makes records of the arguments of relations and value lists, and finds columns that are not given.

Invariant: an argument that is None stays as it is. Columns are looked for only where a relation is to be made; what was
found, and why, is in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thresher.core import InvalidInput
from thresher.knowledge.solutions import (
    RelationAnswer,
    RelationChanges,
    RelationSpec,
    ValueListAnswer,
    ValueListChanges,
    ValueListSpec,
)
from thresher.servoy import CustomValue, RelationItem, datasource
from thresher.verbs.request import Request
from thresher.verbs.solutions.relation_columns import infer_columns
from thresher.verbs.solutions.relations import RelationProperties
from thresher.verbs.solutions.value_lists import ValueListProperties

_COLUMNS = {"display_column": "display", "return_column": "returns"}
"""Arguments that take one column or several, with the names that records have for them."""


async def open_relation(request: Request, properties: RelationProperties, **named: Any) -> RelationAnswer:
    """Show a relation, or make it; columns that are not given are inferred from keys, or what looks like one.

    Args:
        request: For whom.
        properties: As the verb takes them.
        named: `name`, `solution` and `confirm`.

    Raises:
        InvalidInput: Something is missing, or two ways to relate the tables are as good: the hint asks.
    """
    solutions = request.services.solutions
    wish = RelationSpec(**named, **_relation(properties))
    if wish.items is None and wish.primary_datasource and wish.foreign_datasource:
        if (shown := await solutions.find_relation(request.caller, wish)) is not None:
            return shown
        primary, foreign = datasource(wish.primary_datasource), datasource(wish.foreign_datasource)
        found = await infer_columns(request.services, request.caller, primary, foreign)
        if not found.items:
            raise InvalidInput(found.question, hint="Give items, or primary_column and foreign_column.")
        wish = replace(wish, items=found.items, reason=found.reason, evidence=found.evidence)
    return await solutions.open_relation(request.caller, wish)


async def update_relation(request: Request, properties: RelationProperties, **named: Any) -> RelationAnswer:
    """Change a relation; arguments as of `open_relation`."""
    changes = RelationChanges(**_relation(properties))
    return await request.services.solutions.update_relation(request.caller, changes=changes, **_one(named))


async def open_value_list(request: Request, properties: ValueListProperties, **named: Any) -> ValueListAnswer:
    """Show a value list, or make it; arguments as of `open_relation`."""
    wish = ValueListSpec(**named, **_value_list(properties))
    return await request.services.solutions.open_value_list(request.caller, wish)


async def update_value_list(request: Request, properties: ValueListProperties, **named: Any) -> ValueListAnswer:
    """Change a value list; arguments as of `open_relation`."""
    changes = ValueListChanges(**_value_list(properties))
    return await request.services.solutions.update_value_list(request.caller, changes=changes, **_one(named))


def _one(named: dict[str, Any]) -> dict[str, Any]:
    """The object that an update is about.

    Raises:
        InvalidInput: Its name is empty.
    """
    if not named["name"]:
        raise InvalidInput("The name of what is to be changed is empty.", hint="Give its name.")
    return named


def _relation(properties: RelationProperties) -> dict[str, Any]:
    """The properties of a relation as its records have them: one pair of columns is among the items."""
    wanted = _given(properties)
    pair = {side: wanted.pop(f"{side}_column") for side in ("primary", "foreign") if f"{side}_column" in wanted}
    if "items" in wanted:
        wanted["items"] = tuple(RelationItem(**one) for one in wanted["items"])
        if pair:
            raise InvalidInput("Both items and a pair of columns are given.", hint="Give one of them.")
    elif len(pair) == 1:
        (side,) = pair
        raise InvalidInput(f"Only {side}_column is given.", hint="Give primary_column and foreign_column, or neither.")
    elif pair:
        wanted["items"] = (RelationItem(**pair),)
    return wanted


def _value_list(properties: ValueListProperties) -> dict[str, Any]:
    """The properties of a value list as its records have them."""
    wanted = _given(properties)
    for name in [one for one in _COLUMNS if one in wanted]:
        columns: Any = wanted.pop(name)
        wanted[_COLUMNS[name]] = (columns,) if isinstance(columns, str) else tuple(columns)
    if "custom_values" in wanted:
        given: list[Any] = wanted["custom_values"]
        wanted["custom_values"] = tuple(one if isinstance(one, str) else CustomValue(**one) for one in given)
    return wanted


def _given(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value is not None}
