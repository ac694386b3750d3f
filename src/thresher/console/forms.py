"""Forms made from what verbs declare and tools take, and arguments read from what people fill in.

Invariant: pure. An empty field is an omitted argument; everything else is checked as on every face.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen

from thresher.core import InvalidInput, NotAllowed, has_more_values
from thresher.verbs import Parameter, Verb

Kind: TypeAlias = Literal["text", "long", "number", "switch", "choice", "list", "json"]
_LONG: Final = frozenset(
    ("message", "prompt", "question", "document", "content", "text", "sql", "guide", "description", "queries", "words")
)
"""Parameters whose values often have several lines."""

_DIGITS: Final = 19
"""Of the greatest integer of the database."""


_MOST_VALUES: Final = 100_000
"""Values of JSON in a field: decoding a million empty lists would delay all other requests."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: The parameter's name.
        kind: How it is filled in: `list` has one item a line, `switch` is yes, no or not given, `json` is any value.
        required: Whether it has no default.
        description: What it means.
        default: What holds if it is empty, as text.
        choices: The values of a `choice`.
        least: The least number; None if there is none.
        most: The greatest number; None if there is none.
        of: What the value is called where it goes, if that is not the field's own name: others chose it.
    """

    name: str
    kind: Kind
    required: bool
    description: str
    default: str
    choices: Sequence[str] = ()
    least: float | None = None
    most: float | None = None
    of: str = ""


def fields(verb: Verb) -> tuple[Field, ...]:
    """The fields of a verb's form, in the order of its parameters."""
    return tuple(field_of(one) for one in verb.parameters.values())


def arguments(verb: Verb, form: Mapping[str, str]) -> dict[str, Any]:
    """The arguments that a form gives a verb.

    Raises:
        InvalidInput: A number or a JSON value cannot be read.
    """
    return values(fields(verb), form)


def schema_fields(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a form for the first level of a tool's input schema; what is not simple is filled in as JSON."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = set(map(str, cast("list[Any]", required))) if isinstance(required, list) else set[str]()
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        _schema_field(name, cast("Mapping[str, Any]", detail) if isinstance(detail, Mapping) else {}, name in needed)
        for name, detail in cast("Mapping[str, Any]", properties).items()
    )


def values(fields: Sequence[Field], form: Mapping[str, str]) -> dict[str, Any]:
    """What a form has in some fields, by what each is called where it goes.

    Raises:
        InvalidInput: A number or a JSON value cannot be read.
    """
    given = ((field, form.get(field.name, "")) for field in fields)
    return {field.of or field.name: value_of(field, text) for field, text in given if text.strip()}


_TYPES: Final[Mapping[str, Kind]] = {"string": "text", "boolean": "switch", "integer": "number", "number": "number"}


def _schema_field(name: str, detail: Mapping[str, Any], required: bool) -> Field:
    detail = _without_null(detail)
    kind, choices = _schema_kind(name, detail)
    default, description = detail.get("default"), detail.get("description", "")
    shown = {True: "yes", False: "no"}[default] if isinstance(default, bool) else _text(default)
    least, most = (
        value if isinstance(value, int | float) else None for value in (detail.get("minimum"), detail.get("maximum"))
    )
    return Field(
        f"argument.{name}",
        kind,
        required,
        description if isinstance(description, str) else "",
        shown,
        choices,
        least,
        most,
        name,
    )


def _without_null(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema that allows one other type beside null, as that type's."""
    options = detail.get("anyOf")
    if not isinstance(options, list):
        return detail
    others = [one for one in cast("list[Any]", options) if one != {"type": "null"}]
    is_one = len(others) == 1 and isinstance(others[0], Mapping)
    return {**detail, **cast("Mapping[str, Any]", others[0])} if is_one else detail


def _schema_kind(name: str, detail: Mapping[str, Any]) -> tuple[Kind, Sequence[str]]:
    listed = detail.get("enum")
    if isinstance(listed, list) and listed and all(isinstance(one, str) for one in cast("list[Any]", listed)):
        return "choice", tuple(cast("list[str]", listed))
    kind = detail.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast("list[Any]", kind) if one != "null"), None)
    kind = cast("object", kind)
    if kind == "array":
        items = detail.get("items")
        is_text = isinstance(items, Mapping) and cast("Mapping[str, Any]", items).get("type") == "string"
        return ("list" if is_text else "json"), ()
    simple: Kind = _TYPES.get(kind, "json") if isinstance(kind, str) else "json"
    return ("long" if simple == "text" and name in _LONG else simple), ()


