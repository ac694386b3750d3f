"""The encoder and the cross-encoder on this machine: queries run in this process, large batches in a worker process.

Invariant: no model is read, hashed or run on the event loop, except by `model` and `windows` of a model not yet loaded;
the cross-encoder is not loaded until a caller reranks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from thresher.core import EncoderError
from thresher.embedding.cache import QueryCache
from thresher.embedding.lazy import Lazy
from thresher.embedding.onnx import (
    CHARACTERS_A_TOKEN,
    PairModel,
    TextModel,
    describe,
    open_tokenizer,
    text_windows,
    work_shares,
)
from thresher.embedding.protocol import EncoderModel, Matrix, Scores, Windows
from thresher.embedding.registry import MODELS, ModelFiles, known_fingerprint
from thresher.embedding.tokens import printable
from thresher.embedding.worker import Worker

SMALL_TEXTS, SMALL_CHARACTERS = 8, 8192
"""Documents up to this size are embedded in this process: a worker takes about a second to start."""
FRAME_TEXTS, FRAME_CHARACTERS = 64, 65536
"""Size of a worker's batch: under two seconds of work on two idle cores, so that calls take turns."""
TOKENS_A_CHARACTER = 3
"""A character gives at most this many tokens (a Hangul syllable decomposes into three)."""


