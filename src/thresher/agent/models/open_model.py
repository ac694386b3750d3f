"""An open model, with the settings of the conversation that uses it.

Invariant: leaving a stream closes its connection.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from thresher.agent.models.records import AnswerChunk
from thresher.agent.models.requests import Clock, ModelRequest, Service
from thresher.agent.settings import ChatSettings
from thresher.llm import Completion, Function, Usage

if TYPE_CHECKING:
    from langchain_core.messages import MessageLikeRepresentation


class OpenModel:
    """A model for one turn.

    Args:
        name: Its name in Thresher.
        address: The host of its service, with the port if it has one.
        service: Sends requests.
        settings: Used if a call does not say otherwise.
        anyway: Whether to ask the service even while its breaker is open.
    """

    def __init__(
        self, name: str, address: str, service: Service, settings: ChatSettings, *, anyway: bool = False
    ) -> None:
        self.name = name
        self.address = address
        self._service = service
        self._settings = settings
        self._anyway = anyway

    async def stream(
        self,
        messages: Sequence[MessageLikeRepresentation],
        *,
        functions: Sequence[Function] = (),
        choice: str = "auto",
        temperature: float | None = None,
        max_tokens: int | None = None,
        seconds: float | None = None,
        first_seconds: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AnswerChunk]:
        """Stream the answer: chunks of text, and a last one with everything else.

        Close the generator (`contextlib.aclosing`) if it is left before its end: that ends the answer.

        Args:
            messages: The conversation, as LangChain's messages.
            functions: Tools that the model may call.
            choice: `auto`, `none`, `required` or a function's name.
            temperature: None as in the settings, which may leave it to the service.
            max_tokens: Of the answer; None likewise.
            seconds: For the whole answer; None as in the settings.
            first_seconds: Until it begins, including retries and pauses; None as in the settings.
            more: Fields of the wire format that are sent unchanged, such as `stop`.

        Raises:
            ModelTimeout: It took too long.
            ModelError: The model cannot be reached, refuses, has an open breaker, or its answer cannot be read.
        """
        given = self._settings
        question = ModelRequest(
            messages,
            functions,
            choice,
            given.temperature if temperature is None else temperature,
            given.max_tokens if max_tokens is None else max_tokens,
            more or {},
        )
        clock = Clock(
            given.model_seconds if seconds is None else seconds,
            given.first_seconds if first_seconds is None else first_seconds,
        )
        async with aclosing(self._service.answer(question, clock, anyway=self._anyway)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def complete(
        self,
        messages: Sequence[MessageLikeRepresentation],
        *,
        functions: Sequence[Function] = (),
        choice: str = "auto",
        temperature: float | None = None,
        max_tokens: int | None = None,
        seconds: float | None = None,
        first_seconds: float | None = None,
    ) -> Completion:
        """Wait for the whole answer; arguments and errors as for `stream`."""
        texts: list[str] = []
        last = AnswerChunk()
        async with aclosing(
            self.stream(
                messages,
                functions=functions,
                choice=choice,
                temperature=temperature,
                max_tokens=max_tokens,
                seconds=seconds,
                first_seconds=first_seconds,
            )
        ) as chunks:
            async for last in chunks:
                texts.append(last.text)
        text = "".join(texts).strip()
        return Completion(text, last.finish or "other", last.calls, last.usage or Usage(), last.model)
