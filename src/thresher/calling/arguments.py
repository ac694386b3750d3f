"""Makes a client's arguments fit a tool's schema, or reports clearly why they do not.

Invariant: pure, and the schema is foreign: it is never fetched from anywhere, none of its regular expressions is run,
the work that it asks for is bounded, and a broken one stops no call. A value that already fits is never changed, and
none that says something is dropped.

Our own tools take arguments as clients mean them:

- Null, an empty text and an empty list stand for an argument that is left out: clients in strict mode have to send
  every argument. Where a schema allows null and the client leaves out others, an empty text or list is a value, for
  null would have said "left out".
- `query`, `question`, `prompt` and `message` stand for whichever of them the tool takes.
- A name written otherwise stands for the argument (`primaryDataSource` for `primary_datasource`), `serverName` for
  `connection`.
- A text stands for a list of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, cast

from cachetools import LRUCache
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import UnknownType, ValidationError, relevance
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType] - it has no types
from referencing import Registry
from referencing.exceptions import Unresolvable

from thresher.core import JSON, InvalidInput, argument_meant, did_you_mean, nearest

_DEPTH = 32
_NOT_GIVEN = object()
_VALIDATORS = 512
_validators: LRUCache[int, tuple[JSON, Any]] = LRUCache(_VALIDATORS)
"""By identity: a stored definition is one object for as long as it does not change. Holding it keeps its id its own."""
_BROKEN_SCHEMA = (
    Unresolvable,
    UnknownType,
    RecursionError,
    re.error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
)
"""What the validator raises where the schema itself is wrong, or asks for too much work (`_TooMuchWork`)."""
_STEPS: Final = 20_000
"""Keywords and alternatives that are looked at for one call, in about a tenth of a second."""
_CHARACTERS: Final = 200
"""Of an error's message, for a step: it quotes the whole value, once for each alternative that this does not fit."""
_ENTRIES: Final = 200
"""Of a list in a schema that is read through, for a step: the names that it requires, its types, its alternatives."""
_UNCHECKED: Final = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "uniqueItems")
"""Keywords that only the server checks: regular expressions are unbounded, and unequal items are found in pairs."""
ASKING: Final = ("query", "question", "prompt", "message")
"""Names under which models give what they ask for."""
_steps_left: ContextVar[list[int]] = ContextVar("thresher_schema_steps")
_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class _TooMuchWork(ValueError):
    """The schema asks for more than `_STEPS`."""


def _bounded(draft: Any) -> Any:
    """A validator of the same draft that counts its steps and runs no foreign regular expression."""
    keywords = {name: _counted(keyword) for name, keyword in draft.VALIDATORS.items()}
    return cast("Any", extend(draft, {**keywords, **dict.fromkeys(_UNCHECKED, _nothing)}))


