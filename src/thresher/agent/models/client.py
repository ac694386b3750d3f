"""Sends requests to a model's service.

LangChain builds them, the official client sends them, and `reading` reads the answers.

Invariant: nothing of this process's environment is sent to a service, and only what is written here; the key is only in
the header of that service's requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import httpcore2
import httpx2
import openai
from langchain_core.messages import MessageLikeRepresentation
from langchain_openai import ChatOpenAI

from thresher.agent.models.failures import RequestLost, RequestRefused
from thresher.agent.models.transport import ServiceTransport
from thresher.core import ModelError
from thresher.llm import Dialect, Function, retry_after, tool_of

logging.getLogger("openai").setLevel(logging.WARNING)  # at lower levels it logs requests, whatever OPENAI_LOG says


_BROKEN: Final = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, httpcore2.ProxyError)
_NO_JSON: Final = "Leave out numbers without an end, halves of characters, and what is nested beyond reason."
_UNUSABLE: Final = (httpcore2.UnsupportedProtocol, httpcore2.LocalProtocolError, httpx2.InvalidURL)


class ModelClient:
    """One model at one service.

    Args:
        url: The service's address; its query is sent with every request.
        model: The service's name for the model.
        key: Sent as a bearer token; None for no key.
        hint: What to check if the service fails.
    """

    def __init__(self, url: str, model: str, key: str | None, hint: str) -> None:
        self._hint = hint
        address = httpx2.URL(url)
        self._web = httpx2.AsyncClient(transport=ServiceTransport(address, key, hint), timeout=None)
        self._service = openai.AsyncOpenAI(
            api_key="none",
            base_url=str(address.copy_with(query=None)),
            default_query=dict(address.params),
            max_retries=0,
            timeout=None,
            http_client=self._web,
        )
        self._model = _RequestBuilder(
            model=model,
            base_url=str(address.copy_with(query=None)),
            api_key=_no_key,
            async_client=self._service.chat.completions,
            root_async_client=self._service,
            openai_proxy=None,
            use_responses_api=False,
            output_version="v0",
            stream_chunk_timeout=None,
        )

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
        fields: dict[str, Any] = {**more, "stream": True}
        if not functions:
            fields.pop("parallel_tool_calls", None)
        if temperature is not None and dialect.temperature:
            fields["temperature"] = temperature
        if functions:
            fields["tools"] = [tool_of(function) for function in functions]
            if choice != "auto" and dialect.choice:
                fields["tool_choice"] = _choice(choice)
        if dialect.usage:
            fields["stream_options"] = {"include_usage": True}
        payload = self._model.payload(messages, fields)
        if not dialect.temperature:
            payload.pop("temperature", None)
        if max_tokens is not None:
            payload[dialect.limit] = max_tokens
        return payload

    @asynccontextmanager
    async def post(self, payload: Mapping[str, Any]) -> AsyncGenerator[ServiceAnswer]:
        """Send a request; the block has an answer with a successful status.

        Raises:
            RequestRefused: The service refuses.
            RequestLost: The connection broke, or could not be made.
            ModelError: The address cannot be used.
        """
        sent = False
        try:
            # The body is sent as it is: the library would process each message again.
            create = cast("Any", self._service.chat.completions.with_streaming_response).create
            async with create(model="", messages=[], stream=True, extra_body=payload) as answer:
                sent = True
                yield ServiceAnswer(answer.http_response)
        except openai.APIStatusError as error:
            response = error.response
            raise RequestRefused(response.status_code, response.content, retry_after(response.headers)) from None
        except openai.APIConnectionError as error:
            raise self._lost(error.__cause__ or error) from None
        except _BROKEN as error:
            raise self._lost(error) from None
        except (ValueError, TypeError, RecursionError):
            if sent:
                raise
            raise ModelError("What the model is asked cannot be written as JSON.", hint=_NO_JSON) from None

    def _lost(self, error: BaseException) -> Exception:
        if isinstance(error, ModelError):
            return error
        if isinstance(error, _UNUSABLE):
            return ModelError("The address of the chat model cannot be used.", hint=self._hint)
        return RequestLost(type(error).__name__)

    async def close(self) -> None:
        """Close the connections."""
        await self._web.aclose()


class ServiceAnswer:
    """An answer that has begun to arrive.

    Args:
        response: With a successful status.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        packed = response.headers.get("content-encoding", "identity") != "identity"
        self._parts = response.aiter_bytes() if packed else aiter(cast("httpx2.AsyncByteStream", response.stream))
        kind = response.headers.get("content-type", "")
        self.is_whole = "json" in kind and "event-stream" not in kind

    def abort(self) -> None:
        """Close the connection now; a reader gets an error."""
        self._response.extensions["network_stream"].abort()

    async def read(self) -> bytes:
        """Return the whole answer."""
        return await self._response.aread()

    async def part(self) -> bytes:
        """Return what has arrived since the last part; empty at the end."""
        return await anext(self._parts, b"")

    async def finish(self, seconds: float) -> None:
        """Wait briefly for its end, so that the connection can be used again."""
        with suppress(TimeoutError, *_BROKEN):
            async with asyncio.timeout(seconds):
                while await self.part():
                    pass


class _RequestBuilder(ChatOpenAI):
    """LangChain's chat model, used only to build requests."""

    def payload(self, messages: Sequence[MessageLikeRepresentation], fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body that it would send."""
        make = cast("Callable[..., dict[str, Any]]", self._get_request_payload)  # pyright: ignore[reportUnknownMemberType] - untyped there
        return make(list(messages), **fields)


async def _no_key() -> str:
    """Return a placeholder for the libraries: the real key is added to requests when they are sent."""
    return "none"


def _choice(choice: str) -> Any:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}
