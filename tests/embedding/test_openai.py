from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import SecretStr

from tests.embedding.conftest import KEY
from tests.fakes.embedding_server import DIMENSION, EmbeddingServer, vector
from tests.support.waiting import eventually
from thresher.core import Breaker, EncoderError, Pauses
from thresher.embedding.cache import QueryCache
from thresher.embedding.openai import BATCH_TEXTS, LONGEST_PAUSE, TRIES, OpenAIEncoder

Open = Callable[..., OpenAIEncoder]


@pytest.fixture
def pauses() -> list[float]:
    """How long the encoder waited between tries."""
    return []


@pytest.fixture
async def connect(service: EmbeddingServer, pauses: list[float]) -> AsyncIterator[Open]:
    """Opens encoders on the fake service and closes them after the test; their pauses take no time."""
    opened: list[OpenAIEncoder] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    def opener(url: str = service.url, model: str = "fake", **options: Any) -> OpenAIEncoder:
        options = {"key": SecretStr(KEY), "dimension": None, "pause": pause, "timeout": 10.0} | options
        opened.append(OpenAIEncoder(url, model, cache=QueryCache(100, 300), **options))
        return opened[-1]

    yield opener
    for encoder in opened:
        await encoder.close()


@pytest.mark.parametrize("mode", ["good", "base64", "shuffled"])
async def test_vectors_come_in_the_texts_order(connect: Open, service: EmbeddingServer, mode: str) -> None:
    """As lists or base64, ordered by their index and normalised."""
    service.mode = mode
    texts = ["first", "second", "third"]

    rows = await connect().embed_queries(texts)

    expected = np.array([vector(text) for text in texts])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


async def test_the_dimension_is_read_once(connect: Open, service: EmbeddingServer) -> None:
    """From the first answer, or by a request."""
    encoder = connect()
    assert encoder.model.dimension == 0
    assert encoder.model.id == ""

    assert (await encoder.warm()).dimension == DIMENSION
    await encoder.warm()

    assert encoder.model.dimension == DIMENSION
    assert encoder.model.id.endswith(f"/{DIMENSION}")
    assert len(service.requests) == 1


async def test_two_dimensions_never_share_an_id(connect: Open, service: EmbeddingServer) -> None:
    """Until the service has shown its dimension there is no id, so that nothing is stored under it."""
    unknown = connect()
    short, long = connect(dimension=DIMENSION), connect(dimension=16)

    ids = {short.model.id, long.model.id}

    assert len(ids) == 2
    assert unknown.model.id == ""
    assert (await unknown.warm()).id == short.model.id


async def test_a_known_model_needs_no_request_and_a_shorter_vector_is_requested(
    connect: Open, service: EmbeddingServer
) -> None:
    """OpenAI's models can return shorter vectors."""
    assert (await connect(model="text-embedding-3-small").warm()).dimension == 1536
    assert service.requests == []

    rows = await connect(model="text-embedding-3-small", dimension=12).embed_queries(["x"])

    assert rows.shape == (1, 12)
    assert service.requests[0]["dimensions"] == 12


async def test_queries_are_cached_and_duplicates_sent_once(connect: Open, service: EmbeddingServer) -> None:
    """Each call to the service costs money."""
    encoder = connect()
    await encoder.embed_queries(["a", "b", "a"])
    await encoder.embed_queries(["b"])
    await encoder.embed_documents(["c", "c"])

    assert sorted(request["input"] for request in service.requests) == [["a", "b"], ["c"]]


async def test_many_documents_go_in_batches(connect: Open, service: EmbeddingServer) -> None:
    """And return in their order."""
    texts = [f"document {number} " * (number % 7 + 1) for number in range(2 * BATCH_TEXTS + 5)]

    rows = await connect().embed_documents(texts)

    assert len(service.requests) >= 3
    assert all(len(request["input"]) <= BATCH_TEXTS for request in service.requests)
    expected = np.array([vector(text) for text in texts])
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


async def test_texts_that_the_service_would_refuse_are_corrected(connect: Open, service: EmbeddingServer) -> None:
    """An empty one, a lone surrogate, one that is too long."""
    await connect().embed_documents(["", "\ud800", "word " * 5000])

    sent = sorted(service.requests[0]["input"], key=len)
    assert sent[0:2] == [" ", "?"]
    assert len(sent[2]) < 3000


@pytest.mark.parametrize("failure", ["429", "500", "502", "503", "drop"])
async def test_a_temporary_failure_is_tried_again(
    connect: Open, service: EmbeddingServer, pauses: list[float], failure: str
) -> None:
    """With growing pauses."""
    service.script.extend([failure, failure])

    rows = await connect().embed_queries(["x"])

    assert rows.shape == (1, DIMENSION)
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    ("header", "waited"), [("7", 7.0), ("9999", LONGEST_PAUSE), ("Fri, 01 Jan", 0.5), ("nan", 0.5)]
)
async def test_the_server_may_set_the_delay(
    connect: Open, service: EmbeddingServer, pauses: list[float], header: str, waited: float
) -> None:
    """Within bounds, and only in seconds."""
    service.script.append(f"429:{header}")

    await connect().embed_documents(["x"])

    assert pauses == [waited]


