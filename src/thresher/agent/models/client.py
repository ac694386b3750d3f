"""LangChain's chat model as it asks a service: what is sent, and over which connection.

LangChain makes the request of its messages and of the functions; the official client sends it. The answer is read by
`reading`.

Invariant: of this process' environment nothing goes to a service, and nothing but what is written here; the key is in
the header of that service's requests alone.
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

logging.getLogger("openai").setLevel(logging.WARNING)  # below it logs what is asked, OPENAI_LOG or not


_BROKEN: Final = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, httpcore2.ProxyError)
_NO_JSON: Final = "Leave out numbers without an end, halves of characters, and what is nested beyond reason."
_UNUSABLE: Final = (httpcore2.UnsupportedProtocol, httpcore2.LocalProtocolError, httpx2.InvalidURL)


class ModelClient:
    """One model at one service.

    Args:
        url: The service's address; its query is sent with every request.
        model: The service's name for the model.
        key: Sent as a bearer token; None: none is.
        hint: What to check where the service fails.
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
        """A request's body, with what the service takes.

        Args:
            messages: The conversation.
            functions: Tools that the model may call.
            choice: `auto`, `none`, `required` or a function's name.
            temperature: None: the service's own.
            max_tokens: Of the answer; None: the service's own limit.
            dialect: How the service wants to be asked.
            more: What is sent besides, as it stands; what is about functions goes with functions alone.
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
        """Send a request; the block has an answer whose status says success.

        Raises:
            Refused: The service refuses.
            Lost: The connection broke, or could not be made.
            ModelError: The address cannot be used.
        """
        sent = False
        try:
            # The body goes as it is: the library would look at each message again.
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
        """End the connections."""
        await self._web.aclose()


class ServiceAnswer:
    """An answer that has begun to come.

    Args:
        response: Whose status says success.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        packed = response.headers.get("content-encoding", "identity") != "identity"
        self._parts = response.aiter_bytes() if packed else aiter(cast("httpx2.AsyncByteStream", response.stream))
        kind = response.headers.get("content-type", "")
        self.is_whole = "json" in kind and "event-stream" not in kind

    def abort(self) -> None:
        """End the connection now; a reader finds it broken."""
        self._response.extensions["network_stream"].abort()

    async def read(self) -> bytes:
        """All of it."""
        return await self._response.aread()

    async def part(self) -> bytes:
        """What has come since the last part; nothing at the end."""
        return await anext(self._parts, b"")

    async def finish(self, seconds: float) -> None:
        """Wait a moment for its end, so that the connection can serve again."""
        with suppress(TimeoutError, *_BROKEN):
            async with asyncio.timeout(seconds):
                while await self.part():
                    pass


class _RequestBuilder(ChatOpenAI):
    """LangChain's chat model, of which the requests are wanted alone."""

    def payload(self, messages: Sequence[MessageLikeRepresentation], fields: Mapping[str, Any]) -> dict[str, Any]:
        """What it would send."""
        make = cast("Callable[..., dict[str, Any]]", self._get_request_payload)  # pyright: ignore[reportUnknownMemberType] - untyped there
        return make(list(messages), **fields)


async def _no_key() -> str:
    """What stands in for a key in the libraries: the real one is added to requests on their way out."""
    return "none"


def _choice(choice: str) -> Any:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}
