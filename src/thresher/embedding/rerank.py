"""The cross-encoder behind its protocol: off the event loop, lazily loaded.

Invariant: nothing is loaded until a caller reranks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from thresher.core import EncoderError
from thresher.embedding.lazy import Lazy
from thresher.embedding.onnx import PairModel
from thresher.embedding.protocol import Scores
from thresher.embedding.share import deal


class LocalCrossEncoder:
    """A cross-encoder on this machine.

    Args:
        model: Loads the model on first use.
        threads: Pairs scored side by side.
    """

    def __init__(self, model: Lazy[PairModel], *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="thresher-rerank")
        self._closed = False

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Score texts against the query; see `CrossEncoder.rerank`."""
        self._check()
        shares = deal([len(text) for text in texts], self._threads)
        loop = asyncio.get_running_loop()
        jobs = [loop.run_in_executor(self._pool, self._score, query, [texts[i] for i in share]) for share in shares]
        scores = np.zeros(len(texts), np.float32)
        for share, part in zip(shares, await asyncio.gather(*jobs), strict=True):
            scores[share] = part
        return scores

    async def close(self) -> None:
        """Stop all work; pairs in flight end with EncoderError."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)

    def _score(self, query: str, texts: Sequence[str]) -> Scores:
        return self._model.get().score(query, texts, self._check)

    def _check(self) -> None:
        if self._closed:
            raise EncoderError("The cross-encoder is closed.")
