"""From the bytes of a description to plain data; the content decides between JSON and YAML."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.openapi.reader.characters import cleaned, readable
from thresher.openapi.reader.positions import JsonIndex
from thresher.openapi.reader.problems import (
    DescriptionLimits,
    Notes,
    check_depth,
    duplicate_key_message,
    too_deep,
    too_large,
)
from thresher.openapi.reader.yaml_values import YamlValues
from thresher.openapi.records import Json

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED: Final = (
    ((False, True, True, True), "utf-32-le"),
    ((True, True, True, False), "utf-32-be"),
    ((False, True, False, True), "utf-16-le"),
    ((True, False, True, False), "utf-16-be"),
)
"""Which of the first four bytes are zero if the text starts with two ASCII characters."""


def decoded(data: bytes, notes: Notes) -> str:
    """Decode to text without a byte order mark; undecodable bytes become U+FFFD and are noted."""
    encoding, skipped = encoding_of(data)
    octets = data[skipped:] if skipped else data
    try:
        return octets.decode(encoding)
    except UnicodeDecodeError as error:
        line = octets[: error.start].decode(encoding, "replace").count("\n") + 1
        text = octets.decode(encoding, "replace")
        many = text.count("\ufffd")
        notes.add(
            "bad-encoding",
            f"Line {line} holds bytes that are not {encoding.upper()}; {many} were replaced. Save the file as UTF-8.",
            line=line,
        )
        return text


def encoding_of(data: bytes) -> tuple[str, int]:
    """Return the encoding of a text and the length of its byte order mark."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    zeros = tuple(octet == 0 for octet in data[:4])
    return next((encoding for shape, encoding in _UNMARKED if shape == zeros), "utf-8"), 0


_DIGITS: Final = 400


class JsonBroken(Exception):
    """The text is not JSON.

    Args:
        what: What is wrong and where, as a sentence without a full stop.
        line: From 1.
    """

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line

    def refusal(self) -> InvalidInput:
        """Return the error for the caller."""
        return InvalidInput(f"{self.what}.", hint="Correct that line; any JSON checker shows it.")


def read_json(text: str, limits: DescriptionLimits, notes: Notes) -> Json:
    """Parse JSON; of repeated keys the last one counts, and each repetition is noted.

    Raises:
        JsonBroken: The text is not JSON.
        InvalidInput: It is nested too deeply.
    """
    twice: list[int] = []

    def gathered(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            twice.append(len(pairs))
        return entries

    try:
        value = json.loads(
            text, object_pairs_hook=gathered, parse_int=_whole, parse_float=_fraction, parse_constant=str
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonBroken(f"The JSON cannot be read: {error.msg}, at {where}", error.lineno) from error
    except RecursionError as error:
        raise too_deep(limits) from error
    check_depth(value, limits)
    if twice:
        for pointer, key, first, last in JsonIndex(text).duplicate_keys():
            notes.add("duplicate-key", duplicate_key_message(key, first, last), pointer)
    return value


def _whole(digits: str) -> int | str:
    """Parse an integer; one of more than 400 digits stays text."""
    return int(digits) if len(digits) <= _DIGITS else digits


def _fraction(digits: str) -> float | str:
    """Parse a number with a fraction; one beyond the range of a double stays text, since JSON has no infinity."""
    value = float(digits)
    return digits if value in {float("inf"), float("-inf")} else value


Format: TypeAlias = Literal["json", "yaml"]
_ITSELF: Final = "Give the OpenAPI or Swagger document itself, not a page that shows it or asks to sign in."


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """The content of a source.

    Attributes:
        root: The document as plain data.
        text: The source without a byte order mark.
        readable: The source as its parser takes it: the same length, with unsupported characters replaced.
        format: `json` or `yaml`.
    """

    root: dict[str, Json]
    text: str
    readable: str
    format: Format


def load(data: bytes, limits: DescriptionLimits, notes: Notes) -> LoadedSource:
    """Read the bytes of a description.

    Raises:
        InvalidInput: The source is too large, empty, HTML or XML, neither JSON nor YAML, not a mapping, or nested too
            deeply.
    """
    if len(data) > limits.octets:
        raise too_large(f"The description has {len(data):,} bytes; the limit is {limits.octets:,}.")
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
            "The document is not a mapping, so it cannot describe an API.",
            hint=_ITSELF,
        )
    return LoadedSource(cleaned(cast("dict[str, Json]", value), shown, notes), text, shown, written)


def _value(text: str, limits: DescriptionLimits, notes: Notes) -> tuple[Json, str, Format]:
    """Return the value of a text, the text as its parser took it, and the format.

    Text that starts like JSON but is not JSON is tried as YAML, which allows a trailing comma.
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
