"""Plain data of a description's octets, JSON or YAML by what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.openapi.characters import cleaned, readable
from thresher.openapi.decoding import decoded
from thresher.openapi.json_values import JsonBroken, read_json
from thresher.openapi.limits import Limits, too_large
from thresher.openapi.notes import Notes
from thresher.openapi.records import Json
from thresher.openapi.yaml_values import YamlValues

Format: TypeAlias = Literal["json", "yaml"]
_ITSELF: Final = "Give the OpenAPI or Swagger document itself, not a page that shows it or asks to sign in."


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a source holds.

    Attributes:
        root: Plain data.
        text: Its text, without a byte order mark.
        readable: The same, character for character, but for those that its reader does not take.
        format: How it is written.
    """

    root: dict[str, Json]
    text: str
    readable: str
    format: Format


def load(data: bytes, limits: Limits, notes: Notes) -> Loaded:
    """Read a description's octets.

    Raises:
        InvalidInput: They are too many, no text, neither JSON nor YAML, no mapping, or nested too deeply.
    """
    if len(data) > limits.octets:
        raise too_large(f"The description has {len(data):,} octets; at most {limits.octets:,} are read.")
    text = decoded(data, notes)
    begin = text.lstrip()[:2]
    if not begin:
        raise InvalidInput("The description is empty.", hint="Give a file or an address that holds OpenAPI or Swagger.")
    if begin[0] == "<" and begin != "<<":
        raise InvalidInput("The document is HTML or XML, neither JSON nor YAML.", hint=_ITSELF)
    if sum(text.count(sign) for sign in ",{[\n") > limits.values:
        raise too_large(f"The description has more than {limits.values:,} values.")
    value, shown, written = _value(text, limits, notes)
    if not isinstance(value, dict):
        raise InvalidInput(
            "The document is no mapping, so it cannot describe an API.",
            hint=_ITSELF,
        )
    return Loaded(cleaned(cast("dict[str, Json]", value), shown, notes), text, shown, written)


def _value(text: str, limits: Limits, notes: Notes) -> tuple[Json, str, Format]:
    """The value of a text, the text as its reader took it, and how it is written.

    What begins like JSON but is none is tried as YAML, which allows a comma too many.
    """
    if text.lstrip()[0] not in "{[":
        shown = readable(text, notes)
        return YamlValues(limits, notes).read(shown), shown, "yaml"
    try:
        return read_json(text, limits, notes), text, "json"
    except JsonBroken as broken:
        shown = readable(text, notes)
        try:
            value = YamlValues(limits, notes).read(shown)
        except InvalidInput:
            raise broken.refusal() from broken
        notes.add("not-json", f"{broken.what}; it was read as YAML, which allows that.", line=broken.line)
        return value, shown, "yaml"
