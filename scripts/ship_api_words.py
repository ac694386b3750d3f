"""Writes what of the understanding of API queries ships with the product: vectors of concepts, and the head for goals.

Run by `make vectors` after a change of `concepts.txt` or `requests.txt`; a test says when that is. The head is linear,
a softmax over actions beside a sigmoid for "one thing", on the lines of `requests.txt` and of `requests.tsv` of the
benchmarks: the training questions, each with what the operations that answer it do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from thresher.core import Settings
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.apis.search import actions, shipped
from thresher.knowledge.apis.search.actions import ACTIONS, NAMES, READ
from thresher.knowledge.apis.search.concepts import CONCEPTS
from thresher.knowledge.apis.search.query import clean_query
from thresher.knowledge.apis.search.shipped import LabelledRequest
from thresher.search import Floats

QUESTIONS: Final = Path(__file__).parents[1] / "benchmarks" / "questions" / "apis" / "requests.tsv"
RIDGE: Final = 3.3
"""Decay against the sum over all lines."""
_STEPS: Final = 500
_RATE: Final = 0.12
_MOMENTUM: Final = 0.95


def material() -> list[LabelledRequest]:
    """The lines that the head is fitted on."""
    files = (shipped.REQUESTS, QUESTIONS)
    return [one for file in files for one in shipped.read_requests(file.read_text(encoding="utf-8"))]


async def inputs_of(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """What the head reads of queries, as they are cleaned: float32 (texts, inputs)."""
    cleaned = [clean_query(text).text for text in texts]
    vectors = await encoder.embed_queries(cleaned, prefixed=True)
    return np.stack([actions.inputs(vector, text) for vector, text in zip(vectors, cleaned, strict=True)])


def fitted_head(inputs: Floats, requests: Sequence[LabelledRequest]) -> Floats:
    """The head: float32 (inputs, OUTPUTS), by gradient descent with momentum.

    Args:
        inputs: float32 (requests, inputs), the last a constant.
        requests: What each wants. Those that read and say how many teach the last output, all the others.
    """
    wanted = np.eye(ACTIONS, dtype=np.float32)[[NAMES.index(one.action) for one in requests]]
    tells = np.array([one.action == NAMES[READ] and one.several is not None for one in requests])
    single = np.array([one.several is False for one in requests], np.float32)
    counts = np.array([len(requests)] * ACTIONS + [int(tells.sum())], np.float32)
    weights = np.zeros((inputs.shape[1], actions.OUTPUTS), np.float32)
    speed = np.zeros_like(weights)
    for _ in range(_STEPS):
        ahead = weights + _MOMENTUM * speed
        values = inputs @ ahead
        powers = np.exp(values[:, :ACTIONS] - values[:, :ACTIONS].max(axis=1, keepdims=True))
        gap = powers / powers.sum(axis=1, keepdims=True) - wanted
        one = tells * (1 / (1 + np.exp(-values[:, ACTIONS])) - single)
        decay = RIDGE * ahead
        decay[-1] = 0.0
        speed = _MOMENTUM * speed - _RATE * (inputs.T @ np.column_stack([gap, one]) + decay) / counts
        weights = weights + speed
    return weights.astype(np.float32)


async def ship() -> None:
    """Embed, fit and write."""
    encoder = open_encoder(Settings())
    model = await encoder.warm()
    lines, phrases = shipped.texts_of(CONCEPTS)
    requests = material()
    head = fitted_head(await inputs_of(encoder, [one.text for one in requests]), requests)
    shipped.write(model.id, await encoder.embed_documents(lines), await encoder.embed_documents(phrases), head)
    await encoder.close()


if __name__ == "__main__":
    asyncio.run(ship())