async def test_a_query_does_not_wait_for_a_far_retry(
    connect: Open, service: EmbeddingServer, pauses: list[float]
) -> None:
    """A person waits for it, and search by words works without vectors."""
    service.script.append("429:9999")

    with pytest.raises(EncoderError, match="HTTP 429"):
        await connect().embed_queries(["x"])
    assert pauses == []


async def test_a_lasting_failure_ends_after_the_last_try(connect: Open, service: EmbeddingServer) -> None:
    """With the status and what to check."""
    service.mode = "500"

    with pytest.raises(EncoderError, match=r"HTTP 500.*THRESHER_ENCODER_URL"):
        await connect().embed_queries(["x"])
    assert len(service.requests) == TRIES


@pytest.mark.parametrize("status", ["400", "401", "404", "307"])
async def test_a_refusal_is_not_tried_again(connect: Open, service: EmbeddingServer, status: str) -> None:
    """It would be refused again; a redirect would send the key elsewhere."""
    service.mode = status

    with pytest.raises(EncoderError, match=f"refused: HTTP {status}"):
        await connect().embed_queries(["x"])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("garbage", "cannot be read"),
        ("twice", "cannot be read"),
        ("scalar", "cannot be read"),
        ("short", "1 vectors for 2 texts"),
        ("nan", "not finite"),
        ("ragged", "dimensions"),
    ],
)
async def test_a_wrong_answer_is_an_error(connect: Open, service: EmbeddingServer, mode: str, words: str) -> None:
    """Never a wrong vector."""
    service.mode = mode

    with pytest.raises(EncoderError, match=words):
        await connect().embed_queries(["x", "y"])


async def test_a_dimension_other_than_the_configured_is_an_error(connect: Open) -> None:
    """The index could not store the vectors."""
    encoder = connect(model="text-embedding-3-small")

    with pytest.raises(EncoderError, match=r"\[8\] dimensions, not 1536"):
        await encoder.embed_queries(["x"])


async def test_a_batch_that_takes_too_long_is_halved(
    connect: Open, service: EmbeddingServer, pauses: list[float]
) -> None:
    """And so are the ones after it: a small model on a busy machine needs its time."""
    service.script += ["slow"]
    encoder = connect(timeout=0.2)

    rows = await encoder.embed_documents(["a", "b", "c", "d"])
    await encoder.embed_documents(["e", "f", "g"])

    assert [len(request["input"]) for request in service.requests] == [4, 2, 2, 2, 1]
    assert rows.shape == (4, DIMENSION)
    assert pauses == []


async def test_a_slow_service_times_out(connect: Open, service: EmbeddingServer, pauses: list[float]) -> None:
    """Each try of a document has its own time; a query has one try."""
    service.mode = "slow"

    with pytest.raises(EncoderError, match="no answer in time"):
        await connect(timeout=0.05).embed_documents(["x"])
    assert len(pauses) == TRIES - 1
    with pytest.raises(EncoderError, match="no answer in time"):
        await connect(timeout=0.05).embed_queries(["x"])
    assert len(pauses) == TRIES - 1


async def test_a_query_to_an_unavailable_service_fails_at_once(
    connect: Open, service: EmbeddingServer, pauses: list[float]
) -> None:
    """The first finds out with one try; the later ones send no request."""
    service.stop()
    encoder = connect()
    with pytest.raises(EncoderError, match="ConnectError"):
        await encoder.embed_queries(["first"])

    with pytest.raises(EncoderError, match="in the background"):
        await encoder.embed_queries(["second"])
    with pytest.raises(EncoderError, match="in the background"):
        await encoder.warm()
    assert pauses == []


async def test_queries_are_not_retried_after_repeated_error_answers(connect: Open, service: EmbeddingServer) -> None:
    """A service that is up and answers 503 costs one message its time, not each."""
    service.mode = "503"
    encoder = connect()
    with pytest.raises(EncoderError, match="HTTP 503"):
        await encoder.embed_queries(["first"])
    sent = len(service.requests)

    with pytest.raises(EncoderError, match="in the background"):
        await encoder.embed_queries(["second"])
    assert len(service.requests) == sent == TRIES


