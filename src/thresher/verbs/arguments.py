"""Checks the arguments of verbs, and the bodies of requests.

Invariant: unknown names are refused; null counts as an omitted argument, unless it is accepted; a request with very
many mistakes makes one error.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Self, cast, get_args

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
from pydantic_core import PydanticCustomError

from thresher.core import UNSUPPORTED, InvalidInput, did_you_mean, nearest, problems_of
from thresher.verbs.declaration import Verb

_MOST_ERRORS: Final = 1_000
_MOST_VALUES: Final = 100_000


class BoundedBody(BaseModel):
    """A body whose validation takes bounded time: it has a bounded number of values, and makes few errors."""

    @model_validator(mode="wrap")
    @classmethod
    def _bounded(cls, body: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if _has_more_values(body, _MOST_VALUES):
            message = f"has more than {_MOST_VALUES:,} values"
            raise PydanticCustomError(UNSUPPORTED, "{message}", {"message": message})
        try:
            return handler(body)
        except ValidationError as error:
            if (count := error.error_count()) <= _MOST_ERRORS:
                raise
            message = f"is wrong in {count:,} places"
            raise PydanticCustomError(UNSUPPORTED, "{message}", {"message": message}) from None


def _has_more_values(value: object, most: int) -> bool:
    """Whether there are more values than this in lists and objects, at any depth."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        one = waiting.pop()
        inner = list(cast("Mapping[str, object]", one).values()) if isinstance(one, Mapping) else one
        if isinstance(inner, list):
            count += len(cast("list[object]", inner))
            waiting += [each for each in cast("list[object]", inner) if isinstance(each, list | dict)]
    return count > most


class RequestBody(BoundedBody):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _given(cls, body: Any) -> Any:
        if not isinstance(body, Mapping):
            return body
        fields = cast("Mapping[str, Any]", body)
        known = {field.alias or name: field for name, field in cls.model_fields.items()}
        return {name: value for name, value in fields.items() if not _is_left_out(value, known.get(name))}


def _is_left_out(value: object, field: FieldInfo | None) -> bool:
    if value is not None or field is None or field.is_required():
        return False
    return field.default is not None and type(None) not in get_args(field.annotation)


@cache
def arguments_model(verb: Verb, *left_out: str) -> type[RequestBody]:
    """The arguments of a verb as a body.

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
    return create_model(f"{name}Request", __base__=RequestBody, __doc__=f"The arguments of `{verb.name}`.", **fields)


def checked(verb: Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with those that are left out at their defaults.

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
        raise InvalidInput(f"The arguments of {verb.name} do not fit: {problems_of(error)}.") from None


def values_of(verb: Verb, body: RequestBody) -> dict[str, Any]:
    """The arguments in a body of `arguments_model`."""
    return {name: getattr(body, _field(name)) for name in verb.parameters if _field(name) in type(body).model_fields}


def _field(name: str) -> str:
    """The attribute for an argument: some names, such as `schema`, are methods of every pydantic model."""
    return f"{name}_" if hasattr(BaseModel, name) else name