def _counted(keyword: _Keyword) -> _Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError]:
        _spend(1 + len(cast("Any", value)) // _ENTRIES if isinstance(value, list | dict) else 1)
        if keyword is not _ADDITIONAL or "patternProperties" not in schema:
            for error in keyword(validator, value, instance, schema) or ():
                _spend(1 + len(error.message) // _CHARACTERS)
                yield error

    return counted


@contextmanager
def _bounded_work() -> Generator[None]:
    """Let what happens inside look at so many keywords and no more."""
    token = _steps_left.set([_STEPS])
    try:
        yield
    finally:
        _steps_left.reset(token)


def _spend(steps: int) -> None:
    if (left := _steps_left.get(None)) is not None:
        left[0] -= steps
        if left[0] < 0:
            raise _TooMuchWork


def _nothing(*_: Any) -> None:
    return None


_ADDITIONAL: Final[_Keyword] = Draft202012Validator.VALIDATORS["additionalProperties"]
_DRAFT_7, _DRAFT_2020 = _bounded(Draft7Validator), _bounded(Draft202012Validator)


def own_arguments(name: str, arguments: JSON, schema: JSON, signature: Callable[[], str]) -> dict[str, Any]:
    """The arguments of one of our own tools, as its schema wants them.

    Args:
        name: The tool.
        arguments: As the client sent them.
        schema: The tool's input schema.
        signature: Gives what the hint shows as the right form.

    Raises:
        InvalidInput: They do not fit; the message names the argument.
    """
    properties = cast("Mapping[str, JSON]", schema.get("properties") or {})
    required = cast("Collection[str]", schema.get("required") or ())
    everything = set(properties) <= set(arguments)
    given: dict[str, Any] = {}
    for key, value in _renamed(arguments, properties).items():
        if value is None:
            continue
        # An empty optional value stands for none, unless the schema has another form for that.
        if value in ("", []) and key not in required:
            entry = properties.get(key)
            if everything or entry is None or not allows(entry, schema, "null"):
                continue
        given[key] = value
    if unknown := sorted(set(given) - set(properties)):
        near = did_you_mean(nearest(unknown[0], properties))
        raise InvalidInput(
            f"{name} has no argument '{unknown[0]}'.", hint=near or f"It takes {', '.join(properties) or 'none'}."
        )
    with suppress(*_BROKEN_SCHEMA), _bounded_work():
        if _validator(schema).is_valid(given):  # as most are: nothing is to be changed
            return given
    fitted = coerce(given, schema)
    for key, value in fitted.items():
        if isinstance(value, str) and not allows(properties[key], schema, "string"):
            fitted[key] = [value] if allows(properties[key], schema, "array") else value
    check(fitted, schema, signature, only=True)
    return fitted


def _renamed(arguments: JSON, properties: Mapping[str, JSON]) -> dict[str, Any]:
    """The arguments under the names that the tool has for them."""
    meant = {key: argument_meant(key, properties) for key in arguments}
    arguments = {
        meant[key]: value for key, value in arguments.items() if meant[key] == key or meant[key] not in arguments
    }
    own = next((key for key in properties if key in ASKING), None)
    others = [key for key in ASKING if key not in properties and arguments.get(key)]
    if own is None or len(others) != 1 or arguments.get(own):
        return dict(arguments)
    return {**{key: value for key, value in arguments.items() if key != others[0]}, own: arguments[others[0]]}


def coerce(arguments: JSON, schema: JSON) -> dict[str, Any]:
    """Turn strings into what the schema asks for: `"true"`, `"5"`, JSON text of an array or object.

    Some clients send every argument as a string, or null, "" or [] for an optional argument that they leave out; these
    are dropped where the schema does not allow them. Where that takes too much work they stay as they are.
    """
    try:
        with _bounded_work():
            return _object(dict(arguments), schema, schema, 0)
    except _TooMuchWork:
        return dict(arguments)


def check(arguments: JSON, schema: JSON, signature: Callable[[], str], *, only: bool = False) -> None:
    """Check arguments against a schema.

    Args:
        arguments: After `coerce`.
        schema: The tool's input schema.
        signature: Gives what the hint shows as the right form.
        only: Whether no other check follows, as a server's own does: then what takes too much work does not fit.

    Raises:
        InvalidInput: They do not fit; the message names the argument.
    """
    try:
        with _bounded_work():
            errors = cast("list[ValidationError]", list(_validator(schema).iter_errors(arguments)))
    except _TooMuchWork:
        if not only:
            return
        raise InvalidInput(
            f"Arguments do not fit: too many values in {_largest(arguments)}.",
            hint=f"Send fewer. Expected: {signature()}.",
        ) from None
    except _BROKEN_SCHEMA:
        return  # the server's own check decides
    if errors:
        worst = _problem(max(errors, key=relevance))
        raise InvalidInput(f"Arguments do not fit: {worst}.", hint=f"Expected: {signature()}.")


def _validator(schema: JSON) -> Any:
    """The validator of a schema, built once for as long as the schema is in use."""
    known = _validators.get(id(schema))
    if known is None or known[0] is not schema:
        draft = _DRAFT_7 if "draft-0" in str(schema.get("$schema", "")) else _DRAFT_2020
        # Without a registry of its own the library fetches foreign references over the network.
        known = _validators[id(schema)] = (schema, draft(schema, registry=Registry[Any]()))
    return known[1]


def _largest(arguments: JSON) -> str:
    """The argument with the most in it."""
    sizes = {
        name: len(cast("list[Any]", value)) for name, value in arguments.items() if isinstance(value, list | dict | str)
    }
    return max(sizes, key=lambda name: sizes[name], default="them")


def _problem(error: ValidationError) -> str:
    path = ".".join(str(part) for part in error.absolute_path)
    message = error.message if len(error.message) <= 300 else f"{error.message[:300]}…"
    return f"{path}: {message}" if path else message


def _object(values: dict[str, Any], schema: Mapping[str, Any], root: JSON, depth: int) -> dict[str, Any]:
    properties = _mapping(schema.get("properties"))
    required = cast("object", schema.get("required"))
    listed = cast("list[Any]", required) if isinstance(required, list) else []
    _spend(1 + (len(listed) + len(values)) // _ENTRIES)
    needed = {name for name in listed if isinstance(name, str)}
    fitted: dict[str, Any] = {}
    for name, value in values.items():
        entry = properties.get(name)
        new = value if entry is None else _value(value, entry, root, depth + 1)
        if entry is not None and name not in needed and _is_left_out(new, entry, root):
            continue
        fitted[name] = new
    return fitted


def _is_left_out(value: Any, entry: object, root: JSON) -> bool:
    """Return whether the value of an optional argument stands for an omitted one and its schema does not allow it."""
    if value is None:
        return not allows(entry, root, "null")
    return (value == "" and not allows(entry, root, "string")) or (value == [] and not allows(entry, root, "array"))


def _value(value: Any, schema: object, root: JSON, depth: int) -> Any:
    entry = _resolved(schema, root)
    if depth > _DEPTH or not entry:
        return value
    if isinstance(value, str) and not allows(entry, root, "string"):
        value = _parsed(value, _types(entry, root))
    if isinstance(value, dict) and "properties" in entry:
        return _object(cast("dict[str, Any]", value), entry, root, depth)
    if isinstance(value, list) and "items" in entry:
        return [_value(part, entry["items"], root, depth + 1) for part in cast("list[Any]", value)]
    return cast("Any", value)


def _parsed(text: str, types: set[str]) -> Any:
    """The value that the text stands for, if it is of one of the types; else the text itself."""
    stripped = text.strip()
    if "boolean" in types and stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    try:
        value = json.loads(stripped, parse_constant=lambda _: _NOT_GIVEN)
    except (ValueError, RecursionError):
        return text
    return value if value is not _NOT_GIVEN and _type_of(value) & types else text


def _type_of(value: Any) -> set[str]:
    match value:
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number", "integer"} if value.is_integer() else {"number"}
        case list():
            return {"array"}
        case dict():
            return {"object"}
        case None:
            return {"null"}
        case _:
            return set()


def allows(schema: object, root: JSON, kind: str) -> bool:
    """Whether a schema lets a value be of a JSON type."""
    entry = _resolved(schema, root)
    types = _types(entry, root)
    if types:
        return kind in types
    values = entry.get("enum")
    if isinstance(values, list):
        _spend(len(cast("list[Any]", values)) // _ENTRIES)
        wanted = str if kind == "string" else type(None)
        return any(isinstance(value, wanted) for value in cast("list[Any]", values))
    return True  # says nothing: allows everything


def _types(entry: Mapping[str, Any], root: JSON) -> set[str]:
    """The JSON types that a schema names, its alternatives' too; empty where it allows every type."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [entry]
    while waiting:
        one = waiting.pop()
        _spend(1)
        if id(one) in seen:  # alternatives may name each other, and each other's, without an end
            continue
        seen.add(id(one))
        kind: object = one.get("type")
        alternatives = [branch for word in ("anyOf", "oneOf") for branch in _sequence(one.get(word))]
        _spend((len(_sequence(kind)) + len(alternatives)) // _ENTRIES)
        if names := {name for name in _sequence(kind) if isinstance(name, str)}:
            found |= names
        elif alternatives:
            waiting += [_resolved(branch, root) for branch in alternatives]
        else:
            return set()
    return found


def _sequence(value: object) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return [value] if isinstance(value, str) else []


def _resolved(schema: object, root: JSON) -> Mapping[str, Any]:
    """Follow references inside the schema itself (`#/$defs/...`); others are left alone."""
    entry = _mapping(schema)
    for _ in range(_DEPTH):
        reference = entry.get("$ref")
        if not isinstance(reference, str):
            return entry
        if not reference.startswith("#/"):
            return {}
        target: object = root
        parts = reference[2:].split("/")
        _spend(1 + len(reference) // _ENTRIES)
        for part in parts:
            target = _mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
        entry = _mapping(target)
    return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