def field_of(parameter: Parameter) -> Field:
    """The field of one parameter."""
    plain, notes = _unfolded(parameter.annotation)
    kind, choices = _kind(parameter.name, plain)
    default = "" if parameter.required or parameter.default in (None, "", (), [], {}) else parameter.default
    shown = {True: "yes", False: "no"}[default] if isinstance(default, bool) else _text(default)
    least = next((_number(one.ge) for one in notes if isinstance(one, Ge)), None)
    least = next((_number(one.gt) for one in notes if isinstance(one, Gt)), least)
    most = next((_number(one.le) for one in notes if isinstance(one, Le)), None)
    if kind == "text" and any(isinstance(one, MaxLen) and one.max_length > 1_000 for one in notes):
        kind = "long"
    return Field(parameter.name, kind, parameter.required, parameter.description, shown, choices, least, most)


def whole(text: str) -> int | None:
    """A whole number from 0 in a form or an address; None for any other text, and for one too large to be stored."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else None


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value) if value is not None else ""


def _number(value: Any) -> float:
    return cast("float", value)


def _kind(name: str, types: Sequence[Any]) -> tuple[Kind, Sequence[str]]:
    """How the values of some types are filled in; the first type that people can write decides."""
    for one in types:
        if get_origin(one) is Literal:
            return "choice", tuple(str(value) for value in get_args(one))
    if bool in types:
        return "switch", ()
    if any(get_origin(one) in (list, tuple) and _items_may_be_text(one) for one in types):
        return "list", ()
    if types and all(one in (int, float) for one in types):
        return "number", ()
    if str in types:
        return ("long" if name in _LONG else "text"), ()
    return "json", ()


def _items_may_be_text(annotation: Any) -> bool:
    return all(str in _unfolded(one)[0] for one in get_args(annotation) if one is not Ellipsis)


def _unfolded(annotation: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The alternatives of a type without None, and what `Annotated` says of any of them."""
    notes: list[Any] = []

    def walk(one: Any) -> Iterator[Any]:
        if get_origin(one) is Annotated:
            inner, *metadata = get_args(one)
            notes.extend(metadata)
            yield from walk(inner)
        elif get_origin(one) in (Union, UnionType):
            for alternative in get_args(one):
                yield from walk(alternative)
        elif one is not NoneType:
            yield one

    return tuple(walk(annotation)), notes


def value_of(field: Field, text: str) -> Any:
    """The value that a person wrote into a field.

    Raises:
        InvalidInput: It is not a number, or not JSON.
    """
    try:
        match field.kind:
            case "list":
                return [line.strip() for line in text.splitlines() if line.strip()]
            case "switch":
                return text == "yes"
            case "number":
                return float(text) if "." in text or "e" in text.lower() else int(text)
            case "json":
                if has_more_values(text.encode("utf-8", "replace"), _MOST_VALUES):
                    raise InvalidInput(
                        f"{field.of or field.name} has more than {_MOST_VALUES:,} values.", hint="Send less."
                    )
                return json.loads(text)
            case _:
                return text
    except (ValueError, RecursionError):
        what = "a number" if field.kind == "number" else "JSON"
        raise InvalidInput(f"{field.of or field.name} is not {what}.", hint="Correct the field.") from None


def check_confirmed(form: Mapping[str, str], name: str) -> None:
    """Refuse to remove something whose name was not written.

    Args:
        form: What was sent; the name stands in `confirm`.
        name: Of what shall be removed.

    Raises:
        NotAllowed: It was not.
    """
    if form.get("confirm", "").strip() != name:
        raise NotAllowed("Nothing was removed: the name does not match.", hint=f"Write '{name}' to confirm.")