class LocalEncoder:
    """An encoder over an ONNX model on this machine. Cheap to construct; loads on first use.

    Args:
        name: The model's name in the settings.
        files: Finds the model's files.
        threads: Number of texts embedded in parallel.
        cache: Cache of query vectors.
        known: Whether the registry's record describes these files; if not, the description is read from them.
        worker_idle_seconds: How long the worker process stays after its last batch.
    """

    def __init__(
        self,
        name: str,
        files: Callable[[], ModelFiles],
        *,
        threads: int,
        cache: QueryCache,
        known: bool = True,
        worker_idle_seconds: float = 60.0,
    ) -> None:
        located = Lazy(files)
        self._loaded = Lazy(lambda: TextModel(located.get()))
        self._tokenizer = Lazy(lambda: open_tokenizer(located.get()))
        self._known = _known_model(name) if known else None
        self._threads = threads
        self._cache = cache
        self.worker = Worker(located.get, threads=threads, idle_seconds=worker_idle_seconds)
        self._queries = ThreadPoolExecutor(threads, thread_name_prefix="thresher-query")
        self._small = ThreadPoolExecutor(1, thread_name_prefix="thresher-small")
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="thresher-bulk")
        self._closed = False

    @property
    def model(self) -> EncoderModel:
        """See `Encoder.model`."""
        return self._known if self._known is not None else self._loaded.get().model

    async def warm(self) -> EncoderModel:
        """See `Encoder.warm`."""
        self._check()
        loop = asyncio.get_running_loop()
        return (await loop.run_in_executor(self._queries, self._loaded.get)).model

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        """See `Encoder.embed_queries`."""
        self._check()
        model = await self._model_ready()
        prefixed_texts = [model.query_prefix + text for text in texts] if prefixed else list(texts)
        vectors = {text: self._cache.get(text) for text in prefixed_texts}
        missing = [text for text, vector in vectors.items() if vector is None]
        if missing:
            for text, vector in zip(missing, await self._spread(self._queries, self._threads, missing), strict=True):
                self._cache.put(text, vector)
                vectors[text] = vector
        rows = [vectors[text] for text in prefixed_texts]
        return np.array(rows, np.float32).reshape(len(rows), model.dimension)

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.embed_documents`; each distinct text is embedded once."""
        self._check()
        model = await self._model_ready()
        place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        different = list(place)
        if len(different) <= SMALL_TEXTS and sum(map(len, different)) <= SMALL_CHARACTERS:
            vectors = await self._spread(self._small, 1, different)
        else:
            vectors = await self._in_worker(different, model)
        rows = [vectors[place[text]] for text in texts]
        return np.array(rows, np.float32).reshape(len(rows), model.dimension)

    async def prepare(self) -> None:
        """See `Encoder.prepare`; returns at once, and the first batch waits for the process if necessary."""
        self._check()
        asyncio.get_running_loop().run_in_executor(self._bulk, self.worker.prepare)

    def windows(self, text: str, *, tokens: int | None = None, most: int = 8) -> Windows:
        """See `Encoder.windows`; reads the tokenizer (40 ms, once) for a text that may be too long."""
        size = min(tokens or self.model.max_tokens, self.model.max_tokens)
        if len(text) * TOKENS_A_CHARACTER + 2 <= size:
            return Windows([text])
        return text_windows(self._tokenizer.get(), text, size=size, most=max(1, most))

    async def close(self) -> None:
        """See `Encoder.close`."""
        self._closed = True
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self.worker.stop()
        for pool in (self._queries, self._small, self._bulk):
            pool.shutdown()

    async def _model_ready(self) -> EncoderModel:
        if self._known is None and not self._loaded.loaded:
            return await self.warm()
        return self.model

    async def _spread(self, pool: ThreadPoolExecutor, threads: int, texts: Sequence[str]) -> list[Matrix]:
        loop = asyncio.get_running_loop()
        shares = work_shares([len(text) for text in texts], threads)
        jobs = [loop.run_in_executor(pool, self._encode, [texts[index] for index in share]) for share in shares]
        vectors: dict[int, Matrix] = {}
        for share, part in zip(shares, await asyncio.gather(*jobs), strict=True):
            vectors |= dict(zip(share, part, strict=True))
        return [vectors[index] for index in range(len(texts))]

    async def _in_worker(self, texts: Sequence[str], model: EncoderModel) -> list[Matrix]:
        loop = asyncio.get_running_loop()
        most = model.max_tokens * CHARACTERS_A_TOKEN
        readable = [printable(text[:most]) for text in texts]
        vectors: dict[int, Matrix] = {}
        for frame in frames([len(text) for text in readable]):
            self._check()
            part = await loop.run_in_executor(self._bulk, self.worker.embed, [readable[index] for index in frame])
            vectors |= dict(zip(frame, part, strict=True))
        return [vectors[index] for index in range(len(texts))]

    def _encode(self, texts: Sequence[str]) -> Matrix:
        self._check()
        return self._loaded.get().encode(texts, self._check)

    def _check(self) -> None:
        if self._closed:
            raise EncoderError("The encoder is closed.")


def frames(lengths: Sequence[int]) -> list[list[int]]:
    """Group indices, shortest text first, into batches for the worker."""
    groups: list[list[int]] = []
    characters = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        characters += lengths[index]
        if groups and len(groups[-1]) < FRAME_TEXTS and characters <= FRAME_CHARACTERS:
            groups[-1].append(index)
        else:
            groups.append([index])
            characters = lengths[index]
    return groups


def _known_model(name: str) -> EncoderModel | None:
    spec = MODELS.get(name)
    if spec is None or spec.dimension is None or (fingerprint := known_fingerprint(spec)) is None:
        return None
    return describe(spec, fingerprint, spec.dimension)


class LocalCrossEncoder:
    """A cross-encoder on this machine.

    Args:
        model: Loads the model on first use.
        threads: Number of pairs scored in parallel.
    """

    def __init__(self, model: Lazy[PairModel], *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="thresher-rerank")
        self._closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Score texts against the query; see `CrossEncoder.rerank`."""
        self._check()
        shares = work_shares([len(text) for text in texts], self._threads)
        loop = asyncio.get_running_loop()
        jobs = [loop.run_in_executor(self._pool, self._score, query, [texts[i] for i in share]) for share in shares]
        scores = np.zeros(len(texts), np.float32)
        for share, part in zip(shares, await asyncio.gather(*jobs), strict=True):
            scores[share] = part
        return scores

    async def close(self) -> None:
        """Stop all work; pending calls end with EncoderError."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)

    def _score(self, query: str, texts: Sequence[str]) -> Scores:
        return self._model.get().score(query, texts, self._check)

    def _check(self) -> None:
        if self._closed:
            raise EncoderError("The cross-encoder is closed.")
