"""The base of the bodies of requests.

Invariant: unknown fields are refused; null counts as an omitted field, as for MCP clients, unless the field
accepts null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo


class RequestBody(BaseModel):
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
