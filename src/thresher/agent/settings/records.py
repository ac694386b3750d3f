"""The settings of a conversation: their fields and bounds, and checks of written and read values.

Invariant: values that are read are within bounds whatever a row holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.store import clean

Approval: TypeAlias = Literal["writes", "destructive", "all", "none"]
STRICTNESS: Final[Mapping[Approval, int]] = {"none": 0, "destructive": 1, "writes": 2, "all": 3}
"""Each makes all calls wait that the ones before it do, and more."""
SettingSource: TypeAlias = Literal["default", "owner", "thread", "floor"]
"""Where a value comes from: the defaults, the owner's choice for all threads, the choice for one thread; or `floor`:
the least strict one that the owner of the installation allows, unless a stricter one was chosen."""


class ChatSettings(BaseModel):
    """The settings of a conversation: of the thread, else of its owner, else these defaults.

    Tokens are o200k. An empty `model` means the first enabled one that the caller has.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field("", max_length=64, description="A registered model; empty: the default one.")
    temperature: float | None = Field(None, ge=0, le=2, description="None: the service's own.")
    max_tokens: int | None = Field(None, ge=1, le=200_000, description="Of one answer of the model.")
    history_tokens: int = Field(16_000, ge=500, le=1_000_000, description="Of former turns in a prompt, at most.")

    documents: bool = Field(True, description="Whether documents may be searched.")
    sql: bool = Field(True, description="Whether databases may be asked.")
    packs: bool = Field(True, description="Whether rules and tools of packs are given.")
    servers: bool = Field(True, description="Whether tools of other servers are offered.")
    connection: str = Field("", max_length=64, description="The database that is meant where none is named.")

    grading: bool = Field(True, description="Whether the model says which passages are relevant before they are used.")
    top_k: int = Field(8, ge=1, le=50, description="Passages of one search, over all repositories together.")
    document_tokens: int = Field(6_000, ge=200, le=100_000, description="Of passages in a prompt, at most.")
    tools: int = Field(8, ge=1, le=32, description="Tools that are found for a message and offered, at most.")
    result_tokens: int = Field(2_000, ge=100, le=50_000, description="A longer result is read page by page.")

    approval: Approval = Field(
        "writes",
        description="Which calls wait for a person: those that may write, that may destroy, all, none.",
    )
    recursion: int = Field(50, ge=4, le=500, description="Steps of one turn, at most.")
    model_seconds: float = Field(120.0, gt=0, le=3600, description="For one answer of the model.")
    first_seconds: float = Field(60.0, gt=0, le=3600, description="Until the model's answer begins.")
    tool_seconds: float = Field(120.0, gt=0, le=3600, description="For one call of a tool.")


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The settings in force, and their sources.

    Attributes:
        settings: The settings in force.
        sources: Where each value comes from, by field.
    """

    settings: ChatSettings
    sources: Mapping[str, SettingSource]


_LONGEST_SHOWN: Final = 40


def checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes in their stored form; a null stays one.

    Raises:
        InvalidInput: A field is unknown, or a value is not allowed in it.
    """
    return {_known(name): None if value is None else _checked(name, value) for name, value in changes.items()}


def sound(row: object) -> dict[str, Any]:
    """Return the usable part of a row: known fields with allowed values."""
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
        raise InvalidInput(
            f"'{shown}' is not a value of the setting {name}.", hint=f"Allowed: {allowed(name)}."
        ) from None


def _valid(name: str, value: Any) -> Any:
    return getattr(ChatSettings.model_validate({name: value}), name)


@cache
def allowed(name: str) -> str:
    """Return the allowed values of a field, in words."""
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
