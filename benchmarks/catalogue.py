"""Large catalogues: the benchmark sets' real tools, and variants of them with noised copies of their vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks import data
from thresher.core import Tool
from thresher.embedding import Encoder, EncoderModel, Matrix, Windows

NOISE = 0.02
"""Standard deviation of the noise on each of a unit vector's components: about 0.93 cosine to the original."""


FUNCTIONS_A_SERVER = 40


def real_tools() -> list[Tool]:
    """All tools of LiveMCPBench, MetaTool, BFCL and mcpproxy: 2,500 definitions; BFCL's by 40 to a server."""
    functions = [
        replace(tool, server=f"functions-{number // FUNCTIONS_A_SERVER}", name=f"{tool.name}_{number}")
        for number, tool in enumerate(data.bfcl().tools)
    ]
    sets = (data.livemcpbench(), data.metatool_multi(), data.mcpproxy())
    return [tool for bench in sets for tool in bench.tools] + functions


def variants(tools: Sequence[Tool], count: int, first: int = 0) -> Iterator[Tool]:
    """`count` tools: the real ones in turn, each round on servers of other names."""
    for number in range(first, first + count):
        tool, turn = tools[number % len(tools)], number // len(tools)
        yield tool if turn == 0 else replace(tool, server=f"{tool.server}-{turn}")


class NoisedEncoder:
    """Queries go to the real encoder; a document's vector is a noised copy of a real tool's, chosen by its hash.

    A hundred thousand texts would take a quarter of an hour to embed; what is timed here is everything else.
    """

    def __init__(self, real: Encoder, matrix: Matrix) -> None:
        self._real = real
        self._matrix = matrix

    @property
    def model(self) -> EncoderModel:
        """The real model."""
        return self._real.model

    async def warm(self) -> EncoderModel:
        """Load the real model."""
        return await self._real.warm()

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        """Real vectors."""
        return await self._real.embed_queries(texts, prefixed=prefixed)

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Noised copies."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
        vectors = np.stack([self._matrix[seed % len(self._matrix)] for seed in seeds])
        noise = np.stack([np.random.default_rng(seed).standard_normal(vectors.shape[1]) for seed in seeds])
        vectors = vectors + NOISE * noise.astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    async def prepare(self) -> None:
        """Nothing is needed."""

    def windows(self, text: str, *, tokens: int | None = None, most: int = 8) -> Windows:
        """The real encoder's windows."""
        return self._real.windows(text, tokens=tokens, most=most)

    async def close(self) -> None:
        """Close the real encoder."""
        await self._real.close()
