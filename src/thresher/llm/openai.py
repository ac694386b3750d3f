"""A chat model with the OpenAI wire format: POST {base}/chat/completions.

Invariant: the key is sent only to the configured address and appears nowhere else; no caller waits longer than its
limit, and no answer uses more memory than `LARGEST_ANSWER`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable

import httpx2
from pydantic import SecretStr

from thresher.core import ModelError, ModelTimeout, event
from thresher.llm.records import ChatRequest, Completion
from thresher.llm.service import (
    FIRST_PAUSE,
    TRIES,
    host_and_port,
    is_misfit,
    no_answer,
    refusal,
    retry_after,
    worth_a_retry,
)
from thresher.llm.wire import HINT, Dialect, adapted, body, code_of, completion

logger = logging.getLogger("thresher.llm")

LARGEST_ANSWER = 8 << 20
"""Maximum bytes of an answer: a hundred times the longest ones."""


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
        base = httpx2.URL(url)
        self._address = base.copy_with(path=base.path.rstrip("/") + "/chat/completions")
        self._model = model
        self._seconds = seconds
        self._pause = pause
        self._dialect = Dialect()
        # The size of compressed answers is unknown before they are unpacked.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        self._client = httpx2.AsyncClient(headers=headers, timeout=None)  # `complete` limits the whole
        self._asking: set[asyncio.Future[Completion]] = set()
        self._closed = False

    @property
    def name(self) -> str:
        """See `Chat.name`."""
        return f"{self._model}@{self._address.netloc.decode('ascii', 'replace')}"

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
        await self._client.aclose()

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
            answer, why, wait = await self._adapting(request)
            if answer is not None:
                return answer
            event(logger, "model_retry", level=logging.WARNING, attempt=attempt, why=why)
            wait = pause if wait is None else wait
            if attempt == TRIES or wait >= _left(limit):
                break
            await self._pause(wait)
            pause *= 2
        raise no_answer(why, host_and_port(self._address), HINT)

    async def _adapting(self, request: ChatRequest) -> tuple[Completion | None, str, float | None]:
        """Try once, and at once again in another dialect if the service refuses ours; the working one is kept."""
        dialect = self._dialect
        while True:
            status, payload, wait = await self._send(body(self._model, request, dialect))
            if not isinstance(status, int):
                return None, status, None
            if 200 <= status < 300:
                self._dialect = dialect
                return completion(payload), "", None
            if is_misfit(status) and (other := adapted(dialect, payload)) is not None:
                dialect = other
                continue
            if worth_a_retry(status):
                return None, f"HTTP {status}", wait
            keyed = "Authorization" in self._client.headers
            raise refusal(status, code_of(payload), HINT, keyed=keyed, renew="in THRESHER_LLM_KEY")

    async def _send(self, content: bytes) -> tuple[int | str, bytes, float | None]:
        """Send one request; returns status, body and Retry-After, or the kind of failure instead of the status."""
        try:
            async with self._client.stream("POST", self._address, content=content) as answer:
                return answer.status_code, await _read(answer), retry_after(answer.headers)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise ModelError("The address of the chat model cannot be used.", hint=HINT) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return "Unsecured" if "[SSL" in str(error) else type(error).__name__, b"", None

    def _check(self) -> None:
        if self._closed:
            raise ModelError("The chat model is closed.")


async def _read(answer: httpx2.Response) -> bytes:
    payload = bytearray()
    async for part in answer.aiter_bytes():
        payload += part
        if len(payload) > LARGEST_ANSWER:
            raise ModelError(f"The chat model's answer is larger than {LARGEST_ANSWER >> 20} MiB.", hint=HINT)
    return bytes(payload)


def _left(limit: asyncio.Timeout) -> float:
    return (limit.when() or math.inf) - asyncio.get_running_loop().time()
