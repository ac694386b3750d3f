"""A chat model with the OpenAI wire format: POST {base}/chat/completions.

Invariant: the key is sent only to the configured address and appears nowhere else; no caller waits longer than its
limit.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable

from pydantic import SecretStr

from thresher.core import ModelError, ModelTimeout, event
from thresher.llm.client import RequestLost, RequestRefused, ServiceClient
from thresher.llm.records import ChatRequest, Completion
from thresher.llm.service import (
    FIRST_PAUSE,
    TRIES,
    host_and_port,
    is_misfit,
    no_answer,
    refusal,
    worth_a_retry,
)
from thresher.llm.wire import HINT, Dialect, adapted, body, code_of, completion

logger = logging.getLogger("thresher.llm")


class OpenAIChat:
    """A chat model over an OpenAI-compatible service.

    Args:
        url: Base address, such as `https://api.openai.com/v1`; a query is kept.
        model: The model's name at the service.
        key: Sent as a bearer token.
        seconds: Time limit for an answer by default.
        pause: Waits between attempts.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: SecretStr | None,
        seconds: float,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = ServiceClient(url, None if key is None else key.get_secret_value(), HINT)
        self._keyed = key is not None
        self._model = model
        self._seconds = seconds
        self._pause = pause
        self._dialect = Dialect()
        self._asking: set[asyncio.Future[Completion]] = set()
        self._closed = False

    @property
    def name(self) -> str:
        """See `Chat.name`."""
        return f"{self._model}@{self._client.address.netloc.decode('ascii', 'replace')}"

    async def complete(self, request: ChatRequest, *, seconds: float | None = None) -> Completion:
        """See `Chat.complete`; raises ModelError if `close` is called meanwhile."""
        self._check()
        task = asyncio.ensure_future(self._in_time(request, self._seconds if seconds is None else seconds))
        self._asking.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            if self._closed and task.cancelled():
                self._check()
            raise
        finally:
            self._asking.discard(task)

    async def close(self) -> None:
        """Cancel running requests and close connections."""
        self._closed = True
        for task in self._asking:
            task.cancel()
        await self._client.close()

    async def _in_time(self, request: ChatRequest, seconds: float) -> Completion:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(seconds) as limit:
                answer = await self._ask(request, limit)
        except TimeoutError:
            raise ModelTimeout(
                f"The chat model did not answer within {seconds:g} s.", hint="Raise THRESHER_LLM_SECONDS."
            ) from None
        ms = round((time.perf_counter() - started) * 1000)
        event(logger, "model_answer", model=self.name, ms=ms, finish=answer.finish, usage=answer.usage)
        return answer

    async def _ask(self, request: ChatRequest, limit: asyncio.Timeout) -> Completion:
        pause, why = FIRST_PAUSE, ""
        for attempt in range(1, TRIES + 1):
            try:
                return await self._adapting(request)
            except RequestLost as error:
                why = error.why
                wait = pause if error.wait is None else error.wait
            event(logger, "model_retry", level=logging.WARNING, attempt=attempt, why=why)
            if attempt == TRIES or wait >= _left(limit):
                break
            await self._pause(wait)
            pause *= 2
        raise no_answer(why, host_and_port(self._client.address), HINT)

    async def _adapting(self, request: ChatRequest) -> Completion:
        """Try once, and at once again in another dialect if the service refuses ours; the working one is kept."""
        dialect = self._dialect
        while True:
            try:
                async with self._client.send(body(self._model, request, dialect)) as answer:
                    payload = await answer.read()
            except RequestRefused as refused:
                if is_misfit(refused.status) and (other := adapted(dialect, refused.body)) is not None:
                    dialect = other
                    continue
                if worth_a_retry(refused.status):
                    raise RequestLost(f"HTTP {refused.status}", refused.wait) from None
                code, renew = code_of(refused.body), "in THRESHER_LLM_KEY"
                raise refusal(refused.status, code, HINT, keyed=self._keyed, renew=renew) from None
            self._dialect = dialect
            return completion(payload)

    def _check(self) -> None:
        if self._closed:
            raise ModelError("The chat model is closed.")


def _left(limit: asyncio.Timeout) -> float:
    return (limit.when() or math.inf) - asyncio.get_running_loop().time()
