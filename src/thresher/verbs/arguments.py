"""Checks the arguments of verbs, and the bodies of requests.

Invariant: unknown names are refused; null counts as an omitted argument, unless it is a valid value; other spellings of
a name (`primaryDatasource`) are accepted; a request with very many mistakes makes one error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Self, cast, get_args

from annotated_types import Ge, Le
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError
from typing_extensions import is_typeddict

from thresher.core import UNSUPPORTED, InvalidInput, argument_meant, did_you_mean, nearest, problems_of
from thresher.verbs.declaration import Verb

_MOST_ERRORS: Final = 1_000


class BoundedBody(BaseModel):
    """A body whose validation makes at most about a thousand errors: a million would take too much time and memory."""

    @model_validator(mode="wrap")
    @classmethod
    def _bounded(cls, body: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(body)
        except ValidationError as error:
            if (count := error.error_count()) <= _MOST_ERRORS:
                raise
            message = f"is wrong in {count:,} places"
            raise PydanticCustomError(UNSUPPORTED, "{message}", {"message": message}) from None


class RequestBody(BoundedBody):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_omitted(cls, body: Any) -> Any:
        if not isinstance(body, Mapping):
            return body
        fields = cast("Mapping[str, Any]", body)
        known = {field.alias or name: field for name, field in cls.model_fields.items()}
        return {name: value for name, value in fields.items() if not _is_left_out(value, known.get(name))}


def _is_left_out(value: object, field: FieldInfo | None) -> bool:
    if value is not None or field is None or field.is_required():
        return False
    return field.default is not None and type(None) not in get_args(field.annotation)


class _Arguments(RequestBody):
    """The body of a request for a verb."""

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, body: Any) -> Any:
        types = {field.alias or name: field.annotation for name, field in cls.model_fields.items()}
        return _renamed(body, types) if isinstance(body, Mapping) else body


class _WrittenArguments(_Arguments):
    """The body for a verb that writes files: a lone surrogate, which JSON allows and files do not, is refused."""

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, body: Any) -> Any:
        try:
            json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it contains half of a character that is written as two") from None
        except (TypeError, ValueError, RecursionError):  # not JSON: the fields say what is wrong
            pass
        return body


def _renamed(fields: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, and of objects in it, under our names."""
    values = cast("Mapping[str, Any]", fields)
    meant = {name: argument_meant(name, types) for name in values}
    return {
        meant[name]: _with_own_names(value, types.get(meant[name]))
        for name, value in values.items()
        if meant[name] == name or meant[name] not in values
    }


def _with_own_names(value: Any, annotation: Any) -> Any:
    if (record := next(_records(annotation), None)) is None:
        return value
    if isinstance(value, list):
        return [_with_own_names(one, annotation) for one in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    renamed = _renamed(value, record.__annotations__)
    return {name: one for name, one in renamed.items() if one is not None or name not in record.__optional_keys__}


def _records(annotation: Any) -> Iterator[Any]:
    """Yield the `TypedDict`s of a value or of its items."""
    if is_typeddict(annotation):
        yield annotation
    for inner in get_args(annotation):
        yield from _records(inner)


@cache
def arguments_model(verb: Verb, *left_out: str) -> type[RequestBody]:
    """Return the model of a body with the arguments of a verb.

    Args:
        verb: The verb.
        left_out: Parameters that a face takes from elsewhere, such as the path.
    """
    fields: dict[str, Any] = {
        _field(one.name): (
            Annotated[one.annotation, Field(alias=one.name, description=one.description or None)],
            ... if one.required else one.default,
        )
        for one in verb.parameters.values()
        if one.name not in left_out
    }
    name = "".join(part.capitalize() for part in verb.name.split("_"))
    base = _WrittenArguments if verb.kind.files else _Arguments
    return create_model(f"{name}Request", __base__=base, __doc__=f"The arguments of `{verb.name}`.", **fields)


def checked(verb: Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, with defaults for omitted ones.

    Raises:
        InvalidInput: One is unknown, missing, of another type or out of bounds.
    """
    if unknown := sorted(set(arguments) - set(verb.parameters)):
        near = did_you_mean(nearest(unknown[0], verb.parameters))
        hint = near or f"It takes {', '.join(verb.parameters) or 'none'}."
        raise InvalidInput(f"{verb.name} has no argument '{unknown[0]}'.", hint=hint)
    try:
        return values_of(verb, arguments_model(verb).model_validate(arguments))
    except ValidationError as error:
        for entry in error.errors():
            _check_bounds(verb, entry)
        raise InvalidInput(f"The arguments of {verb.name} do not fit: {problems_of(error)}.") from None


def _check_bounds(verb: Verb, entry: ErrorDetails) -> None:
    """Refuse a number outside its bounds with the same message for all kinds.

    Raises:
        InvalidInput: The error is about such a number.
    """
    parameter = verb.parameters.get(str(entry["loc"][0])) if len(entry["loc"]) == 1 else None
    bounds = list(_metadata(parameter.annotation)) if parameter is not None else []
    least = next((one.ge for one in bounds if isinstance(one, Ge)), None)
    most = next((one.le for one in bounds if isinstance(one, Le)), None)
    if parameter is None or least is None or most is None or not entry["type"].endswith("_than_equal"):
        return
    hint = "Ask for some at a time." if parameter.name == "limit" else ""
    raise InvalidInput(f"{parameter.name} is {entry['input']}; it must be {least} to {most:,}.", hint=hint)


def _metadata(annotation: Any) -> Iterator[Any]:
    """Yield what `Annotated` says of a value, in its alternatives too."""
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        yield from _metadata(inner)


def values_of(verb: Verb, body: RequestBody) -> dict[str, Any]:
    """Return the arguments in a body of `arguments_model`."""
    return {name: getattr(body, _field(name)) for name in verb.parameters if _field(name) in type(body).model_fields}


def _field(name: str) -> str:
    """Return the attribute of an argument: some names, such as `schema`, are methods of every pydantic model."""
    return f"{name}_" if hasattr(BaseModel, name) else name
