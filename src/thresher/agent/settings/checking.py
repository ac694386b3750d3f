"""Checks values of settings, strictly what people write, leniently what rows hold.

Invariant: pure; an error names the field and what is allowed there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from pydantic import ValidationError

from thresher.agent.settings.records import ChatSettings
from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.store import clean

_LONGEST_SHOWN: Final = 40


def checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as they are kept; a null stays one.

    Raises:
        InvalidInput: A field is unknown, or a value is not allowed there.
    """
    return {_known(name): None if value is None else _checked(name, value) for name, value in changes.items()}


def sound(row: object) -> dict[str, Any]:
    """What of a row can be used: known fields with allowed values."""
    if not isinstance(row, Mapping):
        return {}
    found: dict[str, Any] = {}
    for name, value in cast("Mapping[str, Any]", row).items():
        if name in ChatSettings.model_fields and value is not None:
            try:
                found[name] = _valid(name, value)
            except ValidationError:
                continue
    return found


def _known(name: str) -> str:
    if name not in ChatSettings.model_fields:
        known = list(ChatSettings.model_fields)
        hint = did_you_mean(nearest(name[:80], known)) or f"There are: {', '.join(known)}."
        raise InvalidInput(f"There is no setting '{name[:80]}'.", hint=hint)
    return name


def _checked(name: str, value: Any) -> Any:
    value = clean(value.strip()) if isinstance(value, str) else value
    try:
        return _valid(name, value)
    except ValidationError:
        shown = str(value)[:_LONGEST_SHOWN]
        raise InvalidInput(f"'{shown}' is no value of the setting {name}.", hint=f"Allowed: {allowed(name)}.") from None


def _valid(name: str, value: Any) -> Any:
    return getattr(ChatSettings.model_validate({name: value}), name)


@cache
def allowed(name: str) -> str:
    """What a field takes, in words."""
    field: dict[str, Any] = ChatSettings.model_json_schema()["properties"][name]
    kinds: list[dict[str, Any]] = field.get("anyOf", [field])
    told = next(kind for kind in kinds if kind.get("type") != "null")
    if "enum" in told:
        return ", ".join(told["enum"])
    if told["type"] == "boolean":
        return "true, false"
    if told["type"] == "string":
        return f"up to {told['maxLength']} characters, or nothing"
    low = f"{told['minimum']}" if "minimum" in told else f"more than {told['exclusiveMinimum']}"
    words = "numbers" if told["type"] == "number" else "whole numbers"
    return f"{words} from {low} to {told['maximum']}" if "minimum" in told else f"{words}, {low}, to {told['maximum']}"
