"""From what tools, HTTP and commands take, to relations and value lists as they are wanted.

Invariant: one form of arguments on every face. Columns that nobody gave are looked for only where a relation is to be
made, and what was found, and why, stands in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from thresher.core import Caller, InvalidInput
from thresher.knowledge.solutions import (
    RelationAnswer,
    RelationChanges,
    RelationSpec,
    ValueListAnswer,
    ValueListChanges,
    ValueListSpec,
)
from thresher.packs.inferring import infer_columns
from thresher.services import Services
from thresher.servoy import CustomValue, RelationItem, datasource

_Record = TypeVar("_Record", RelationItem, RelationSpec, RelationChanges, CustomValue, ValueListSpec, ValueListChanges)

_COLUMNS = {"display_column": "display", "return_column": "returns"}
"""Arguments of value lists that take one column or several, and what the wish calls them."""
_FACES = {"display": "display_column", "returns": "return_column"}
"""The same the other way round."""
_HOW = ("name", "solution", "confirm")
"""Arguments of an update that say of what, and how, and not what changes."""


async def open_relation(services: Services, caller: Caller, arguments: Mapping[str, Any]) -> RelationAnswer:
    """Show a relation, or make it; columns that are not given are inferred from keys, or what looks like one.

    Args:
        services: The running product.
        caller: For whom.
        arguments: As the tool `open_relation` takes them.

    Raises:
        InvalidInput: Something is missing, or two ways to relate the tables are as good: the hint asks.
    """
    wish = _made(RelationSpec, _relation(arguments))
    if wish.items is None and wish.primary_datasource and wish.foreign_datasource:
        if (shown := await services.solutions.find_relation(caller, wish)) is not None:
            return shown
        wish = await _with_columns(services, caller, wish)
    return await services.solutions.open_relation(caller, wish)


async def update_relation(services: Services, caller: Caller, arguments: Mapping[str, Any]) -> RelationAnswer:
    """Change what is said of a relation; `arguments` as the tool `update_relation` takes them."""
    how, changes = _parted(_relation(arguments))
    return await services.solutions.update_relation(caller, changes=_made(RelationChanges, changes), **how)


async def open_value_list(services: Services, caller: Caller, arguments: Mapping[str, Any]) -> ValueListAnswer:
    """Show a value list, or make it; `arguments` as the tool `open_value_list` takes them."""
    return await services.solutions.open_value_list(caller, _made(ValueListSpec, _value_list(arguments)))


async def update_value_list(services: Services, caller: Caller, arguments: Mapping[str, Any]) -> ValueListAnswer:
    """Change what is said of a value list; `arguments` as the tool `update_value_list` takes them."""
    how, changes = _parted(_value_list(arguments))
    return await services.solutions.update_value_list(caller, changes=_made(ValueListChanges, changes), **how)


async def _with_columns(services: Services, caller: Caller, wish: RelationSpec) -> RelationSpec:
    primary, foreign = (datasource(text or "") for text in (wish.primary_datasource, wish.foreign_datasource))
    found = await infer_columns(services, caller, primary, foreign)
    if not found.items:
        raise InvalidInput(found.question, hint="Give items, or primary_column and foreign_column.")
    return replace(wish, items=tuple(found.items), reason=found.reason, evidence=tuple(found.evidence))


def _relation(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a relation, its one pair of columns among its items."""
    wanted = _said(arguments)
    pair = {side: wanted.pop(f"{side}_column") for side in ("primary", "foreign") if f"{side}_column" in wanted}
    if "items" in wanted:
        wanted["items"] = tuple(_made(RelationItem, one) for one in _objects(wanted["items"], "items"))
        if pair:
            raise InvalidInput("Both items and a pair of columns are given.", hint="Give one of them.")
    elif len(pair) == 1:
        (side,) = pair
        raise InvalidInput(f"Only {side}_column is given.", hint="Give primary_column and foreign_column, or neither.")
    elif pair:
        wanted["items"] = (_made(RelationItem, pair),)
    return wanted


def _value_list(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a value list, its columns and values as records have them."""
    wanted = _said(arguments)
    for name in [one for one in _COLUMNS if one in wanted]:
        columns: Any = wanted.pop(name)
        wanted[_COLUMNS[name]] = (columns,) if isinstance(columns, str) else tuple(columns)
    if "custom_values" in wanted:
        wanted["custom_values"] = tuple(_value(one) for one in wanted["custom_values"])
    return wanted


def _value(given: Any) -> str | CustomValue:
    return given if isinstance(given, str) else _made(CustomValue, given)


def _parted(wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    how = {name: wanted.pop(name) for name in _HOW if name in wanted}
    if not how.get("name"):
        raise InvalidInput("Nothing is named that shall be changed.", hint="Give its name.")
    return how, wanted


def _said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _objects(given: Any, name: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in cast("list[Any]", given)):
        raise InvalidInput(
            f"'{name}' is no list of objects.", hint="Each is {primary, foreign} and if wanted operator."
        )
    return cast("Sequence[Mapping[str, Any]]", given)


def _made(kind: type[_Record], wanted: Any) -> _Record:
    """A record of what is wanted.

    Raises:
        InvalidInput: Something is named that it does not have, or something is missing that it needs.
    """
    names = {one.name for one in fields(kind)} - {"reason", "evidence", "uuid"}
    called = _FACES if "returns" in names else {}
    known = ", ".join(sorted(called.get(name, name) for name in names))
    if unknown := sorted(set(wanted) - names):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {known}.")
    try:
        return kind(**wanted)
    except TypeError:
        raise InvalidInput(
            f"Something is missing in {dict(wanted)}.", hint=f"It has {', '.join(sorted(names))}."
        ) from None
