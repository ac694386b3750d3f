"""Sends a request to a service: with retries, in the dialect that it accepts, and not at all while its breaker is open.

Invariant: nothing is sent twice once a word of the answer has arrived; a cancelled request has closed its connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from thresher.agent.models.reading import AnswerReader, whole
from thresher.agent.models.records import AnswerChunk
from thresher.core import Breaker, ModelError, ModelTimeout, ModelUnavailable, event
from thresher.llm import (
    FIRST_PAUSE,
    TRIES,
    Dialect,
    Function,
    RequestLost,
    RequestRefused,
    adapted,
    code_of,
    failure_text,
    is_misfit,
    no_answer,
    refusal,
    worth_a_retry,
)

if TYPE_CHECKING:
    from langchain_core.messages import MessageLikeRepresentation

    from thresher.agent.models.client import ModelClient

T = TypeVar("T")
Watch: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Receives the body of a request."""
_logger = logging.getLogger("thresher.agent")
_FAREWELL: Final = 0.05
"""Seconds that a service has to end its answer after the last event, so that the connection can be used again."""
_FAIR: Final = 10.0
"""Least seconds that a service must have had before a timeout counts against it."""


@dataclass(frozen=True, slots=True)
class ServiceDescription:
    """A service's description for logs and messages.

    Attributes:
        name: Its name in logs.
        hint: What to check if it fails.
        address: Its host and port.
        keyed: Whether it gets a key.
        renew: How its key is set.
    """

    name: str
    hint: str
    address: str
    keyed: bool
    renew: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request; the fields are those of `ModelClient.payload`."""

    messages: Sequence[MessageLikeRepresentation]
    functions: Sequence[Function]
    choice: str
    temperature: float | None
    max_tokens: int | None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Clock:
    """The time limits of one answer.

    Args:
        seconds: In total.
        first_seconds: Until its first word, including retries and pauses.
    """

    def __init__(self, seconds: float, first_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._seconds, self._first_seconds = seconds, min(seconds, first_seconds)
        self._start, self._end, self.due = now, now + seconds, now + self._first_seconds
        self._timer: asyncio.TimerHandle | None = None
        self._abort: Callable[[], None] = lambda: None
        self.expired = False

    def begun(self) -> None:
        """From now on apply the limit of the whole answer."""
        if self.due < self._end:
            self.due = self._end
            if self._timer is not None:
                self._set()

    def left(self) -> float:
        """Return the seconds left."""
        return self.due - self._loop.time()

    def gone(self) -> float:
        """Return the seconds since it began."""
        return self._loop.time() - self._start

    @contextmanager
    def watching(self, abort: Callable[[], None]) -> Generator[None]:
        """Cancel the block when time is up: one timer for a whole stream costs less than one per read."""
        self._abort = abort
        self._set()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def out(self) -> ModelTimeout:
        """Return the error for a timeout."""
        if self.due < self._end:
            return ModelTimeout(
                f"The chat model did not begin to answer within {self._first_seconds:g} s.",
                hint="Raise the setting first_seconds.",
            )
        return ModelTimeout(
            f"The chat model did not answer within {self._seconds:g} s.", hint="Raise the setting model_seconds."
        )

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self.due, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self._abort()


class Service:
    """One model at one service, shared by all callers.

    Args:
        connect: Creates the client.
        breaker: Decides when the service is not asked.
        about: Its description for logs and messages.
        pause: Waits between retries.
        watch: Receives each request's body before it is sent.
        fair: Least seconds that it must have had before a timeout counts against it.
    """

    def __init__(
        self,
        connect: Callable[[], ModelClient],
        breaker: Breaker,
        about: ServiceDescription,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        watch: Watch | None = None,
        fair: float = _FAIR,
    ) -> None:
        self._connect = connect
        self._client: ModelClient | None = None
        self._breaker = breaker
        self._about = about
        self._pause = pause
        self._watch = watch
        self._fair = fair
        self._dialect = Dialect()
        self._asking = 0
        self._retired = False

    async def answer(
        self, question: ModelRequest, clock: Clock, *, anyway: bool = False
    ) -> AsyncGenerator[AnswerChunk]:
        """Yield the chunks of an answer.

        Args:
            question: The request.
            clock: Its time limits.
            anyway: Whether to ask even while the breaker is open.

        Raises:
            ModelTimeout: It took too long.
            ModelError: The service cannot be reached, refuses, has an open breaker, or its answer cannot be read.
        """
        if (wait := self._breaker.attempt()) and not anyway:
            raise self._left_alone(wait)
        self._asking += 1
        try:
            first, pieces = await self._begun(question, clock)
            self._breaker.connected()
            async with aclosing(pieces):
                yield first
                async for chunk in pieces:
                    yield chunk
            self._breaker.succeeded()
        except RequestLost as error:
            self._breaker.failed(failure_text(error.why, self._about.address))
            raise ModelError("The chat model broke off its answer.", hint="Ask again.") from None
        except ModelTimeout as error:
            if clock.gone() >= self._fair:
                self._breaker.failed(error.message.rstrip("."))
            else:
                self._breaker.gave_up()
            raise
        except BaseException:
            self._breaker.gave_up()
            raise
        finally:
            self._asking -= 1
            if self._retired and not self._asking:
                await self.close()

    async def connect(self) -> None:
        """Create the client, which takes a moment."""
        self._client = await asyncio.to_thread(self._connect)

    async def retire(self) -> None:
        """Close the connections as soon as no answer is in progress; a later request opens new ones."""
        self._retired = True
        if not self._asking:
            await self.close()

    async def close(self) -> None:
        """Close the connections now."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _begun(self, question: ModelRequest, clock: Clock) -> tuple[AnswerChunk, AsyncGenerator[AnswerChunk]]:
        """Return the first chunk and the following ones, after as many tries as needed."""
        pause, why = FIRST_PAUSE, ""
        for attempt in range(1, TRIES + 1):
            try:
                return await self._adapting(question, clock)
            except RequestLost as error:
                why = error.why
                wait = pause if error.wait is None else error.wait
            event(_logger, "model_retry", level=logging.WARNING, model=self._about.name, attempt=attempt, why=why)
            if attempt == TRIES or wait >= clock.left():
                break
            await self._pause(wait)
            pause *= 2
        self._breaker.failed(failure_text(why, self._about.address))
        raise no_answer(why, self._about.address, self._about.hint)

    async def _adapting(self, question: ModelRequest, clock: Clock) -> tuple[AnswerChunk, AsyncGenerator[AnswerChunk]]:
        """Try once, and again at once in another dialect if the service refuses this one; a working one is kept."""
        client = self._client = self._client or self._connect()
        asked = question.messages, question.functions, question.choice, question.temperature, question.max_tokens
        dialect = self._dialect
        while True:
            payload = client.payload(*asked, dialect, question.more)
            if self._watch is not None:
                self._watch(payload)
            pieces = self._pieces(client, payload, clock)
            try:
                first = await anext(pieces)
            except RequestRefused as refused:
                if is_misfit(refused.status) and (other := adapted(dialect, refused.body)) is not None:
                    dialect = other
                    continue
                if worth_a_retry(refused.status):
                    raise RequestLost(f"HTTP {refused.status}", refused.wait) from None
                raise self._refusal(refused) from None
            self._dialect = dialect
            return first, pieces

    async def _pieces(self, client: ModelClient, payload: dict[str, Any], clock: Clock) -> AsyncGenerator[AnswerChunk]:
        """Yield the chunks of the answer to one request."""
        try:
            async with AsyncExitStack() as stack:
                answer = await _in_time(clock, stack.enter_async_context(client.post(payload)))
                if answer.is_whole:
                    for chunk in whole(await _in_time(clock, answer.read()), self._about.hint):
                        yield chunk
                    return
                stack.enter_context(clock.watching(answer.abort))
                reading = AnswerReader(self._about.hint)
                while not reading.done and (data := await answer.part()):
                    text = reading.feed(data)
                    if reading.begun:
                        clock.begun()
                    if text:
                        yield AnswerChunk(text)
                if reading.done:
                    await answer.finish(_FAREWELL)
                for chunk in reading.end():
                    yield chunk
        except RequestLost:
            if clock.expired:
                raise clock.out() from None
            raise

    def _refusal(self, refused: RequestRefused) -> ModelError:
        about = self._about
        return refusal(refused.status, code_of(refused.body), about.hint, keyed=about.keyed, renew=about.renew)

    def _left_alone(self, seconds: float) -> ModelError:
        breaker = self._breaker
        return ModelUnavailable(
            f"The chat model failed {breaker.failures} times in a row and is left alone "
            f"for {max(seconds, 1):.0f} s more; the last time: {breaker.reason}.",
            hint="Wait, or take another model.",
        )


async def _in_time(clock: Clock, work: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout_at(clock.due):
            return await work
    except TimeoutError:
        raise clock.out() from None
