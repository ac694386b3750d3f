"""An encoder over the OpenAI wire format: POST {base}/embeddings.

Invariant: the key is sent only to the configured address and shown nowhere; an answer is used only if it has one finite
vector of the right length for each text. A query never waits for a service that is known to be unavailable.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import httpx2
import numpy as np
from pydantic import SecretStr

from thresher.core import Breaker, EncoderError, Pauses, event
from thresher.embedding.cache import QueryCache
from thresher.embedding.onnx import batches, normalised
from thresher.embedding.protocol import EncoderModel, Matrix, Windows
from thresher.embedding.tokens import count_tokens, printable, token_core
from thresher.embedding.windows import Span, cut, keep_ends

logger = logging.getLogger("thresher.embedding")

KNOWN = {
    "text-embedding-3-small": (1536, 8191),
    "text-embedding-3-large": (3072, 8191),
    "text-embedding-ada-002": (1536, 8191),
}
"""Dimension and token limit of OpenAI's models, from their documentation."""
OTHER_MAX_TOKENS = 512
"""The limit of most self-hosted encoders; longer texts are cut into windows."""
BATCH_TEXTS, BATCH_TOKENS = 128, 32768
"""OpenAI accepts 2,048 texts and 300,000 tokens; self-hosted services far fewer. A batch that is not answered in time
is halved, and so are those after it."""
TRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds: the pause doubles after each try; a server's Retry-After takes precedence, up to the longest pause."""
QUERY_SECONDS = 10.0
"""How long a query waits for an answer or another try: a person waits, and search by words works without vectors."""
_PAUSES = Pauses(failures=1, pause=1.0, longest=30.0)
"""Intervals of the background check for an unavailable service."""
_WORTH_A_RETRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_TIMED_OUT = "no answer in time"
_UNAVAILABLE = frozenset({_TIMED_OUT, httpx2.ConnectError.__name__})
"""Reasons for which a query is not tried again: it would fail, or take as long, again."""
_HINT = "Check THRESHER_ENCODER_URL, THRESHER_ENCODER_KEY and THRESHER_ENCODER_MODEL."