@pytest.mark.parametrize("mode", ["slow", "503", "drop"])
async def test_a_service_that_becomes_available_is_used_again(
    connect: Open, service: EmbeddingServer, mode: str
) -> None:
    """It is checked in the background, so that no query pays for it."""
    service.mode = mode
    encoder = connect(timeout=0.5, breaker=Breaker(Pauses(1, 0.01, 0.01)))
    with pytest.raises(EncoderError):
        await encoder.embed_queries(["x"])

    service.mode = "good"
    service.release.set()
    await eventually(lambda: _embeds(encoder))

    assert (await encoder.embed_queries(["x"])).shape == (1, DIMENSION)


async def test_a_service_restarted_on_its_port_is_used_again(connect: Open, service: EmbeddingServer) -> None:
    """The connection was refused in between."""
    service.stop()
    encoder = connect(breaker=Breaker(Pauses(1, 0.01, 0.01)))
    with pytest.raises(EncoderError, match="ConnectError"):
        await encoder.embed_queries(["x"])

    restarted = EmbeddingServer(httpx.URL(service.url).port or 0)
    try:
        await eventually(lambda: _embeds(encoder))
    finally:
        restarted.stop()

    assert restarted.requests


async def test_a_service_that_becomes_available_but_refuses_gives_the_reason(
    connect: Open, service: EmbeddingServer
) -> None:
    """A wrong key does not mean that the service is unavailable."""
    service.mode = "drop"
    encoder = connect(breaker=Breaker(Pauses(1, 0.01, 0.01)))
    with pytest.raises(EncoderError):
        await encoder.embed_queries(["x"])

    service.mode = "401"
    await eventually(lambda: _refused(encoder))

    with pytest.raises(EncoderError, match="refused: HTTP 401"):
        await encoder.embed_queries(["x"])


async def test_documents_are_tried_once_while_a_service_is_unavailable_and_detect_its_return(
    connect: Open, service: EmbeddingServer, pauses: list[float]
) -> None:
    """No caller waits for them, and their result serves the queries."""
    service.mode = "drop"
    encoder = connect(breaker=Breaker(Pauses(1, 1000.0, 1000.0)))
    with pytest.raises(EncoderError):
        await encoder.embed_queries(["x"])
    waited = len(pauses)
    with pytest.raises(EncoderError):
        await encoder.embed_documents(["y"])
    assert len(pauses) == waited

    service.mode = "good"
    await encoder.embed_documents(["y"])

    assert (await encoder.embed_queries(["x"])).shape == (1, DIMENSION)


async def _embeds(encoder: OpenAIEncoder) -> bool:
    try:
        await encoder.embed_queries(["is it back"])
    except EncoderError:
        return False
    return True


async def _refused(encoder: OpenAIEncoder) -> bool:
    try:
        await encoder.embed_queries(["is it back"])
    except EncoderError as error:
        return "refused" in error.message
    return False


async def test_a_closed_port_is_an_error_with_a_hint(connect: Open, service: EmbeddingServer) -> None:
    """The service is down."""
    service.stop()

    with pytest.raises(EncoderError, match=r"ConnectError.*THRESHER_ENCODER_URL"):
        await connect().embed_queries(["x"])


@pytest.mark.parametrize("url", ["not an address", "ftp://example.org"])
async def test_an_invalid_address_is_an_error(connect: Open, url: str) -> None:
    """Without another try."""
    with pytest.raises(EncoderError, match="address"):
        await connect(url).embed_queries(["x"])


async def test_the_key_is_sent_and_shown_nowhere(
    connect: Open, service: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in an error, a log line, or a repr."""
    caplog.set_level(logging.DEBUG)
    service.script.extend(["500", "401"])
    encoder = connect()

    with pytest.raises(EncoderError) as caught:
        await encoder.embed_queries(["x"])

    assert service.authorizations[0] == f"Bearer {KEY}"
    shown = f"{caught.value!r} {caught.value} {encoder!r} {encoder.model!r} {vars(encoder)!r} {caplog.text}"
    assert KEY not in shown


async def test_without_a_key_no_header_is_sent(connect: Open, service: EmbeddingServer) -> None:
    """Self-hosted services need none."""
    await connect(key=None).embed_queries(["x"])

    assert service.authorizations == [None]


async def test_closing_ends_a_pending_request(connect: Open, service: EmbeddingServer) -> None:
    """The caller gets an error and does not wait for the service."""
    service.mode = "slow"
    encoder = connect()
    work = asyncio.create_task(encoder.embed_queries(["x"]))
    assert await asyncio.to_thread(service.reached.wait, 10)

    await encoder.close()

    with pytest.raises(EncoderError, match="closed"):
        await work


async def test_a_cancelled_caller_stays_cancelled(connect: Open, service: EmbeddingServer) -> None:
    """And the encoder serves the next one."""
    service.script.append("slow")
    encoder = connect()
    work = asyncio.create_task(encoder.embed_queries(["x"]))
    assert await asyncio.to_thread(service.reached.wait, 10)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await encoder.embed_queries(["x"])).shape == (1, DIMENSION)
