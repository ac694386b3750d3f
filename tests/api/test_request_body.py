"""Null in the body of a request: it stands for a field that is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from thresher.api.chat.bodies import ChatBody
from thresher.context import DEFAULT_BUDGET
from thresher.verbs import CONTEXT, TOOLS, RequestBody, arguments_model

ContextRequest = arguments_model(CONTEXT["get_context"])
FindRequest = arguments_model(TOOLS["find_tools"])


def bodies(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Every kind of body."""
    for body in base.__subclasses__():
        yield body
        yield from bodies(body)


def refused(body: type[BaseModel], name: str) -> bool:
    """Whether null in a field is refused; what else the body lacks does not matter."""
    try:
        body.model_validate({name: None})
    except ValidationError as error:
        return any(name in entry["loc"] for entry in error.errors())
    return False


def test_null_gives_the_default() -> None:
    """An empty list, a number."""
    assert FindRequest.model_validate({"message": "x", "history": None}).history == []
    assert ContextRequest.model_validate({"message": "x", "budget": None}).budget == DEFAULT_BUDGET


WRONG = [
    (FindRequest, {"queries": [1] * 1_300_000}),
    (FindRequest, {f"f{number}": 1 for number in range(300_000)}),
    (ChatBody, {"messages": [{"a": 1}] * 10_000}),
    (ChatBody, {"messages": [{"role": "user"}] * 300_000}),
    (ChatBody, {"messages": [{"role": "assistant", "tool_calls": [{"a": 1}] * 300_000}]}),
    (FindRequest, {"message": "x", "servers": [[[]]] * 600_000}),
]


@pytest.mark.parametrize(
    ("kind", "body"), WRONG, ids=["values", "fields", "messages", "many messages", "calls", "lists"]
)
def test_a_body_with_very_many_mistakes_makes_few_errors(kind: type[BaseModel], body: Mapping[str, Any]) -> None:
    """Each error costs more than the value that it is about."""
    with pytest.raises(ValidationError) as refusal:
        kind.model_validate(body)

    assert refusal.value.error_count() == 1


def test_every_optional_field_takes_null() -> None:
    """In every body; a field that is needed does not."""
    optional = [
        (body, field.alias or name)
        for body in bodies(RequestBody)
        for name, field in body.model_fields.items()
        if not field.is_required()
    ]

    assert [(body.__name__, name) for body, name in optional if refused(body, name)] == []
    with pytest.raises(ValidationError):
        ContextRequest.model_validate({"message": None})