class OpenAIEncoder:
    """An encoder over an OpenAI-compatible service.

    Args:
        url: Base address, such as `https://api.openai.com/v1`.
        model: The model's name at the service.
        key: Sent as a bearer token.
        dimension: Length of a vector; None for the model's known one, or else the one of the first answer.
        cache: Cache of query vectors.
        timeout: Seconds for one request; a query's has `QUERY_SECONDS` at most.
        pause: Waits between tries.
        breaker: Opens at the first failure; while it is open, queries fail at once and the service is checked in the
            background.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: SecretStr | None,
        dimension: int | None,
        cache: QueryCache,
        timeout: float = 30.0,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        breaker: Breaker | None = None,
    ) -> None:
        known_dimension, max_tokens = KNOWN.get(model, (0, OTHER_MAX_TOKENS))
        self._address = url.rstrip("/") + "/embeddings"
        self._name = model
        self._requested_dimension = dimension if dimension != known_dimension and known_dimension else None
        self._dimension = dimension or known_dimension
        self._max_tokens = max_tokens
        self._cache = cache
        self._batch = BATCH_TEXTS
        self._timeout = timeout
        self._pause = pause
        self._breaker = breaker or Breaker(_PAUSES)
        self._probing: asyncio.Task[None] | None = None
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key is not None else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=timeout)
        self._requests: set[asyncio.Future[Matrix]] = set()
        self._closed = False

    @property
    def model(self) -> EncoderModel:
        """The model; until its dimension is known, the dimension is 0 and the id empty.

        The id contains the dimension, because vectors of different dimensions never compare, and the address, because
        services reuse names.
        """
        host = httpx2.URL(self._address).netloc.decode("ascii", "replace")
        name = f"{self._name}@{host}/{self._dimension}" if self._dimension else ""
        return EncoderModel(name, self._dimension, self._max_tokens)

    async def warm(self) -> EncoderModel:
        """See `Encoder.warm`; calls the service only if the dimension is unknown."""
        self._check()
        if not self._dimension:
            self._check_reachable()
            await self._send(["dimension"], waiting=False)
        return self.model

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        """See `Encoder.embed_queries`; these models have no prefix."""
        del prefixed
        vectors = {text: self._cache.get(text) for text in texts}
        missing = [text for text, vector in vectors.items() if vector is None]
        for text, vector in zip(missing, await self._embed(missing, waiting=True), strict=True):
            self._cache.put(text, vector)
            vectors[text] = vector
        return await self._stacked([vectors[text] for text in texts])

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.embed_documents`; each distinct text is sent once."""
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        vectors = await self._embed(list(place), waiting=False)
        return await self._stacked([vectors[place[text]] for text in texts])

    async def prepare(self) -> None:
        """See `Encoder.prepare`; a service needs no preparation."""

    def windows(self, text: str, *, tokens: int | None = None, most: int = 8) -> Windows:
        """See `Encoder.windows`; tokens are o200k's, an estimate for other tokenizers."""
        size = min(tokens or self._max_tokens, self._max_tokens)
        text = printable(text)
        if count_tokens(text) <= size:
            return Windows([text])
        spans, left_out = keep_ends(cut(_offsets(text), size=size, overlap=size // 8), max(1, most))
        return Windows((text[start:end] for start, end in spans), left_out)

    async def close(self) -> None:
        """See `Encoder.close`."""
        self._closed = True
        for task in self._requests:
            task.cancel()
        if self._probing is not None:
            self._probing.cancel()
        await self._client.aclose()

    async def _stacked(self, rows: Sequence[Matrix | None]) -> Matrix:
        model = await self.warm()
        result = np.zeros((len(rows), model.dimension), np.float32)
        for index, row in enumerate(rows):
            result[index] = row
        return result

    async def _embed(self, texts: Sequence[str], *, waiting: bool) -> list[Matrix]:
        self._check()
        if waiting and texts:
            self._check_reachable()
        sent = [self._readable(text) for text in texts]
        vectors: dict[int, Matrix] = {}
        for group in batches([min(len(text), 4 * self._max_tokens) for text in sent], BATCH_TOKENS):
            left = list(group)
            while left:
                part, left = left[: self._batch], left[self._batch :]
                rows = await self._send([sent[index] for index in part], waiting=waiting)
                vectors |= dict(zip(part, rows, strict=True))
        return [vectors[index] for index in range(len(texts))]

    def _readable(self, text: str) -> str:
        """The text as the service accepts it: not empty, not longer than the model reads."""
        return next(iter(self.windows(text[: self._max_tokens * 32], most=1)), "") or " "

    async def _send(self, texts: Sequence[str], *, waiting: bool) -> Matrix:
        """Send one batch; raises EncoderError if `close` is called meanwhile.

        Args:
            texts: The batch.
            waiting: Whether a person waits for the result.
        """
        self._check()
        task = asyncio.ensure_future(self._send_retrying(texts, waiting=waiting))
        self._requests.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._closed and task.cancelled():
                self._check()
            raise
        finally:
            self._requests.discard(task)

    async def _send_retrying(self, texts: Sequence[str], *, waiting: bool) -> Matrix:
        seconds = min(self._timeout, QUERY_SECONDS) if waiting else self._timeout
        tries = 1 if self._breaker.failures else TRIES
        pause, why, attempt = FIRST_PAUSE, "", 1
        for attempt in range(1, tries + 1):
            answer, why, wait = await self._try(texts, seconds)
            if answer is not None:
                self._breaker.succeeded()
                return self._vectors(answer, len(texts))
            event(logger, "encoder_retry", level=logging.WARNING, attempt=attempt, why=why)
            if why == _TIMED_OUT and len(texts) > 1 and not waiting:
                self._batch = half = len(texts) // 2
                parts = [await self._send_retrying(some, waiting=False) for some in (texts[:half], texts[half:])]
                return np.concatenate(parts)
            wait = min(LONGEST_PAUSE, pause if wait is None else wait)
            if attempt == tries or (waiting and (why in _UNAVAILABLE or wait >= QUERY_SECONDS)):
                break
            await self._pause(wait)
            pause *= 2
        if not self._breaker.failures:
            self._breaker.failed(why)
        self._probe()
        tried = f" after {attempt} tries" if attempt > 1 else ""
        raise EncoderError(f"The embedding service did not answer{tried}: {why}.", hint=_HINT)

    def _check_reachable(self) -> None:
        """Raise EncoderError if the breaker is open."""
        if self._breaker.failures:
            self._probe()
            raise EncoderError(
                f"The embedding service did not answer ({self._breaker.reason}) and is checked in the background.",
                hint=_HINT,
            )

    def _probe(self) -> None:
        """Check the service in the background until it answers."""
        if not self._closed and (self._probing is None or self._probing.done()):
            self._probing = asyncio.create_task(self._probe_until_available())

    async def _probe_until_available(self) -> None:
        while self._breaker.failures:
            await asyncio.sleep(self._breaker.remaining)
            try:
                answer, why, _ = await self._try(["dimension"], min(self._timeout, QUERY_SECONDS))
            except EncoderError:  # it refuses at once, and the next caller gets the reason
                self._breaker.succeeded()
                return
            if answer is None:
                self._breaker.failed(why)
            else:
                self._breaker.succeeded()
                event(logger, "encoder_back")

    async def _try(self, texts: Sequence[str], seconds: float) -> tuple[httpx2.Response | None, str, float | None]:
        """Send one request; return the answer, or the reason of the failure and the delay that the server asks for.

        Raises:
            EncoderError: The service refused; another try would be refused too.
        """
        body: dict[str, Any] = {"model": self._name, "input": list(texts)}
        if self._requested_dimension is not None:
            body["dimensions"] = self._requested_dimension
        try:
            answer = await self._client.post(self._address, json=body, timeout=seconds)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise EncoderError("The address of the embedding service cannot be used.", hint=_HINT) from None
        except httpx2.TimeoutException:
            return None, _TIMED_OUT, None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return None, type(error).__name__, None
        if answer.is_success:
            return answer, "", None
        if answer.status_code in _WORTH_A_RETRY:
            return None, f"HTTP {answer.status_code}", _retry_after(answer)
        raise EncoderError(f"The embedding service refused: HTTP {answer.status_code}.", hint=_HINT)

    def _vectors(self, answer: httpx2.Response, count: int) -> Matrix:
        rows = _rows(answer)
        if len(rows) != count:
            raise EncoderError(f"The embedding service gave {len(rows)} vectors for {count} texts.", hint=_HINT)
        dimension = self._dimension or len(rows[0])
        if dimension == 0 or any(len(row) != dimension for row in rows):
            lengths = sorted({len(row) for row in rows})
            raise EncoderError(
                f"The embedding service gave vectors of {lengths} dimensions, not {dimension}.", hint=_HINT
            )
        matrix = np.stack(rows)
        if not np.isfinite(matrix).all():
            raise EncoderError("The embedding service gave a vector that is not finite.", hint=_HINT)
        self._dimension = dimension
        return normalised(matrix)

    def _check(self) -> None:
        if self._closed:
            raise EncoderError("The encoder is closed.")


def _rows(answer: httpx2.Response) -> list[Matrix]:
    try:
        entries = cast("list[dict[str, Any]]", answer.json()["data"])
        places = [entry.get("index", place) for place, entry in enumerate(entries)]
        if sorted(places) != list(range(len(entries))):
            raise ValueError("the indices are not 0 to n-1")
        return [_row(entry["embedding"]) for _, entry in sorted(zip(places, entries, strict=True), key=lambda p: p[0])]
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
        raise EncoderError(f"The embedding service's answer cannot be read: {error}.", hint=_HINT) from error


def _row(value: Any) -> Matrix:
    """A vector from the wire: a list of numbers, or base64 of little-endian float32."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
    row = np.asarray(value, np.float32)
    if row.ndim != 1:
        raise ValueError("an embedding is not a list of numbers")
    return row


def _retry_after(answer: httpx2.Response) -> float | None:
    try:
        seconds = float(answer.headers["retry-after"])
    except (KeyError, ValueError):  # the header may also be a date; then our own pause is used
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _offsets(text: str) -> list[Span]:
    """A span for each o200k token: each pretokenised piece, repeated for its number of tokens."""
    core = token_core()
    spans: list[Span] = []
    start = 0
    for piece in core.pretokenize(text):
        spans += [(start, start + len(piece))] * core.count(piece)
        start += len(piece)
    return spans
