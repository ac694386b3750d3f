"""The base of the bodies of requests.

Invariant: unknown fields are refused; null counts as an omitted field, as for MCP clients, unless the field
accepts null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self, cast, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from thresher.core import UNSUPPORTED

_MOST_ERRORS: Final = 1_000


class BoundedBody(BaseModel):
    """A body whose validation makes at most about a thousand errors: each of a million would take time and memory."""

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
