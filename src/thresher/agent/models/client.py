"""Writes the requests of conversations: LangChain's messages and our functions as the wire format has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from langchain_core.messages import MessageLikeRepresentation, convert_to_openai_messages

from thresher.core import ModelError
from thresher.llm import Dialect, Function, ServiceAnswer, ServiceClient, tool_of

_NO_JSON: Final = "Leave out numbers without an end, halves of characters, and what is nested beyond reason."


class ModelClient(ServiceClient):
    """One model at one service.

    Args:
        url: The service's address; its query is sent with every request.
        model: The service's name for the model.
        key: Sent as a bearer token; None for no key.
        hint: What to check if the service fails.
    """

    def __init__(self, url: str, model: str, key: str | None, hint: str) -> None:
        super().__init__(url, key, hint)
        self._model = model

    def payload(
        self,
        messages: Sequence[MessageLikeRepresentation],
        functions: Sequence[Function],
        choice: str,
        temperature: float | None,
        max_tokens: int | None,
        dialect: Dialect,
        more: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return a request's body, with the options that the service accepts.

        Args:
            messages: The conversation.
            functions: Tools that the model may call.
            choice: `auto`, `none`, `required` or a function's name.
            temperature: None for the service's own.
            max_tokens: Of the answer; None for the service's own limit.
            dialect: The variant of the wire format that the service accepts.
            more: Further fields, sent unchanged; those about functions are sent only with functions.
        """
        written = convert_to_openai_messages(list(messages))
        for message in written:
            if message.get("tool_calls"):
                message["content"] = message["content"] or None  # some services take no empty text
        fields: dict[str, Any] = {**more, "model": self._model, "messages": written, "stream": True}
        if not functions:
            fields.pop("parallel_tool_calls", None)
        if temperature is not None and dialect.temperature:
            fields["temperature"] = temperature
        if functions:
            fields["tools"] = [tool_of(function) for function in functions]
            if choice != "auto" and dialect.choice:
                fields["tool_choice"] = _choice(choice)
        if not dialect.temperature:
            fields.pop("temperature", None)
        if dialect.usage:
            fields["stream_options"] = {"include_usage": True}
        if max_tokens is not None:
            fields[dialect.limit] = max_tokens
        return fields

    def post(self, payload: Mapping[str, Any]) -> AbstractAsyncContextManager[ServiceAnswer]:
        """Send a request; see `send`.

        Raises:
            ModelError: The request cannot be written as JSON.
        """
        try:
            content = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (ValueError, TypeError, RecursionError):
            raise ModelError("What the model is asked cannot be written as JSON.", hint=_NO_JSON) from None
        return self.send(content)


def _choice(choice: str) -> Any:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}
