"""Plain data of a description's octets, JSON or YAML by what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from thresher.core import InvalidInput
from thresher.openapi.decoding import decoded
from thresher.openapi.json_values import JsonBroken, read_json
from thresher.openapi.limits import Limits
from thresher.openapi.notes import Notes
from thresher.openapi.records import Json
from thresher.openapi.yaml_values import YamlValues

Format = Literal["json", "yaml"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a source holds.

    Attributes:
        root: Plain data.
        text: Its text, without a byte order mark.
        format: How it is written.
    """

    root: dict[str, Json]
    text: str
    format: Format


def load(data: bytes, limits: Limits, notes: Notes) -> Loaded:
    """Read a description's octets.

    Raises:
        InvalidInput: They are too many, no text, neither JSON nor YAML, no mapping, or nested too deeply.
    """
    if len(data) > limits.octets:
        raise InvalidInput(
            f"The description has {len(data):,} octets; at most {limits.octets:,} are read.",
            hint="Split it by product or version, and add each part as a version of its own.",
        )
    text = decoded(data, notes)
    if not text.strip():
        raise InvalidInput("The description is empty.", hint="Give a file or an address that holds OpenAPI or Swagger.")
    value, written = _value(text, limits, notes)
    if not isinstance(value, dict):
        raise InvalidInput(
            "The document is no mapping, so it cannot describe an API.",
            hint="Give the OpenAPI or Swagger document itself, not a page that shows it.",
        )
    return Loaded(cast("dict[str, Json]", value), text, written)


def _value(text: str, limits: Limits, notes: Notes) -> tuple[Json, Format]:
    """The value of a text; what begins like JSON but is none is tried as YAML, which allows a comma too many."""
    if text.lstrip()[0] not in "{[":
        return YamlValues(limits, notes).read(text), "yaml"
    try:
        return read_json(text, limits), "json"
    except JsonBroken as broken:
        try:
            value = YamlValues(limits, notes).read(text)
        except InvalidInput:
            raise broken.refusal() from broken
        notes.add("not-json", f"{broken.what}; it was read as YAML, which allows that.", "")
        return value, "yaml"
